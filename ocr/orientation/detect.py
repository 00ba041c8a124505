"""Detects which way up a page's text is, from its pixels.

Pieces of lines are sampled from the page and from the page on its side; the network says of each whether it is text
and which way up. Their joint verdict passes three more checks, as turning a page that was upright
is the worst error: that there are enough pieces, that few say the opposite, and few on the page on its side disagree.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from encoders.views import UInt8Array
from ocr.imaging.profiles import Floats
from ocr.orientation.line_samples import sampled
from ocr.orientation.net import shipped

Angle = Literal[0, 90, 180, 270]
ANGLES: tuple[Angle, ...] = (0, 90, 180, 270)

# First coarse, about 80 dpi of an A4 page, with few pieces; where these do not show that it is upright, fine.
_COARSE_PX, _FINE_PX = 1000, 2000
_FEW, _MANY = 24, 40
# Probabilities of a piece of a page of text: to be its text, to be something else (a rule, a digit, part of a
# picture), or anything.
_TEXT, _OTHER, _ANY = 0.6, 0.37, 0.03
_CLEAR = 0.9
# The lead in log-odds over the next best angle, and the clear pieces, needed to leave a page and to turn it.
_TO_LEAVE, _TO_TURN = (4.0, 2), (10.0, 4)
# The share of those pieces that may as clearly say something else.
_AGAINST = 0.2
# The share of clear text among the pieces of a page that has words among pictures.
_SOME = 0.15
# The lead over the next best angle, as a share of the log-odds, needed to turn a page; less where many pieces are
# clear.
# In scripts that the network hardly knows, such as Hebrew and Devanagari, pieces look like text either way up:
# 0.5 at most and a third of the pieces, where Latin pages have 0.9 and four fifths.
_LACKS, _LACKS_IF_MANY, _MANY_CLEAR = 0.6, 0.5, 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Orientation:
    """A page's turn. angle_deg: the clockwise turn that makes it upright. runner_up_deg: the turn to try in doubt.

    Without a runner-up there is no doubt: the text is clear, or there is none.
    """

    angle_deg: Angle = 0
    runner_up_deg: Angle | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The verdict of a page's pieces, for each of ANGLES.

    log_odds: against there being no text. num_clear: pieces that clearly say so. num_pieces: in each of the two frames.
    """

    log_odds: tuple[float, ...]
    num_clear: tuple[int, ...]
    num_pieces: tuple[int, int]


def detect(pixels: UInt8Array) -> Orientation:
    """Returns how to turn a page upright. pixels: [H, W, 3] or [H, W] uint8."""
    first = decide(evidence(pixels, _COARSE_PX, _FEW))
    if first == Orientation():
        return first
    second = decide(evidence(pixels, _FINE_PX, _MANY))
    # A page is turned only if both passes say so.
    is_agreed = second.angle_deg in (0, first.angle_deg)
    return second if is_agreed else Orientation(runner_up_deg=second.angle_deg)


def evidence(pixels: UInt8Array, side_px: float, num_pieces: int) -> Evidence:
    """Returns the evidence of up to num_pieces pieces of a page of about side_px, and as many of it on its side."""
    found = sampled(pixels, side_px, num_pieces, (0, -1))
    probabilities = np.exp(shipped().log_odds(np.concatenate(found)))
    level, upright = probabilities[: len(found[0])], probabilities[len(found[0]) :]
    # For the page on its side, turned clockwise: upright text there needs 90 degrees, upside-down text 270.
    said = [_said(*of) for of in ((level, 0), (upright, 0), (level, 1), (upright, 1))]
    log_odds, num_clear = zip(*said, strict=True)
    return Evidence(log_odds=log_odds, num_clear=num_clear, num_pieces=(len(level), len(upright)))


def shows_words(pixels: UInt8Array) -> bool:
    """Returns whether pieces of a page are clearly text, whichever way up. pixels: [H, W, 3] or [H, W] uint8."""
    (found,) = sampled(pixels, _COARSE_PX, _FEW, (0,))
    if not len(found):
        return False
    probabilities = np.exp(shipped().log_odds(found))
    num_clear = int(np.count_nonzero(probabilities[:, :2].max(axis=1) > _CLEAR))
    return num_clear >= max(1.0, _SOME * len(probabilities))


def _said(frame: Floats, way: int) -> tuple[float, int]:
    """Returns the log-odds of text this way up in a frame, against no text; and how many pieces clearly say so."""
    text, nothing = frame[:, way], frame[:, 2]
    log_odds = np.log(_TEXT * text + _OTHER * nothing + _ANY) - np.log((1 - _ANY) * nothing + _ANY)
    return float(log_odds.sum()), int(np.count_nonzero(text > _CLEAR))


def decide(said: Evidence) -> Orientation:
    """Returns how to turn a page with this evidence.

    Turning it takes much more evidence for, and less against, than leaving it. In doubt it stays as it is.
    """
    order = sorted(range(len(ANGLES)), key=lambda number: -said.log_odds[number])
    best, second = order[0], order[1]
    if _is_clear(said, best, second):
        return Orientation(angle_deg=ANGLES[best])
    other = best if ANGLES[best] else second
    return Orientation(runner_up_deg=ANGLES[other] if said.log_odds[other] > 0 else None)


def _is_clear(said: Evidence, best: int, second: int) -> bool:
    log_odds, num_clear = said.log_odds[best], said.num_clear[best]
    lead = log_odds - max(0.0, said.log_odds[second])
    against = max(num for number, num in enumerate(said.num_clear) if number != best)
    least_lead, least_clear = _TO_TURN if ANGLES[best] else _TO_LEAVE
    if lead < least_lead or num_clear < least_clear or against > _AGAINST * num_clear:
        return False
    are_many = num_clear >= _MANY_CLEAR * said.num_pieces[best % 2] and not against
    return not ANGLES[best] or lead >= (_LACKS_IF_MANY if are_many else _LACKS) * log_odds
