"""The schedule of a leg, by the clock."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The position of a run in its leg, by the clock.

    start, end: the shares of the leg's time at which the run begins and ends. minutes: the run takes.
    flat: share of the leg before the rates decay. warm_up: steps in which they rise.
    """

    start: float = 0.0
    end: float = 1.0
    minutes: float
    flat: float
    warm_up: int = 100

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end <= 1:
            raise ValueError(f"a span goes from A to B with 0 <= A < B <= 1, not {self.start} to {self.end}")

    def share(self, minutes: float) -> float:
        """The share of the leg that is done after so many minutes of this run."""
        return self.start + (self.end - self.start) * minutes / self.minutes

    def factor(self, step: int, share: float) -> float:
        """The factor of the learning rates: warm-up in every run, then the leg's: flat, then linear to zero."""
        decay = 1.0 if share <= self.flat else max(0.0, (1 - share) / (1 - self.flat))
        return min(1.0, (step + 1) / self.warm_up, decay)

    def seed(self, seed: int) -> int:
        """The seed of the pages: the runs of a leg must not draw the same ones."""
        return seed + round(self.start * 1_000_000)
