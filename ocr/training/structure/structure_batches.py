"""Endless batches of pages of lines with their truth, for worker processes to compose; and what is learned of them."""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import IterableDataset

from ocr.learning.learning_loop import Losses
from ocr.line_reader.line_features import MOST_RULES, LineTokens, line_tokens
from ocr.line_reader.structure_network import ROLES
from ocr.training.structure.composed_lines import line_pages, line_source
from ocr.training.structure.placed_lines import LinePage

_NEAR, _NEAR_WEIGHT = 4, 4.0  # lines so near in the order count for more
_GATHERED = 192  # pages that are sorted by their length at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureBatch:
    """B pages of up to N lines, in reading order, and rules.

    numbers, letters, places, inside: as StructureNet takes them. lines: [B, N] bool, False for rules and where padded.
    truth: [B, N, 7] int32: role, block, table (-1 for none), first and last row, first and last column.
    """

    numbers: Tensor
    letters: Tensor
    places: Tensor
    inside: Tensor
    lines: Tensor
    truth: Tensor

    @classmethod
    def of(cls, pages: Sequence[LinePage]) -> "StructureBatch":
        tokens = [tokens_of(page) for page in pages]
        most = max(len(each.numbers) for each in tokens)

        def padded(arrays: Sequence[np.ndarray], value: float = 0.0) -> Tensor:
            made = np.full((len(arrays), most, *arrays[0].shape[1:]), value, arrays[0].dtype)
            for row, array in zip(made, arrays, strict=True):
                row[: len(array)] = array
            return torch.from_numpy(made)

        return cls(
            numbers=padded([each.numbers for each in tokens]),
            letters=padded([each.letters for each in tokens]),
            places=padded([each.places for each in tokens], 1.0),
            inside=padded([np.ones(len(each.numbers), bool) for each in tokens]),
            lines=padded([np.ones(each.num_lines, bool) for each in tokens]),
            truth=padded([_truth(page) for page in pages], -1),
        )

    def to(self, device: torch.device) -> "StructureBatch":
        moved = (getattr(self, name).to(device, non_blocking=True) for name in self.__slots__)
        return StructureBatch(**dict(zip(self.__slots__, moved, strict=True)))


def tokens_of(page: LinePage) -> LineTokens:
    places = np.array([(line.x0, line.x1, line.base, line.size) for line in page.lines], np.float32)
    return line_tokens(places, [line.text for line in page.lines], page.width_pt, page.height_pt, page.rules)


def _truth(page: LinePage) -> np.ndarray:
    places = [line.place for line in page.lines]
    return np.array([(p.role, p.block, p.table, *p.rows, *p.columns) for p in places], np.int32)


class ComposedPages(IterableDataset[StructureBatch]):
    """Batches of pages of like length. folder: of a corpus. uses: how often a page comes, each time found otherwise.

    pairs: about how many pairs of lines a batch has. genres: see line_pages.
    """

    def __init__(self, folder: Path, *, seed: int, uses: int, pairs: int, genres: Collection[str]) -> None:
        self.folder, self.seed, self.uses, self.pairs, self.genres = folder, seed, uses, pairs, genres

    def __iter__(self) -> Iterator[StructureBatch]:
        worker = torch.utils.data.get_worker_info()
        if worker:
            torch.set_num_threads(1)
        source = line_source(self.folder)
        rng = random.Random(f"{self.seed}/{worker.id if worker else 0}")
        gathered = _GATHERED // 4  # the first batches come soon
        while True:
            pages: list[LinePage] = []
            while len(pages) < gathered:
                pages += line_pages(rng, source, uses=self.uses, genres=self.genres)
            gathered = _GATHERED
            pages.sort(key=_length)
            parts = list(_parts(pages, self.pairs))
            rng.shuffle(parts)
            yield from map(StructureBatch.of, parts)


def _parts(pages: Sequence[LinePage], pairs: int) -> Iterator[Sequence[LinePage]]:
    """Yields runs of pages, sorted by length, of at most so many pairs once they are padded."""
    start = 0
    for end in range(1, len(pages) + 1):
        if end == len(pages) or (end + 1 - start) * _length(pages[end]) ** 2 > pairs:
            yield pages[start:end]
            start = end


def _length(page: LinePage) -> int:
    return len(page.lines) + min(MOST_RULES, len(page.rules))


def structure_losses(roles: Tensor, pairs: Tensor, batch: StructureBatch) -> Losses:
    """Returns the losses. roles, pairs: StructureNet's."""
    role, block, table = batch.truth[..., 0].long(), batch.truth[..., 1], batch.truth[..., 2]
    count = role.shape[1]
    both = batch.lines[:, :, None] & batch.lines[:, None]
    after = torch.ones(count, count, dtype=torch.bool, device=role.device).triu(1)
    near = 1 + _NEAR_WEIGHT * after.tril(_NEAR)
    weights = (both & after) * near
    before = (F.softplus(-pairs[:, 0]) * weights).sum() / weights.sum().clamp(min=1)

    def alike(logits: Tensor, wanted: Tensor, counted: Tensor) -> Tensor:
        each = F.binary_cross_entropy_with_logits(logits, wanted.float(), reduction="none")
        positive, negative = counted & wanted, counted & ~wanted
        # What belongs together is rare; it counts as much as a third of all that does not.
        share = (each * positive).sum() / positive.sum().clamp(min=1)
        return 0.25 * share + 0.75 * (each * negative).sum() / negative.sum().clamp(min=1)

    def meet(first: int) -> Tensor:
        low, high = batch.truth[..., first], batch.truth[..., first + 1]
        return (low[:, :, None] <= high[:, None]) & (low[:, None] <= high[:, :, None])

    pairs_of = both & after
    same_block = block[:, :, None] == block[:, None]
    same_table = (table[:, :, None] == table[:, None]) & (table >= 0)[:, None]
    tabular = pairs_of & ((table >= 0)[:, :, None] | (table >= 0)[:, None])
    weight = torch.bincount(role[batch.lines], minlength=len(ROLES)).float().clamp(min=1) ** -0.3
    return {
        "roles": F.cross_entropy(roles[batch.lines], role[batch.lines], weight=weight, label_smoothing=0.02),
        "before": 4 * before,
        "block": 2 * alike(pairs[:, 1], same_block, pairs_of),
        "row": alike(pairs[:, 2], same_table & meet(3), tabular),
        "column": alike(pairs[:, 3], same_table & meet(5), tabular),
    }
