"""Finds the pixels of a page that are print, and those of them that belong to rules and pictures.

Uneven light, grain, specks and print that shines through from the back do not count as ink.
"""

import math
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

from encoders.views import UInt8Array
from ocr.imaging.measures import NOISE_LEVELS, PAGE_INK, PRINT_LEVELS, InkLimits
from ocr.imaging.planes import resized
from ocr.imaging.profiles import Mask, doubling

_PAPER_CELL = 8
# Pages whose median shade is darker than this have light print on dark paper, or lie on something dark.
_DARK_PAPER = 96
# How many cells around each the paper's shade is the lightest of: more than the boldest strokes are wide.
_LIGHTEST_OF = 5
# Every eighth pixel along a run of ink is checked first.
_SAMPLE = 8
# An inked pixel with fewer in its square of 3 x 3, itself included, is a speck.
_LEAST_OF_NINE = 3
# Longer than any stroke of a letter, as a share of the page's width, and on small pages.
_RULE_SHARE, _MIN_RULE_PX = 1 / 24, 40
# How much darker than the paper a thin rule is in the mean of the two rows of pixels over which it lies, at least, and
# how many times as dark as the rows around; over so many pixels others cross it; it is so many times as long as others.
_FAINT_RULE, _THIN, _CROSSING_PX, _FAINT_LENGTH = 18, 2, 3, 2
# Pictures are searched for in the page reduced by this factor, over this radius: more than a line of text is high.
_PICTURE_FACTOR, _PICTURE_RADIUS_PX = 4, 12
# An area this dense holds no text: bold print covers less than half of its area.
_PICTURE_DENSITY = 0.62


@dataclass(frozen=True, slots=True, kw_only=True)
class Ink:
    """A page's ink. text, level, upright, pictures: [H, W] bool each, together all ink.

    level, upright: rules in either direction. pictures covers their whole area.
    """

    text: Mask
    level: Mask
    upright: Mask
    pictures: Mask


def find_ink(grey: Image.Image) -> Ink:
    """Returns the ink of a page. grey: mode L."""
    contrast, ink = contrast_and_print(grey, PAGE_INK)
    ink, length_px = _without_specks(ink), max(_MIN_RULE_PX, round(_RULE_SHARE * ink.shape[1]))
    level, upright = long_runs(ink, length_px)
    level |= _thin_rules(contrast, _FAINT_LENGTH * length_px)
    upright |= _thin_rules(contrast.T, _FAINT_LENGTH * length_px).T
    pictures = _dense(ink)
    return Ink(text=ink & ~(level | upright | pictures), level=level, upright=upright, pictures=pictures)


def contrast_and_print(grey: Image.Image, limits: InkLimits) -> tuple[UInt8Array, Mask]:
    """Returns a page's contrast, and which of its pixels are print. grey: mode L."""
    contrast = contrast_of(grey, limits)
    return contrast, print_in(contrast, limits)


def contrast_of(grey: Image.Image, limits: InkLimits) -> UInt8Array:
    """Returns how much darker each pixel is than the paper around it; lighter, on a page that is mostly dark.

    Of large dark areas only the edges stand out.
    """
    small = grey.reduce(_PAPER_CELL) if min(grey.size) >= 4 * _PAPER_CELL else grey
    if np.median(np.asarray(small)) < _DARK_PAPER and _has_light_marks(grey):
        return contrast_of(Image.eval(grey, lambda value: 255 - value), limits)
    lightest = Image.fromarray(_lightest_near(np.asarray(small)))
    values, near = np.asarray(grey), np.asarray(lightest.filter(ImageFilter.BoxBlur(limits.blur_cells)))
    if near.min() == near.max():  # clean paper, which resizing leaves as it is
        near = np.full_like(values, near[0, 0])
    else:
        near = resized(near[None], grey.width, grey.height, Image.Resampling.BILINEAR)[0]
    darker: UInt8Array = np.maximum(near, values)
    darker -= values
    return darker


def _has_light_marks(grey: Image.Image) -> bool:
    """Returns whether marks are lighter than their ground: of two shades the rarer one is farther from the mean."""
    around = np.asarray(grey.filter(ImageFilter.BoxBlur(_PAPER_CELL)), np.int32)
    return bool(((np.asarray(grey) - around) ** 3).sum() > 0)


def print_in(contrast: UInt8Array, limits: InkLimits) -> Mask:
    """Returns which pixels are print rather than grain or bleed-through."""
    counted = contrast[:: limits.step, :: limits.step]
    strong = counted[counted > PRINT_LEVELS]
    if not strong.size:
        return np.zeros(contrast.shape, np.bool_)
    chosen = strong[:: max(1, strong.size // limits.num_samples)]
    least = max(PRINT_LEVELS, limits.share * float(np.percentile(chosen, limits.percentile)))
    found: Mask = contrast > math.floor(least)  # the same for whole numbers, and faster
    return found


def _lightest_near(cells: UInt8Array) -> UInt8Array:
    """Returns the lightest of the cells in the square around each, as Pillow's MaxFilter does in ten times the time."""
    padded, steps = np.pad(cells, _LIGHTEST_OF // 2, mode="edge"), range(_LIGHTEST_OF)
    rows = np.max([padded[step : step + len(cells)] for step in steps], axis=0)
    lightest: UInt8Array = np.max([rows[:, step : step + cells.shape[1]] for step in steps], axis=0)
    return lightest


def _without_specks(ink: Mask) -> Mask:
    """Returns the ink without specks."""
    near = np.pad(ink, 1).view(np.uint8)
    near = near[:, :-2] + near[:, 1:-1] + near[:, 2:]
    near = near[:-2] + near[1:-1] + near[2:]
    kept: Mask = ink & (near >= _LEAST_OF_NINE)
    return kept


def _thin_rules(contrast: UInt8Array, length_px: int) -> Mask:
    """Returns level marks so long, of one or two rows, however light, as rules of tables; also where others cross."""
    rows = np.pad(contrast, ((1, 2), (0, 0)))
    both = rows[1:-2] // 2 + rows[2:-1] // 2  # a row and the one below it
    thin = (both > _FAINT_RULE) & (both // _THIN > np.maximum(rows[:-3], rows[3:]))
    thin[1:] |= thin[:-1].copy("K")
    found, inked = np.zeros_like(thin), np.flatnonzero(np.count_nonzero(thin, axis=1) > length_px // 2)
    if len(inked):
        marked = Image.fromarray(thin[inked].view(np.uint8) * np.uint8(255))
        near = np.asarray(marked.filter(ImageFilter.BoxBlur((_CROSSING_PX, 0)))) > 127
        is_sure = long_runs(near, length_px)[0].any(1, keepdims=True)  # shorter ones go on with those
        found[inked] = long_runs(near, length_px // _FAINT_LENGTH)[0] & is_sure
    return found


def band_edges(grey: UInt8Array, length_px: int) -> Mask:
    """Returns where plain shades, so long from left to right, meet: the edges of bands. grey: [H, W]."""
    found = np.zeros(grey.shape, np.bool_)
    last, above, below, after = (grey[at : len(grey) - 5 + at] for at in (0, 1, 4, 5))
    differ, *uneven = (
        np.maximum(a, b) - np.minimum(a, b) for a, b in ((above, below), (last, above), (below, after))
    )
    is_edge = (differ > NOISE_LEVELS) & (np.maximum(*uneven) < NOISE_LEVELS // 2)
    for is_darker in (above > below, above < below):
        found[2:-3] |= long_runs(is_edge & is_darker, length_px)[0]
    return found


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
    found: Mask = np.any(_run_starts(sampled, length_px // _SAMPLE), axis=0)
    return found if length_px >= _SAMPLE else np.ones_like(found)


def _upright_runs(ink: Mask, length_px: int) -> Mask:
    """Returns the ink in upright runs of at least length_px."""
    starts, found = _run_starts(ink, length_px), np.zeros_like(ink)
    found[: len(starts)] = starts
    for step in doubling(length_px):
        found[step:] |= found[:-step].copy()
    return found


def _run_starts(ink: Mask, length: int) -> Mask:
    """Returns where a pixel and those below it, `length` in all, are ink; fewer rows, as none begins at the foot."""
    for step in doubling(length):
        ink = ink[:-step] & ink[step:]
    return ink


def _dense(ink: Mask) -> Mask:
    """Returns filled areas, grown back to their edges."""
    small = Image.fromarray(ink.view(np.uint8) * np.uint8(255)).reduce(_PICTURE_FACTOR)
    radius = _PICTURE_RADIUS_PX // _PICTURE_FACTOR
    filled = np.asarray(small.filter(ImageFilter.BoxBlur(radius))) > 255 * _PICTURE_DENSITY
    if not filled.any():  # as on most pages
        return np.zeros_like(ink)
    cores = Image.fromarray(filled.view(np.uint8) * np.uint8(255))
    grown = np.asarray(cores.filter(ImageFilter.BoxBlur(radius + 1))) > 0
    areas: Mask = grown.repeat(_PICTURE_FACTOR, axis=0).repeat(_PICTURE_FACTOR, axis=1)
    return areas[: ink.shape[0], : ink.shape[1]]
