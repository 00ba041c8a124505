"""Keeps account of a run's workers: what each does, how fast it is, and when it last got anywhere."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.reports.run_figures import WorkerUse
from pipeline.types import Phase

# Workers that have ended and are still told of: those of a long run with many losses would fill its row.
_MOST_ENDED = 100
_LOADING = 6.0
FINISHED, LOST = "finished", "lost"


@dataclass(slots=True)
class _Seen:
    """moved_at: when it last stored or wrote anything."""

    began: float
    moved_at: float
    where: str = ""
    phase: Phase = "inspecting files"
    num_tokens: int = 0
    num_pages: int = 0
    first_at: float | None = None
    last_at: float = 0.0
    is_waiting: bool = False
    ended: str | None = None

    def doing(self, num_waiting: int) -> str:
        """Returns what it does, in words. num_waiting: the pages that it has."""
        return self.ended or ("waiting for files" if self.is_waiting and not num_waiting else self.phase)

    def pages_s(self) -> float:
        """Returns its speed from its first page on."""
        if self.first_at is None or self.last_at <= self.first_at:
            return 0.0
        return (self.num_pages - 1) / (self.last_at - self.first_at)


@dataclass(slots=True)
class WorkerStatus:
    """Which workers there are, by their numbers. clock: in seconds."""

    clock: Callable[[], float] = time.monotonic
    _all: dict[int, _Seen] = field(default_factory=dict)

    def began(self, worker: int) -> None:
        """Notes that a worker is being started."""
        now = self.clock()
        self._all[worker] = _Seen(began=now, moved_at=now)

    def stands(self, worker: int, where: str) -> None:
        """Notes where a worker is."""
        self._all[worker].where = where

    def at_work(self, worker: int, phase: Phase, num_tokens: int) -> None:
        """Notes what a worker says of itself."""
        its = self._all[worker]
        if (phase, num_tokens) != (its.phase, its.num_tokens):
            its.moved_at = self.clock()
        its.phase, its.num_tokens = phase, num_tokens

    def stored(self, worker: int) -> None:
        """Notes that a page of a worker is stored."""
        its, now = self._all[worker], self.clock()
        its.num_pages += 1
        its.first_at = now if its.first_at is None else its.first_at
        its.last_at = its.moved_at = now

    def waits(self, worker: int, *, is_waiting: bool) -> None:
        """Notes whether a worker waits for files."""
        self._all[worker].is_waiting = is_waiting
        self._all[worker].moved_at = self.clock()

    def ended(self, worker: int, how: str) -> None:
        """Notes that a worker has ended."""
        self._all[worker].ended = how
        gone = [number for number, its in self._all.items() if its.ended]
        for number in gone[:-_MOST_ENDED]:
            del self._all[number]

    def num_stored(self, worker: int) -> int:
        """Returns how many pages of a worker are stored."""
        return self._all[worker].num_pages

    def is_stalled(self, worker: int, stall_s: float, num_waiting: int) -> bool:
        """Returns whether a worker with so many pages has got nowhere for so long, or longer before it reads."""
        its = self._all[worker]
        patience_s = stall_s if its.phase == "reading" else _LOADING * stall_s
        is_idle = its.is_waiting and not num_waiting
        return its.ended is None and not is_idle and self.clock() - its.moved_at > patience_s

    def phases(self) -> set[Phase]:
        """Returns what workers do."""
        return {its.phase for its in self._all.values() if its.ended is None}

    def num_tokens(self) -> int:
        """Returns the tokens that all workers wrote."""
        return sum(its.num_tokens for its in self._all.values())

    def uses(self, num_waiting: Callable[[int], int], *, with_ended: bool = True) -> list[WorkerUse]:
        """Returns what each worker does. num_waiting: the pages that one has."""
        return [
            WorkerUse(
                number=number,
                where=its.where,
                doing=its.doing(num_waiting(number)),
                num_pages=its.num_pages,
                pages_s=round(its.pages_s(), 4),
                num_waiting=num_waiting(number),
            )
            for number, its in self._all.items()
            if with_ended or its.ended is None
        ]
