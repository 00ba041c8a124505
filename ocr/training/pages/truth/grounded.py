"""Says what a composed page's blocks are: as markdown, each with its kind and box.

Every drawn character of the markdown is matched to the page's glyphs, so boxes and text agree by construction.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pymupdf

from ocr.training.pages.matter.html_blocks import Block, Flow
from ocr.training.pages.truth.markdown import BULLET, NOTATION, markdown
from ocr.training.pages.truth.page_truth import Glyphs, Sheet, UnreadableError, transform

_EDGE_PT = 2.0  # how far a glyph may stick out of the frame it belongs to
_ABOVE, _BELOW = 0.12, 0.26  # room for ascenders and descenders around a glyph's band, in heights of the band


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One block, or the part of it in one column. box_pt: x0, y0, x1, y1 in points.

    glyph: [N] for each character of the text the glyph that shows it, -1 for notation.
    """

    kind: str
    box_pt: tuple[float, float, float, float]
    text: str
    glyph: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A block's characters on the page. frame: [N] index of the frame of each glyph, -1 for notation.

    hyphens: the glyph of a hyphen that exists only at a line's end, by the character that follows.
    """

    text: str
    glyph: npt.NDArray[np.int64]
    frame: npt.NDArray[np.int64]
    hyphens: dict[int, int]


def regions(sheet: Sheet, glyphs: Glyphs) -> list[Region]:
    """Returns the blocks of a composed sheet in reading order, as far as they are drawn.

    Raises UnreadableError if the text layer differs from what was written.
    """
    marks = np.flatnonzero(~np.isnan(glyphs.box_pt[:, 0]))
    found: list[Region] = []
    at = 0
    for flow in sheet.flows:
        frames = _frames(flow, glyphs.box_pt[marks])
        for block in flow.blocks:
            matched, at, ended = _match(block, glyphs.text, marks, frames, at)
            found += _cut(block, flow, matched, glyphs)
            if ended:
                break
    if at < len(marks):
        raise UnreadableError("the page holds more text than was written")
    return found


def to_thousandths(
    found: list[Region], matrix: pymupdf.Matrix, origin: tuple[float, float], size: tuple[float, float]
) -> list[tuple[int, ...]]:
    """Returns the regions' boxes on the page as seen, from 0 to 999."""
    box_pt = np.asarray([region.box_pt for region in found], np.float32).reshape(-1, 4)
    box_px = transform(Glyphs(text="", box_pt=box_pt), matrix)
    share = (box_px - np.tile(origin, 2)) / np.tile(size, 2)
    return [tuple(map(int, box)) for box in np.rint(share * 999).clip(0, 999)]


def _nothing(length: int) -> npt.NDArray[np.int64]:
    return np.full(length, -1, np.int64)


def _frames(flow: Flow, box_pt: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Returns [M]: the frame that holds the middle of each glyph, -1 outside all of them."""
    x, y = (box_pt[:, 0] + box_pt[:, 2]) / 2, (box_pt[:, 1] + box_pt[:, 3]) / 2
    frame = _nothing(len(box_pt))
    for number, (x0, y0, x1, y1) in reversed(list(enumerate(flow.frames))):
        inside = (x > x0 - _EDGE_PT) & (x < x1 + _EDGE_PT) & (y > y0 - _EDGE_PT) & (y < y1 + _EDGE_PT)
        frame[inside] = number
    return frame


def _match(
    block: Block, text: str, marks: npt.NDArray[np.int64], frames: npt.NDArray[np.int64], at: int
) -> tuple[_Found, int, bool]:
    """Matches a block's markdown to the page's glyphs from index `at` on.

    Returns the match, the index of the next glyph, and whether the flow ended within the block.
    """
    made = markdown(block)
    glyph, frame = _nothing(len(made.text)), _nothing(len(made.text))
    hyphens: dict[int, int] = {}
    for i, (wanted, role) in enumerate(zip(made.text, made.roles, strict=True)):
        if role == NOTATION:
            continue
        if at >= len(marks) or frames[at] < 0:
            return _ended(made.text, glyph, frame, hyphens, i), at, True
        mark = int(marks[at])
        if text[mark] != wanted and role != BULLET:
            follows = int(marks[at + 1]) if at + 1 < len(marks) else mark
            if text[mark] != "-" or text[mark + 1 : mark + 2] != "\n":
                raise UnreadableError(f"{text[mark]!r} stands where {wanted!r} was written")
            if frames[at + 1 if follows != mark else at] < 0 or text[follows] != wanted:
                # The hyphen is the last thing drawn of this flow.
                hyphens[i] = mark
                return _ended(made.text, glyph, frame, hyphens, i), at + 1, True
            hyphens[i] = mark
            at, mark = at + 1, follows
        glyph[i], frame[i] = mark, frames[at]
        at += 1
    return _Found(text=made.text, glyph=glyph, frame=frame, hyphens=hyphens), at, False


def _ended(
    text: str, glyph: npt.NDArray[np.int64], frame: npt.NDArray[np.int64], hyphens: dict[int, int], at: int
) -> _Found:
    """Returns the drawn part of a block before character `at`, without the notation of a line that has not begun."""
    end = at
    while end and glyph[end - 1] < 0 and text[end - 1] != "\n":
        end -= 1
    end = end if end == 0 or text[end - 1] == "\n" else at
    moved = {end if i == at else i: mark for i, mark in hyphens.items()}
    return _Found(text=text[:end], glyph=glyph[:end], frame=frame[:end], hyphens=moved)


def _cut(block: Block, flow: Flow, found: _Found, glyphs: Glyphs) -> Iterator[Region]:
    """Yields the block's parts, one for each frame it is in."""
    if block.kind == "image":
        for (name, _), rectangle in flow.rectangles.items():
            if name == block.element:
                yield Region(kind="image", box_pt=rectangle, text="", glyph=_nothing(0))
        return
    drawn = np.flatnonzero(found.glyph >= 0)
    if not len(drawn):
        return
    turns = [int(i) for i in drawn[1:][np.diff(found.frame[drawn]) != 0]]
    starts = [0, *(_line_start(found, i) for i in turns)]
    for start, end, turn in zip(
        starts, [*starts[1:], len(found.text)], [*turns, len(found.text)], strict=True
    ):
        text, glyph = found.text[start:end], found.glyph[start:end]
        if turn in found.hyphens:
            text, glyph = text + "-", np.append(glyph, found.hyphens[turn])
        shown = glyph[glyph >= 0]
        frame = int(found.frame[start:end].max())
        box = flow.rectangles.get((block.element or "", frame)) or _around(glyphs.box_pt[shown])
        text, glyph = _trimmed(text, glyph, code=block.kind == "code")
        yield Region(kind=block.kind, box_pt=box, text=text, glyph=glyph)


def _line_start(found: _Found, at: int) -> int:
    """Returns where the notation before a drawn character begins, on the same line."""
    while at and found.glyph[at - 1] < 0 and found.text[at - 1] != "\n":
        at -= 1
    return at


def _around(box_pt: npt.NDArray[np.float32]) -> tuple[float, float, float, float]:
    height = box_pt[:, 3] - box_pt[:, 1]
    top, bottom = box_pt[:, 1] - _ABOVE * height, box_pt[:, 3] + _BELOW * height
    return float(box_pt[:, 0].min()), float(top.min()), float(box_pt[:, 2].max()), float(bottom.max())


def _trimmed(text: str, glyph: npt.NDArray[np.int64], *, code: bool) -> tuple[str, npt.NDArray[np.int64]]:
    """Returns the text without white space around it; between fences if it is code."""
    left = len(text) - len(text.lstrip("\n" if code else "\n "))
    right = len(text.rstrip())
    text, glyph = text[left:right], glyph[left:right]
    if not code:
        return text, glyph
    return f"```\n{text}\n```", np.concatenate([_nothing(4), glyph, _nothing(4)])
