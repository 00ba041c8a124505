"""Worker processes that draw samples, and batches of samples of one view, short texts with short texts."""

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.utils.data import DataLoader, IterableDataset

from ocr.training.sampling_pages.samples import Prompt, Sample, Sampler, View

Drawn = TypeVar("Drawn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Shares of what is drawn: of the three views among batches, of tiles with little text, of pages from documents.

    empty: share of samples without any text. grounded: share of page batches whose answer is markdown with boxes
    (composed pages only).
    """

    tile: float
    page: float
    whole: float
    short: float = 0.0
    real: float = 0.0
    empty: float = 0.03
    grounded: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Samples of one view and one prompt, as tensors on the host.

    canvas: uint8, the B canvases flattened one after another (few tensors travel faster between processes);
    cells: int16, likewise. ids: [B, T] int64, -1 where padded (T is 0 where no page holds text).
    token_index: [B, T] int64, -1 where unknown.
    """

    view: View
    grids: list[tuple[int, int]]
    canvas: torch.Tensor
    global_px: list[tuple[int, int]]
    ids: torch.Tensor
    token_index: torch.Tensor
    cells: torch.Tensor
    prompt: Prompt = "plain"


def collate(samples: list[Sample]) -> Batch:
    length = max(len(s.ids) for s in samples)
    ids = np.full((len(samples), length), -1, np.int64)
    index = np.full((len(samples), length), -1, np.int64)
    for row, sample in enumerate(samples):
        ids[row, : len(sample.ids)] = sample.ids
        index[row, : len(sample.ids)] = sample.token_index
    return Batch(
        view=samples[0].view,
        grids=[s.grid for s in samples],
        global_px=[s.global_px for s in samples],
        canvas=torch.from_numpy(np.concatenate([s.pixels.ravel() for s in samples])),
        ids=torch.from_numpy(ids),
        token_index=torch.from_numpy(index),
        cells=torch.from_numpy(np.concatenate([s.cells.ravel() for s in samples])),
        prompt=samples[0].prompt,
    )


class Pages(IterableDataset[Batch]):
    """Endless batches. The mix follows `schedule(share)`, share being a value all workers see grow from 0 to 1.

    rank: of the process that trains on them, so that no two see the same pages.
    """

    def __init__(
        self,
        folder: Path,
        tokenizer: Path,
        characters: str,
        schedule: Callable[[float], Mix],
        share: Any,
        sizes: dict[View, int],
        *,
        max_tokens: int = 2900,
        seed: int = 0,
        rank: int = 0,
        split: str = "train",
    ) -> None:
        self.folder, self.tokenizer, self.characters = folder, tokenizer, characters
        self.schedule, self.share, self.sizes = schedule, share, sizes
        self.max_tokens, self.seed, self.rank, self.split = max_tokens, seed, rank, split

    def __iter__(self) -> Iterator[Batch]:
        torch.set_num_threads(1)
        worker = torch.utils.data.get_worker_info()
        rng = random.Random(f"{self.seed}/{self.rank}/{worker.id if worker else 0}")
        sampler = Sampler(
            self.folder,
            Tokenizer.from_file(str(self.tokenizer)),
            self.characters,
            split=self.split,
            font_split="train",
        )
        views: list[View] = ["tile", "page", "whole"]
        # The same on every rank, so that none waits for another's longer batch.
        plan = random.Random(f"{self.seed}/{worker.id if worker else 0}")
        while True:
            mix = self.schedule(self.share.value)
            view = plan.choices(views, [mix.tile, mix.page, mix.whole])[0]
            prompt: Prompt = "grounded" if plan.random() < mix.grounded and view == "page" else "plain"
            # Two batches' worth, sorted by length and split: padding costs the decoder less.
            pool: list[Sample] = []
            while len(pool) < 2 * self.sizes[view]:
                short = rng.random() < mix.short
                sample = sampler.draw(rng, view, short=short, real=mix.real, empty=mix.empty, prompt=prompt)
                if sample is not None and len(sample.ids) <= self.max_tokens:
                    pool.append(sample)
            pool.sort(key=lambda s: len(s.ids))
            yield collate(pool[: self.sizes[view]])
            yield collate(pool[self.sizes[view] :])


def echoed(source: Iterator[Batch], times: int, seed: int, held: int = 24) -> Iterator[Batch]:
    """The batches, each followed by `times - 1` drawn from the last `held`: for a GPU faster than what draws pages.

    Source: Choi et al. 2019, Faster Neural Network Training with Data Echoing. With one seed all ranks repeat alike.
    """
    rng, pool = random.Random(seed), deque[Batch](maxlen=held)
    for batch in source:
        yield batch
        if times > 1:
            # A copy: what workers send lies in shared memory, which is scarce.
            pool.append(
                replace(
                    batch,
                    canvas=batch.canvas.clone(),
                    ids=batch.ids.clone(),
                    token_index=batch.token_index.clone(),
                    cells=batch.cells.clone(),
                )
            )
            yield from (rng.choice(pool) for _ in range(times - 1))


def batches(dataset: IterableDataset[Drawn], workers: int, prefetch: int = 3) -> Iterator[Drawn]:
    """The dataset's batches, drawn by `workers` processes (in this process where 0), `prefetch` ahead in each."""
    loader: DataLoader[Drawn] = DataLoader(
        dataset,
        batch_size=None,
        num_workers=workers,
        prefetch_factor=prefetch if workers else None,
        multiprocessing_context="spawn" if workers else None,
    )
    return iter(loader)
