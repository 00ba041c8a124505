"""Endless batches of pages with what each network learns of them, for worker processes to draw."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from ocr.learning.line_learning import classes_of
from ocr.training.lines.finder_targets import targets
from ocr.training.lines.line_pages import LinePages
from ocr.training.lines.page_lines import HEIGHT_PX, WIDTH_PX, DrawnPage

UNKNOWN = -1  # the label of a line that only a teacher reads
Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBatch:
    """Pages, and N lines that stand on them.

    pixels: [P, H, W] uint8 grey. places: [N, 5] float32 as DrawnPage has them. page: [N] int32, where each line stands.
    labels: int16, the lines' classes one after the other, UNKNOWN alone for one without a label. lengths: [N] int32,
    how many of them each line has.
    """

    pixels: Tensor
    places: Tensor
    page: Tensor
    labels: Tensor
    lengths: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBatch:
    """Pages with the finder's targets. pixels: [P, H, W] uint8 grey. cells: [P, 3, H / 8, W / 8] float16."""

    pixels: Tensor
    cells: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What pages are drawn from. data: a folder of ocr.training.corpus.

    characters: those to learn. pages: in a batch. real, scans: shares from documents and of scans. split: "train" or
    "valid". unlabelled: the reader gets lines without a label, too.
    """

    data: Path
    characters: str
    pages: int
    real: float
    seed: int
    scans: float = 0.0
    split: str = "train"
    unlabelled: bool = False

    def open(self, split: float) -> tuple[LinePages, random.Random]:
        """Returns a process's own source of pages, and its random numbers. split: see LinePages."""
        worker = torch.utils.data.get_worker_info()
        if worker:
            torch.set_num_threads(1)
        pages = LinePages(self.data, sources=self.split, split=split)
        return pages, random.Random(f"{self.split}/{self.seed}/{worker.id if worker else 0}")


class DrawnPages(ABC, IterableDataset[Batch]):
    """Batches of drawn pages. parted: the share of lines that end at wide white; empty: of pages without text."""

    parted: ClassVar[float]
    empty: ClassVar[float]

    def __init__(self, source: Source) -> None:
        self.source = source

    def __iter__(self) -> Iterator[Batch]:
        source, (pages, rng) = self.source, self.source.open(self.parted)
        while True:
            drawn: list[DrawnPage] = []
            while len(drawn) < source.pages:
                without = rng.random() < self.empty
                page = pages.empty(rng) if without else pages.draw(rng, source.real, source.scans)
                if page is not None:
                    drawn.append(page)
            yield from self.made(drawn)

    @abstractmethod
    def made(self, drawn: list[DrawnPage]) -> Iterator[Batch]:
        """Yields the pages with what is learned of them, if there is anything."""


class ReaderPages(DrawnPages[LineBatch]):
    """Pages for the reader, which must bear what finders do: lines with a character unknown to it have no label."""

    parted, empty = 0.6, 0.02

    def made(self, drawn: list[DrawnPage]) -> Iterator[LineBatch]:
        classes = classes_of(self.source.characters)
        batch = line_batch(drawn, classes, unlabelled=self.source.unlabelled)
        if len(batch.lengths):
            yield batch


class FinderPages(DrawnPages[CellBatch]):
    """Pages for the finder, which learns one way of parting lines."""

    parted, empty = 1.0, 0.06

    def made(self, drawn: list[DrawnPage]) -> Iterator[CellBatch]:
        yield cell_batch(drawn)


def line_batch(drawn: list[DrawnPage], classes: dict[str, int], *, unlabelled: bool = False) -> LineBatch:
    """Returns the pages with those lines all of whose characters have a class, and those in which nothing stands.

    unlabelled: the others, too.
    """
    places: list[np.ndarray] = []
    labels: list[int] = []
    lengths: list[int] = []
    owners: list[int] = []
    for number, page in enumerate(drawn):
        texts = (*page.texts, *page.read_texts)
        for place, text in zip(np.concatenate([page.places, page.read_only]), texts, strict=True):
            known = all(c in classes for c in text)
            if known or unlabelled:
                label = [classes[c] for c in text] if known else [UNKNOWN]
                places.append(place)
                owners.append(number)
                labels += label
                lengths.append(len(label))
    return LineBatch(
        pixels=torch.from_numpy(np.stack([page.pixels for page in drawn])),
        places=torch.from_numpy(np.asarray(places, np.float32).reshape(-1, 5)),
        page=torch.tensor(owners, dtype=torch.int32),
        labels=torch.tensor(labels, dtype=torch.int16),
        lengths=torch.tensor(lengths, dtype=torch.int32),
    )


def cell_batch(drawn: list[DrawnPage]) -> CellBatch:
    """Returns the pages with their targets."""
    cells = [targets(page.places, page.others, HEIGHT_PX, WIDTH_PX).astype(np.float16) for page in drawn]
    return CellBatch(
        pixels=torch.from_numpy(np.stack([page.pixels for page in drawn])),
        cells=torch.from_numpy(np.stack(cells)),
    )
