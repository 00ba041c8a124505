"""Rates how much of a page and its blocks is right, fits confidence curves, and tells how well they are calibrated."""

import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

from ocr.model_files.locate import CONFIDENCE
from ocr.transcript.confidence import Calibration, Curve

_LONG = 20


def normalise(text: str) -> str:
    """Returns text in NFC with every run of white space as one space, as `ocrbatch eval` compares."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def page_accuracy(text: str, truth: str) -> float:
    """Returns 1 - character error rate, at least 0. With an empty truth only an empty text is right."""
    text, truth = normalise(text), normalise(truth)
    return max(0.0, 1 - Levenshtein.distance(text, truth) / max(1, len(truth)))


def block_accuracies(texts: Sequence[str], truth: str) -> list[float]:
    """Returns 1 - edits per character between each block of a page and the nearest part of the truth, at least 0.

    A short block is matched only where the page as a whole aligns with the truth: a letter is not right just because
    the truth has it somewhere. A block of 20 characters or more may match anywhere: its order is judged with the page.
    Text left out between blocks counts against no block.
    """
    blocks, truth = [normalise(text) for text in texts], normalise(truth)
    places = _places(blocks, truth)
    out = []
    for text, (start, end) in zip(blocks, places, strict=True):
        part = truth if len(text) >= _LONG else truth[start:end]
        out.append(max(0.0, 1 - _nearest_part(text, part) / max(1, len(text))))
    return out


def _places(blocks: Sequence[str], truth: str) -> list[tuple[int, int]]:
    """Returns the part (start, end) of the truth that each block aligns with, by the fewest edits for all together."""
    page = " ".join(blocks)
    at = [0] * (len(page) + 1)  # the place in the truth where each character of the page ends
    for op in Levenshtein.opcodes(page, truth):
        for offset in range(op.src_end - op.src_start):
            at[op.src_start + offset + 1] = op.dest_start + (0 if op.tag == "delete" else offset + 1)
    places = []
    first = 0
    for text in blocks:
        last = first + len(text)
        places.append((max(0, at[first + 1] - 1) if text else 0, at[last]))
        first = last + 1
    return places


def _nearest_part(text: str, truth: str) -> int:
    """Returns the fewest edits between a text and any part of the truth.

    Source: P. H. Sellers, The theory and computation of evolutionary distances (1980).
    """
    marks = np.fromiter(map(ord, truth), np.int64, len(truth))
    column = np.arange(len(truth) + 1)
    row = np.zeros(len(truth) + 1, np.int64)  # a part may start anywhere
    for mark in text:
        best = np.concatenate(([row[0] + 1], np.minimum(row[1:] + 1, row[:-1] + (marks != ord(mark)))))
        # Skipping characters of the truth costs one each: a running minimum after subtracting the position.
        row = np.minimum.accumulate(best - column) + column
    return int(row.min())


_FOLDS = 5
_BINS = 10
_RIDGE = 3e-3
_STEPS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """A page or block to rate.

    features: the inputs of its curve. accuracy: the share that is right. group: never split between folds. weight: how
    much it counts.
    """

    features: dict[str, float]
    accuracy: float
    group: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One page, or one block, of `group`, the page's number.

    raw: the uncalibrated confidence.
    """

    rated: Rated
    raw: float
    is_page: bool


def calibrate(readings: Sequence[Reading], folder: Path) -> None:
    """Writes a model's confidence.json, fitted on what was read with it, and prints how well it is calibrated."""
    calibration = Calibration(
        page=fit([reading.rated for reading in readings if reading.is_page]),
        block=fit([reading.rated for reading in readings if not reading.is_page]),
    )
    (folder / CONFIDENCE).write_text(json.dumps(calibration.to_json(), indent=2) + "\n", encoding="utf-8")
    print("\n".join(report(readings)))


def fit(items: Sequence[Rated]) -> Curve:
    """Returns the curve with the least cross-entropy between confidence and accuracy, weights at least 0.

    Projected gradient descent on standardised features, with a small ridge.
    """
    names = sorted(items[0].features)
    X = np.array([[item.features[name] for name in names] for item in items])
    y = np.array([item.accuracy for item in items])
    w = np.array([item.weight for item in items]) / sum(item.weight for item in items)
    mean, scale = X.mean(0), X.std(0) + 1e-9
    Z = np.column_stack([np.ones(len(X)), -(X - mean) / scale])
    theta = np.zeros(Z.shape[1])
    step = 4 / np.linalg.norm(Z * np.sqrt(w)[:, None], 2) ** 2
    for _ in range(_STEPS):
        slope = Z.T @ (w * (1 / (1 + np.exp(-Z @ theta)) - y))
        slope[1:] += _RIDGE * theta[1:]
        theta -= step * slope
        theta[1:] = np.maximum(theta[1:], 0)
    weights = theta[1:] / scale
    bias = float(theta[0] + weights @ mean)
    return Curve(
        bias=round(bias, 4),
        weights={
            name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True) if weight > 0
        },
    )


def cross_validated(items: Sequence[Rated]) -> list[float]:
    """Returns each item's confidence by a curve that was fitted without its group."""
    out = [0.0] * len(items)
    for fold in range(_FOLDS):
        curve = fit([item for item in items if item.group % _FOLDS != fold])
        for index, item in enumerate(items):
            if item.group % _FOLDS == fold:
                out[index] = curve(item.features)
    return out


def report(readings: Sequence[Reading]) -> Iterator[str]:
    """Yields lines: expected calibration errors, rank correlations and reliability tables of pages and of blocks."""
    for name, is_page in (("pages", True), ("blocks, weighted by their characters", False)):
        chosen = [reading for reading in readings if reading.is_page == is_page]
        rated = [reading.rated for reading in chosen]
        accuracy, weight = [item.accuracy for item in rated], [item.weight for item in rated]
        yield f"{len(rated)} {name}"
        for name, confidence in (
            ("uncalibrated", [reading.raw for reading in chosen]),
            ("calibrated", cross_validated(rated)),
        ):
            error = expected_error(confidence, accuracy, weight)
            order = rank_correlation(confidence, accuracy)
            yield f"{name}: expected calibration error {error:.1%}, rank correlation {order:.2f}"
        yield from table(confidence, accuracy, weight)
        yield ""


def expected_error(
    confidence: Sequence[float], accuracy: Sequence[float], weight: Sequence[float] | None = None
) -> float:
    """Returns the expected calibration error: over ten equal bins, how far mean confidence is from mean accuracy.

    Source: Guo et al., On calibration of modern neural networks (2017), with shares of right characters in
    place of right or wrong.
    """
    rows = list(_bins(confidence, accuracy, weight))
    apart = sum(weighed * abs(sure - right) for _, _, weighed, sure, right in rows)
    return apart / sum(weighed for _, _, weighed, _, _ in rows)


def rank_correlation(confidence: Sequence[float], accuracy: Sequence[float]) -> float:
    """Returns Spearman's rank correlation, ties in the order given: how well confidence ranks better above worse."""
    first, second = (np.argsort(np.argsort(values, kind="stable")) for values in (confidence, accuracy))
    return float(np.corrcoef(first, second)[0, 1])


def table(
    confidence: Sequence[float], accuracy: Sequence[float], weight: Sequence[float] | None = None
) -> Iterator[str]:
    """Yields a line for each of ten bins that is not empty."""
    yield f"{'confidence':>12} {'count':>6} {'mean':>7} {'right':>7}"
    for number, count, _, sure, right in _bins(confidence, accuracy, weight):
        span = f"{number / _BINS:.1f} to {(number + 1) / _BINS:.1f}"
        yield f"{span:>12} {count:>6} {sure:>7.1%} {right:>7.1%}"


def _bins(
    confidence: Sequence[float], accuracy: Sequence[float], weight: Sequence[float] | None
) -> Iterator[tuple[int, int, float, float, float]]:
    """Yields of each bin its number, its count, its weight, and the weighted means of confidence and accuracy."""
    sure, right = np.asarray(confidence), np.asarray(accuracy)
    w = np.ones(len(sure)) if weight is None else np.asarray(weight, float)
    numbers = np.minimum((sure * _BINS).astype(np.int64), _BINS - 1)
    for number in np.unique(numbers):
        at = (numbers == number) & (w > 0)
        if at.any():
            means = [float(np.average(values[at], weights=w[at])) for values in (sure, right)]
            yield int(number), int(at.sum()), float(w[at].sum()), means[0], means[1]
