"""The blocks of a page that was read, each with the box around its text."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from encoders.views import PageViews
from ocr.layout.localize.matching.canvas import Canvas
from ocr.layout.localize.matching.text_boxes import place
from ocr.layout.localize.paragraphs.parting import is_plain, parted
from ocr.layout.localize.printed_text import as_drawn
from ocr.types import ParsedText

_ENOUGH = 0.35  # of a block's marks, for its place to be believed
_BETTER = 0.5  # and to be believed over the model's own


def placed(
    parsed: ParsedText,
    cells_HW: npt.NDArray[np.int16] | None,
    characters: str | None,
    views: PageViews,
    width_px: int,
    height_px: int,
) -> ParsedText:
    """Returns the same text; blocks have the box around where the character head sees their text.

    cells_HW: as encoders.types.VisionTokens has them, on the host; None for a model without a character head.
    Output without regions is first parted into blocks by where its lines stand, and what gets a box by them keeps
    it. Where the head sees too little of a block, that keeps the box it had, if any; so do all for a model without
    a head, or with one whose classes have no names.
    """
    if cells_HW is None or characters is None:
        return parsed
    canvas = Canvas.of(views, width_px=width_px, height_px=height_px)
    blocks, better, wanted = parsed.blocks, _BETTER, None
    if is_plain(blocks):
        blocks, better = parted(blocks, cells_HW, characters, canvas), math.inf
        wanted = [number for number, block in enumerate(blocks) if not block.box_px]
        if not wanted:
            return replace(parsed, blocks=blocks)
    places = place([as_drawn(block.text) for block in blocks], cells_HW, characters, canvas, wanted)
    found = [
        replace(block, box_px=spot.box_px) if spot.share >= (better if block.box_px else _ENOUGH) else block
        for block, spot in zip(blocks, places, strict=True)
    ]
    return replace(parsed, blocks=tuple(found))
