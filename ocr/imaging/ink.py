"""Finds the pixels of a page that are print, and those of them that belong to rules and pictures.

Uneven light, grain, specks and print that shines through from the back do not count as ink.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from encoders.views import UInt8Array
from ocr.imaging.resizing import resized

Mask = npt.NDArray[np.bool_]

_PAPER_CELL = 8
# Every eighth pixel along a run of ink is checked first.
_SAMPLE = 8
_MIN_CONTRAST = 24
# As a share of the contrast of a page's darkest print; bleed-through from the back is fainter.
_SHARE = 0.25
_DARKEST_PERCENTILE = 90
_BLUR_PX = 3
# Longer than any stroke of a letter, as a share of the page's width.
_RULE_SHARE = 1 / 24
_PICTURE_RADIUS_PX = 12
# An area this dense holds no text: bold print covers less than half of its area.
_PICTURE_DENSITY = 0.62


@dataclass(frozen=True, slots=True, kw_only=True)
class Ink:
    """A page's ink. text, rules, pictures: [H, W] bool each, together all ink; pictures covers their whole area."""

    text: Mask
    rules: Mask
    pictures: Mask

    @property
    def obstacles(self) -> Mask:
        """The ink that a cut must not cross: frames of boxes and rules of tables are no obstacle."""
        return self.text | self.pictures

    @property
    def all(self) -> Mask:
        """All ink, rules included."""
        return self.text | self.rules | self.pictures


def find_ink(grey: Image.Image) -> Ink:
    """Returns the ink of a page. grey: mode L."""
    contrast = contrast_of(grey, _BLUR_PX)
    least = least_contrast(contrast, _SHARE, _DARKEST_PERCENTILE, 100_000)
    if least is None:
        nothing = np.zeros(contrast.shape, dtype=np.bool_)
        return Ink(text=nothing, rules=nothing, pictures=nothing)
    ink = _without_specks(contrast > math.floor(least))  # the same for whole numbers, and faster
    rule_px = max(40, round(_RULE_SHARE * ink.shape[1]))
    level, upright = long_runs(ink, rule_px)
    rules = level | upright
    pictures = _dense(ink)
    return Ink(text=ink & ~rules & ~pictures, rules=rules, pictures=pictures)


def contrast_of(grey: Image.Image, blur_px: int) -> UInt8Array:
    """Returns how much darker each pixel is than the paper around it; lighter, on a page that is mostly dark.

    Of large dark areas only the edges stand out. blur_px: radius over which the paper's shade is averaged, in cells of
    _PAPER_CELL pixels.
    """
    small = grey.reduce(_PAPER_CELL) if min(grey.size) >= 4 * _PAPER_CELL else grey
    if np.median(np.asarray(small)) < 96:  # light print on dark paper
        return contrast_of(Image.eval(grey, lambda value: 255 - value), blur_px)
    paper = Image.fromarray(_lightest_near(np.asarray(small))).filter(ImageFilter.BoxBlur(blur_px))
    values, near = np.asarray(grey), np.asarray(paper)
    if near.min() == near.max():  # clean paper, which resizing leaves as it is
        near = near[:1, :1]
    else:
        near = resized(near[None], grey.width, grey.height, Image.Resampling.BILINEAR)[0]
    darker: UInt8Array = np.maximum(near, values)
    darker -= values
    return darker


def _lightest_near(cells: UInt8Array) -> UInt8Array:
    """Returns the lightest of 5 x 5 cells around each, as Pillow's MaxFilter does in ten times the time."""
    padded = np.pad(cells, 2, mode="edge")
    rows = np.max([padded[step : step + len(cells)] for step in range(5)], axis=0)
    lightest: UInt8Array = np.max([rows[:, step : step + cells.shape[1]] for step in range(5)], axis=0)
    return lightest


def least_contrast(contrast: UInt8Array, share: float, percentile: float, num_samples: int) -> float | None:
    """Returns the contrast above which a pixel is print rather than grain or bleed-through; None without any print.

    share: of the contrast of the page's darkest print, the percentile of about num_samples pixels that stand out.
    """
    strong = contrast[contrast > _MIN_CONTRAST]
    if not strong.size:
        return None
    darkest = float(np.percentile(strong[:: max(1, strong.size // num_samples)], percentile))
    return max(_MIN_CONTRAST, share * darkest)


def _without_specks(ink: Mask) -> Mask:
    """Returns the ink without pixels that have fewer than three inked ones in their 3 x 3 square."""
    near = np.pad(ink, 1).view(np.uint8)
    near = near[:, :-2] + near[:, 1:-1] + near[:, 2:]
    near = near[:-2] + near[1:-1] + near[2:]
    kept: Mask = ink & (near >= 3)
    return kept


def long_runs(ink: Mask, length_px: int) -> tuple[Mask, Mask]:
    """Returns the ink in level and in upright runs of at least length_px. ink: [H, W] bool."""
    level, upright = np.zeros_like(ink), np.zeros_like(ink)
    rows = np.flatnonzero(_may_hold_runs(np.ascontiguousarray(ink[:, ::_SAMPLE].T), length_px))
    if len(rows):
        level[rows] = _upright_runs(np.ascontiguousarray(ink[rows].T), length_px).T
    columns = np.flatnonzero(_may_hold_runs(ink[::_SAMPLE], length_px))
    if len(columns):
        upright[:, columns] = _upright_runs(ink[:, columns], length_px)
    return level, upright


def _may_hold_runs(sampled: Mask, length_px: int) -> Mask:
    """Returns which columns may hold an upright run, judging by every _SAMPLE-th row."""
    number = length_px // _SAMPLE
    if number < 1:
        return np.ones(sampled.shape[1], np.bool_)
    if len(sampled) < number:
        return np.zeros(sampled.shape[1], np.bool_)
    held = sampled
    for step in _doubling(number):
        held = held[:-step] & held[step:]
    found: Mask = np.any(held, axis=0)
    return found


def _upright_runs(ink: Mask, length_px: int) -> Mask:
    """Returns the ink in upright runs of at least length_px."""
    found = np.zeros_like(ink)
    if len(ink) < length_px:
        return found
    # Doubling steps find rows whose next 2, 4, 8, ... are ink too.
    starts = ink
    for step in _doubling(length_px):
        starts = starts[:-step] & starts[step:]
    found[: len(starts)] = starts
    for step in _doubling(length_px):
        found[step:] |= found[:-step].copy()
    return found


def _doubling(length: int) -> list[int]:
    """Returns the steps 1, 2, 4, ... and a last one, which add up to `length` from 1."""
    steps, reached = [], 1
    while reached < length:
        steps.append(min(reached, length - reached))
        reached += steps[-1]
    return steps


def _dense(ink: Mask) -> Mask:
    """Returns filled areas, grown back to their edges."""
    factor = 4
    small = Image.fromarray(ink.view(np.uint8) * np.uint8(255)).reduce(factor)
    radius = _PICTURE_RADIUS_PX // factor
    filled = np.asarray(small.filter(ImageFilter.BoxBlur(radius))) > 255 * _PICTURE_DENSITY
    if not filled.any():
        return np.zeros_like(ink)
    cores = Image.fromarray(filled.view(np.uint8) * np.uint8(255))
    grown = np.asarray(cores.filter(ImageFilter.BoxBlur(radius + 1))) > 0
    areas: Mask = grown.repeat(factor, axis=0).repeat(factor, axis=1)[: ink.shape[0], : ink.shape[1]]
    return areas
