"""Counts how long things took, in memory that does not grow with how many there were."""

import math
from collections import Counter
from dataclasses import dataclass, field

# Neighbouring classes differ by this factor, so that a median is wrong by at most half of it.
_STEP = 1.02
# What is shorter counts as this.
_LEAST_S = 1e-6


@dataclass(slots=True)
class Durations:
    """How many durations fell into each of classes 2% apart. max_s: the longest, exact; None where there is none."""

    classes: Counter[int] = field(default_factory=Counter)
    max_s: float | None = None

    def add(self, seconds: float) -> None:
        """Counts a duration."""
        self.classes[round(math.log(max(seconds, _LEAST_S), _STEP))] += 1
        self.max_s = seconds if self.max_s is None else max(self.max_s, seconds)

    def merge(self, others: "Durations") -> None:
        """Counts all of another's durations."""
        self.classes.update(others.classes)
        if others.max_s is not None:
            self.max_s = others.max_s if self.max_s is None else max(self.max_s, others.max_s)

    @property
    def median_s(self) -> float | None:
        """The (lower) median, within 1%; None where there is no duration."""
        before, num = 0, self.classes.total()
        for number, count in sorted(self.classes.items()):
            before += count
            if 2 * before >= num:
                return min(_STEP**number, self.max_s or 0.0)
        return None
