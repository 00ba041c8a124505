"""Measures where the time of a run's stages goes: working, waiting for input, or waiting for room for output."""

import asyncio
import selectors
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

State = Literal["busy", "input", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageUse:
    """A stage's shares of a run's wall time, 0 to 1. The rest to 1 passed before the stage began or after it ended."""

    name: str
    busy: float
    waiting_input: float
    waiting_output: float


class Meter:
    """Measures a stage that one thread runs: from start to stop it is in one of three states.

    state: the current one, None before and after.
    """

    def __init__(self) -> None:
        self._seconds: dict[State, float] = {"busy": 0.0, "input": 0.0, "output": 0.0}
        self.state: State | None = None
        self._since = 0.0

    def start(self) -> None:
        """Begins to measure; the stage counts as busy."""
        self._switch("busy")

    def stop(self) -> None:
        """Ends measuring. Stopping twice is harmless."""
        self._switch(None)

    @contextmanager
    def waiting(self, state: Literal["input", "output"]) -> Iterator[None]:
        """Counts the block as waiting, for input or for output."""
        before = self.state
        self._switch(state)
        try:
            yield
        finally:
            self._switch(before)

    def add(self, state: State, seconds: float) -> None:
        """Adds time that was measured elsewhere, for a stage without a thread of its own."""
        self._seconds[state] += seconds

    def use(self, name: str, wall_s: float) -> StageUse:
        """Returns the stage's shares of wall_s. The meter must have been stopped."""
        shares = {state: seconds / wall_s if wall_s else 0.0 for state, seconds in self._seconds.items()}
        return StageUse(
            name=name, busy=shares["busy"], waiting_input=shares["input"], waiting_output=shares["output"]
        )

    def _switch(self, state: State | None) -> None:
        now = time.monotonic()
        if self.state is not None:
            self._seconds[self.state] += now - self._since
        self.state, self._since = state, now


class _MeteredSelector(selectors.DefaultSelector):
    """An event loop's selector that counts its own waiting for events as the loop's idle time."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        with self._meter.waiting("input"):
            return super().select(timeout)

    def close(self) -> None:
        self._meter.stop()
        super().close()


def metered_loop(meter: Meter) -> asyncio.AbstractEventLoop:
    """Returns an event loop, for the calling thread, whose callbacks the meter counts as work."""
    meter.start()
    return asyncio.SelectorEventLoop(_MeteredSelector(meter))


def bottleneck(stages: Sequence[StageUse]) -> StageUse | None:
    """Returns the stage that was busy for the largest share of the time; None if none was busy at all."""
    busiest = max(stages, key=lambda stage: stage.busy, default=None)
    return busiest if busiest is not None and busiest.busy > 0 else None
