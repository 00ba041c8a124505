"""Times every stage of every page: the page's share of a batch, and the batch's wall time."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from storage.types import StageTiming

# How an encoder path computed a view, best first.
_USES = ("hit", "miss", "eager")


def split(
    stage: str, wall_s: float, work: Sequence[float], path_uses: Sequence[str | None] | None = None
) -> list[StageTiming]:
    """Returns one timing per page of a batch; the shares are proportional to `work` and add up to wall_s.

    work: how much of this stage each page needed (1 for a global view, its tiles, its tokens); pages that needed
    none get no share and do not count in batch_size. path_uses: one per page, on an encoder path.
    """
    total = sum(work)
    batch_size = sum(1 for amount in work if amount)
    return [
        StageTiming(
            stage=stage,
            share_s=wall_s * amount / total if total else 0.0,
            wall_s=wall_s if amount else 0.0,
            batch_size=batch_size if amount else 0,
            path_use=path_use if amount else None,
        )
        for amount, path_use in zip(work, path_uses or [None] * len(work), strict=True)
    ]


def least_favourable(path_uses: Iterable[str | None]) -> str | None:
    """Returns the use that graphs helped least: "eager" before "miss" before "hit"; None if there is none."""
    return max((use for use in path_uses if use is not None), key=_USES.index, default=None)


def single(stage: str, seconds: float) -> StageTiming:
    """Returns the timing of a stage that ran for one page alone: its share is the wall time."""
    return StageTiming(stage=stage, share_s=seconds, wall_s=seconds)


class Stopwatch:
    """Measures the wall time of a block. seconds: of the block measured last."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Measures the block, also if it raises."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds = time.perf_counter() - start
