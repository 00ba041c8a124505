"""Measures whether a page's confidence equals the share of its characters that are right."""

from collections.abc import Sequence

from ocr.training.calibrate.reliability import expected_error, table
from tests.benchmarks.quality.scoring.scores import Score


def calibration_error(scores: Sequence[Score]) -> float:
    """Returns the expected calibration error of the pages that have a confidence, 0 where none has."""
    confidence, right = _rated(scores)
    return expected_error(confidence, right) if confidence else 0.0


def calibration_lines(set_name: str, scores: Sequence[Score]) -> list[str]:
    """Returns the reliability table of ocrbatch's page confidence."""
    confidence, right = _rated(scores)
    if not confidence:
        return [f"== {set_name}: no page has a confidence"]
    error = (
        f"expected calibration error {100 * calibration_error(scores):.1f} points, {len(confidence)} pages"
    )
    return [f"== {set_name}: ocrbatch's page confidence, {error}", *table(confidence, right)]


def _rated(scores: Sequence[Score]) -> tuple[list[float], list[float]]:
    """Returns the confidence of each page that has one, and the share of it that is right, 1 - min(1, CER)."""
    pages = [page for page in scores if page.confidence is not None]
    confidence = [page.confidence for page in pages if page.confidence is not None]
    return confidence, [1 - min(1.0, page.characters.rate) for page in pages]
