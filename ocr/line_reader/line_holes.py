"""Tells of letters that were lost within a line: ink as high as letters from which none was read. Torch-free."""

from collections.abc import Sequence

import numpy as np

from ocr.imaging.profiles import Mask
from ocr.line_reader.found_lines import Floats
from ocr.line_reader.line_words import Letter

_INK = 0.35  # of the darkest
# In type sizes. The band above the baseline in which ink counts, clear of leaders and underlines; how far a letter may
# reach to the left and to the right of where it was read, as CTC's peaks are within letters or behind them; white
# between lost letters; and how high these are, as no dash is.
_TOP, _FOOT = 0.62, 0.12
_BEFORE, _BEHIND, _GAP, _HIGH = 0.8, 0.5, 0.35, 0.3
_STEMS = 0.75  # of the columns with ink the others are so high: those of a slanted dash are not
# How much of the columns has ink, and of the area: a bar that blacks out words has more.
_LEAST, _DENSEST = 0.4, 0.8


def widest_hole(image: Floats, letters: Sequence[Letter], *, above: float, below: float) -> float:
    """Returns how wide the widest stretch of ink between letters is from which none was read, in type sizes, or 0.

    At a line's ends icons and boxes stand.

    image: of a line, [H, W], normalised, ink about 1. above, below: how far it reaches from the baseline.
    """
    size = len(image) / (above + below)
    ink = image[round((above - _TOP) * size) : round((above - _FOOT) * size)] > _INK
    is_lost: Mask = np.any(ink, axis=0)
    places = [letter.x for letter in letters if not letter.text.isspace()] or [0.0]
    is_lost[: round(places[0])] = is_lost[round(places[-1]) :] = False
    for x in places:
        is_lost[max(0, round(x - _BEFORE * size)) : round(x + _BEHIND * size)] = False
    columns = np.flatnonzero(is_lost)
    widest = 0
    for run in np.split(columns, np.flatnonzero(np.diff(columns) > _GAP * size) + 1) if len(columns) else ():
        part = ink[:, run[0] : run[-1] + 1]
        heights = (len(part) - part[::-1].argmax(0) - part.argmax(0))[part.any(0)]
        is_high = np.quantile(heights, _STEMS) >= _HIGH * size
        if is_high and len(run) >= _LEAST * part.shape[1] and part.mean() <= _DENSEST:
            widest = max(widest, part.shape[1])
    return widest / size
