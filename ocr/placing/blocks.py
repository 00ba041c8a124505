"""The blocks of a page that was read, each with the box around its text."""

import re
from dataclasses import replace

from encoders.types import VisionTokens
from encoders.views import PageViews
from ocr.placing.canvas import Canvas
from ocr.placing.place import place
from ocr.types import ParsedText

_ENOUGH = 0.35  # of a block's marks, for its place to be believed
_BETTER = 0.5  # and to be believed over the model's own
# Markdown that does not stand on the page: fences, rules and bars of tables, heading and list marks, HTML tags.
_NOTATION = re.compile(
    r"^```.*$|^\|?(?:\s*:?-{3,}:?\s*\|)+\s*$|^#{1,6}\s|^\||\|\s*$|(?<=\s)\|(?=\s)|\*\*|</?(?:table|thead|tbody|tr|td|th)>",
    re.MULTILINE,
)


def placed(
    parsed: ParsedText,
    tokens: VisionTokens,
    characters: str | None,
    views: PageViews,
    width_px: int,
    height_px: int,
) -> ParsedText:
    """The same text; blocks have the box around where the character head sees their text.

    Where it sees too little of a block, that keeps the box it had, if any; so do all for a model without a head,
    or with one whose classes have no names.
    """
    if tokens.cells_HW is None or characters is None:
        return parsed
    canvas = Canvas.of(views, width_px=width_px, height_px=height_px)
    texts = [_NOTATION.sub(" ", block.text) for block in parsed.blocks]
    places = place(texts, tokens.cells_HW.cpu().numpy(), characters, canvas)
    blocks = [
        replace(block, box_px=found.box_px)
        if found.share >= (_BETTER if block.box_px else _ENOUGH)
        else block
        for block, found in zip(parsed.blocks, places, strict=True)
    ]
    return replace(parsed, blocks=tuple(blocks))
