"""Wears the print of a page as a typewriter's: each letter has its own place and ink, some are struck twice."""

import math
import random

import numpy as np
import numpy.typing as npt

from ocr.training.lines.page_lines import Floats

Grey = npt.NDArray[np.uint8]
# Share of letters as wide as the usual one, from which print is typed; letters it takes.
_ALIKE, _LEAST = 0.8, 40
_BAND = 0.72  # of the type size, as ocr.training.lines.page_lines has it
_ABOVE, _BELOW = 0.32, 0.3  # of the type size, beyond a letter's band: accents and descenders
# Standard deviations of shifts, in type sizes: of a type, of each stroke.
_OWN, _STROKE = (0.0, 0.035), (0.0, 0.02)
_PALE, _PALE_SHARE = (0.25, 0.6), 0.25  # ink of the faintest types, as a share; how many are paler
_WHITE = 6  # the most ink that paper has
_TWICE = (0.0, 0.0, 0.02, 0.08)  # shares of letters struck twice


def is_typed(text: str, box_px: Floats) -> bool:
    """Returns whether all letters of a page are about equally wide. box_px: [N, 4], NaN for what leaves no mark."""
    letters = [i for i, mark in enumerate(text) if mark.isalnum() and not np.isnan(box_px[i, 0])]
    if len(letters) < _LEAST:
        return False
    widths = box_px[letters, 2] - box_px[letters, 0]
    sizes = box_px[letters, 3] - box_px[letters, 1]
    shares = widths / sizes
    return float((np.abs(shares / np.median(shares) - 1) < 0.03).mean()) > _ALIKE


def wear_type(rng: random.Random, pixels: Grey, text: str, box_px: Floats) -> None:
    """Prints the letters anew. pixels: [H, W] grey, changed. text, box_px: [N, 4], as `is_typed` has them."""
    noise = np.random.default_rng(rng.getrandbits(32))
    faults = _Faults(rng)
    ink = 255 - pixels
    bare = ink.copy()
    spots: list[tuple[int, int, int, int, int]] = []
    for i in np.flatnonzero(~np.isnan(box_px[:, 0])).tolist():
        x0, y0, x1, y1 = box_px[i].tolist()
        size = (y1 - y0) / _BAND
        left, right, top, bottom = round(x0), round(x1), int(y0 - _ABOVE * size), int(y1 + _BELOW * size) + 1
        if left < 0 or top < 0 or right > ink.shape[1] or bottom > ink.shape[0] or right <= left:
            continue
        if ink[top:bottom, left:right].min() <= _WHITE:  # on a shaded ground it would take its ground along
            spots.append((i, left, top, right, bottom))
            bare[top:bottom, left:right] = 0
    shifts, strengths = noise.normal(0, faults.stroke, (len(spots), 2)), noise.uniform(0.85, 1.0, len(spots))
    again, beside = noise.random(len(spots)) < faults.twice, noise.integers(-2, 3, (len(spots), 2))
    for number, (i, left, top, right, bottom) in enumerate(spots):
        size = (bottom - top) / (_BAND + _ABOVE + _BELOW)
        down, across, own = faults.of(text[i])
        dy, dx = round((down + shifts[number, 0]) * size), round((across + shifts[number, 1] / 2) * size)
        share = np.float32(own * faults.ribbon(left) * strengths[number])
        letter = (ink[top:bottom, left:right] * share).astype(np.uint8)
        _strike(bare, letter, left + dx, top + dy)
        if again[number]:
            _strike(bare, letter, left + dx + int(beside[number, 0]), top + dy + int(beside[number, 1]))
    np.subtract(255, bare, out=pixels)


class _Faults:
    """What is wrong with one machine."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._own, self.stroke = rng.uniform(*_OWN), rng.uniform(*_STROKE)
        self._palest, self.twice = rng.uniform(*_PALE), rng.choice(_TWICE)
        self._uneven, self._wave, self._phase = (
            rng.uniform(0.0, 0.35),
            rng.uniform(0.004, 0.03),
            rng.uniform(0, 6),
        )
        self._types: dict[str, tuple[float, float, float]] = {}

    def of(self, mark: str) -> tuple[float, float, float]:
        """Returns how far a type is off, down and across in type sizes, and its ink."""
        if mark not in self._types:
            rng = self._rng
            ink = rng.uniform(self._palest, 1.0) if rng.random() < _PALE_SHARE else rng.uniform(0.85, 1.0)
            self._types[mark] = rng.gauss(0, self._own), rng.gauss(0, self._own / 2), ink
        return self._types[mark]

    def ribbon(self, x: float) -> float:
        """Returns how much ink the ribbon gives there."""
        return 1 - self._uneven * (0.5 + 0.5 * math.sin(self._wave * x + self._phase))


def _strike(ink: Grey, letter: Grey, left: int, top: int) -> None:
    """Adds a letter, as far as it is on the page. ink: [H, W], 0 is none; changed."""
    height, width = ink.shape
    x0, y0, x1, y1 = (
        max(0, left),
        max(0, top),
        min(width, left + letter.shape[1]),
        min(height, top + letter.shape[0]),
    )
    if x1 > x0 and y1 > y0:
        spot = ink[y0:y1, x0:x1]
        np.maximum(spot, letter[y0 - top : y1 - top, x0 - left : x1 - left], out=spot)
