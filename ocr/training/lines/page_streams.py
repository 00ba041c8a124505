"""Endless batches of pages with what each network learns of them, for worker processes to draw."""

import argparse
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
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


class DrawnPages(ABC, IterableDataset[Batch]):
    """Batches of drawn pages. parted: the share of lines that end at wide white; empty: of pages without text.

    args: the training's options. characters: those to learn. split: "train" or "valid". scans: share of real scans.
    """

    parted: ClassVar[float]
    empty: ClassVar[float]

    def __init__(self, args: argparse.Namespace, characters: str, split: str, scans: float) -> None:
        self.args, self.characters, self.split, self.scans = args, characters, split, scans

    def __iter__(self) -> Iterator[Batch]:
        worker, args = torch.utils.data.get_worker_info(), self.args
        if worker:
            torch.set_num_threads(1)
        pages = LinePages(args.data, sources=self.split, split=self.parted)
        rng = random.Random(f"{self.split}/{args.seed}/{worker.id if worker else 0}")
        while True:
            drawn: list[DrawnPage] = []
            while len(drawn) < args.pages:
                without = rng.random() < self.empty
                page = pages.empty(rng) if without else pages.draw(rng, args.real, self.scans)
                if page is not None:
                    drawn.append(page)
            yield from self.made(drawn)

    @abstractmethod
    def made(self, drawn: list[DrawnPage]) -> Iterator[Batch]:
        """Yields the pages with what is learned of them, if there is anything."""


class ReaderPages(DrawnPages[LineBatch]):
    """Pages for the reader, which must bear what finders do: lines with a character unknown to it have no label.

    They are learned all the same where a teacher reads them.
    """

    parted, empty = 0.6, 0.02

    def made(self, drawn: list[DrawnPage]) -> Iterator[LineBatch]:
        taught = self.args.teacher is not None and self.split == "train"
        batch = line_batch(drawn, classes_of(self.characters), unlabelled=taught)
        if len(batch.lengths):
            yield batch


class FinderPages(DrawnPages[CellBatch]):
    """Pages for the finder, which learns one way of parting lines."""

    parted, empty = 1.0, 0.06

    def made(self, drawn: list[DrawnPage]) -> Iterator[CellBatch]:
        cells = [targets(page.places, page.others, HEIGHT_PX, WIDTH_PX).astype(np.float16) for page in drawn]
        pixels = torch.from_numpy(np.stack([page.pixels for page in drawn]))
        yield CellBatch(pixels=pixels, cells=torch.from_numpy(np.stack(cells)))


def line_batch(drawn: list[DrawnPage], classes: dict[str, int], *, unlabelled: bool = False) -> LineBatch:
    """Returns the pages with those lines all of whose characters have a class, and those in which nothing stands.

    unlabelled: the others, too.
    """
    lines = (
        (number, place, [classes[c] for c in text] if all(c in classes for c in text) else [UNKNOWN])
        for number, page in enumerate(drawn)
        for places, texts in ((page.places, page.texts), (page.read_only, page.read_texts))
        for place, text in zip(places, texts, strict=True)
    )
    kept = [line for line in lines if unlabelled or line[2] != [UNKNOWN]]
    return LineBatch(
        pixels=torch.from_numpy(np.stack([page.pixels for page in drawn])),
        places=torch.from_numpy(np.asarray([place for _, place, _ in kept], np.float32).reshape(-1, 5)),
        page=torch.tensor([number for number, *_ in kept], dtype=torch.int32),
        labels=torch.tensor([number for *_, label in kept for number in label], dtype=torch.int16),
        lengths=torch.tensor([len(label) for *_, label in kept], dtype=torch.int32),
    )
