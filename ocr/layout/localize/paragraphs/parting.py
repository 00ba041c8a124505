"""Splits and joins the blocks of plain output by the places of their lines.

The model leaves a blank line where there is a larger gap. So a table's rows are separated, and paragraphs without a
gap are one block; the place of each line tells more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import ASCENT, DESCENT
from ocr.layout.localize.matching.canvas import Canvas
from ocr.layout.localize.paragraphs.flow import Flow
from ocr.layout.localize.paragraphs.table_rows import find_tables
from ocr.layout.localize.paragraphs.text_lines import Line, find_lines
from ocr.types import Block

_ENOUGH = 0.5  # the least share of a block's characters on lines with a place for the block to get their box


def is_plain(blocks: Sequence[Block]) -> bool:
    """Returns whether a page's blocks come from output without regions, and occur in it word for word."""
    return all(
        block.label == "text"
        and block.box_px is None
        and (block.raw_span is None or block.raw_span[1] - block.raw_span[0] == len(block.text))
        for block in blocks
    )


def parted(
    blocks: Sequence[Block], cells_HW: npt.NDArray[np.int16], characters: str, canvas: Canvas
) -> tuple[Block, ...]:
    """Returns the same text in the same order, split into blocks by its places on the page. blocks: plain ones.

    Tables and lists get their labels; blocks most of whose lines were found get their boxes.
    cells_HW, characters: see ocr.layout.localize.matching.text_boxes.place.
    """
    lines = find_lines(blocks, cells_HW, characters, canvas)
    return tuple(
        replace(_block(blocks, lines[start:end]), label=label, box_px=_around(lines[start:end], canvas))
        for start, end, label in ranges(lines)
    )


def ranges(lines: Sequence[Line]) -> Iterator[tuple[int, int, str]]:
    """Yields the blocks that lines make up, in their order, as ranges [start, end) with a label."""
    at = 0
    for start, end in find_tables(lines):
        yield from Flow(lines, at, start).ranges()
        yield start, end, "table"
        at = end
    yield from Flow(lines, at, len(lines)).ranges()


def _block(blocks: Sequence[Block], lines: Sequence[Line]) -> Block:
    """Returns a block of these lines: a part of one block, or of several with blank lines between them."""
    first, last = lines[0], lines[-1]
    texts = [block.text for block in blocks[first.block : last.block + 1]]
    texts[-1] = texts[-1][: last.end]
    texts[0] = texts[0][first.start :]
    start, end = blocks[first.block].raw_span, blocks[last.block].raw_span
    span = (start[0] + first.start, end[0] + last.end) if start and end else None
    return replace(blocks[first.block], text="\n\n".join(texts), raw_span=span)


def _around(lines: Sequence[Line], canvas: Canvas) -> tuple[int, int, int, int] | None:
    placed = [line for line in lines if line.spans]
    if sum(len(line.text) for line in placed) < _ENOUGH * sum(len(line.text) for line in lines):
        return None
    return canvas.inside(
        (
            min(line.x0 for line in placed),
            min(line.base - ASCENT * line.size for line in placed),
            max(line.x1 for line in placed),
            max(line.base + DESCENT * line.size for line in placed),
        )
    )
