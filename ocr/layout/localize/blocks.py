"""Gives each block of a page that was read the box around its text."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from encoders.views import PageViews
from ocr.layout.localize.matching.canvas import Canvas
from ocr.layout.localize.matching.letter_boxes import letters_on
from ocr.layout.localize.matching.text_boxes import place
from ocr.layout.localize.paragraphs.parting import is_plain, parted
from ocr.layout.localize.printed_text import as_drawn
from ocr.transcript.word_places import on_page, words_among
from ocr.types import Block, ParsedText, Word

_ENOUGH = 0.35  # the least share of a block's marks for its place to be trusted
_BETTER = 0.5  # and for it to be trusted over the model's own box


def placed(
    parsed: ParsedText,
    cells_HW: npt.NDArray[np.int16] | None,
    characters: str | None,
    views: PageViews,
    width_px: int,
    height_px: int,
) -> ParsedText:
    """Returns the same text with blocks boxed where the character head sees their text.

    cells_HW: those of encoders.types.VisionTokens, on the host; None for a model without a character head.
    Output without regions is first split into blocks by the places of its lines, and a block that gets a box from
    them keeps it. Where the head sees too little of a block, the block keeps the box it had, if any; so do all
    blocks for a model without a head, or with one whose classes have no names. Words have
    boxes where the head sees their letters.
    """
    if cells_HW is None or characters is None:
        return parsed
    canvas = Canvas.of(views, width_px=width_px, height_px=height_px)
    blocks, better, wanted = parsed.blocks, _BETTER, None
    if is_plain(blocks):
        blocks, better = parted(blocks, cells_HW, characters, canvas), math.inf
        wanted = [number for number, block in enumerate(blocks) if not block.box_px]
        if not wanted:
            return replace(
                parsed, blocks=blocks, words=_words(parsed.text, blocks, cells_HW, characters, canvas)
            )
    places = place([as_drawn(block.text) for block in blocks], cells_HW, characters, canvas, wanted)
    found = [
        replace(block, box_px=spot.box_px) if spot.share >= (better if block.box_px else _ENOUGH) else block
        for block, spot in zip(blocks, places, strict=True)
    ]
    words = _words(parsed.text, found, cells_HW, characters, canvas)
    return replace(parsed, blocks=tuple(found), words=words)


def _words(
    text: str, blocks: Sequence[Block], cells_HW: npt.NDArray[np.int16], characters: str, canvas: Canvas
) -> tuple[Word, ...]:
    """Returns the text's words with their boxes; () where none has one."""
    letters = letters_on([as_drawn(block.text) for block in blocks], cells_HW, characters, canvas)
    if not letters:
        return ()
    return on_page(words_among(text, letters), 1, canvas.width_px, canvas.height_px)
