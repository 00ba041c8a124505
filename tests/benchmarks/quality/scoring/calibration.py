"""Measures whether a page's confidence equals the share of its characters that are right."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks.quality.scoring.scores import Score

NUM_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Pages whose confidence lies in [low, high). accuracy: mean of 1 - min(1, CER)."""

    low: float
    high: float
    num_pages: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The reliability table without its empty bins.

    error: expected calibration error, the mean of |confidence - accuracy| over the bins, weighed by their pages.
    """

    bins: tuple[Bin, ...]

    @property
    def num_pages(self) -> int:
        return sum(part.num_pages for part in self.bins)

    @property
    def error(self) -> float:
        gaps = (part.num_pages * abs(part.confidence - part.accuracy) for part in self.bins)
        return sum(gaps) / max(self.num_pages, 1)


def calibrate(scores: Sequence[Score]) -> Calibration:
    """Returns the calibration over the pages that have a confidence; the last bin holds 1.0 too."""
    filled: dict[int, list[tuple[float, float]]] = {}
    for score in scores:
        if score.confidence is not None:
            place = min(int(score.confidence * NUM_BINS), NUM_BINS - 1)
            filled.setdefault(place, []).append((score.confidence, 1 - min(1.0, score.characters.rate)))
    return Calibration(bins=tuple(_bin(place, filled[place]) for place in sorted(filled)))


def _bin(place: int, pairs: Sequence[tuple[float, float]]) -> Bin:
    return Bin(
        low=place / NUM_BINS,
        high=(place + 1) / NUM_BINS,
        num_pages=len(pairs),
        confidence=sum(confidence for confidence, _ in pairs) / len(pairs),
        accuracy=sum(accuracy for _, accuracy in pairs) / len(pairs),
    )
