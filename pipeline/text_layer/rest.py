"""What a page shows besides its text layer: the picture of it that is to be read, and its place in the text.

Torch-free.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median_high

from ocr.types import Block, ParsedText, Word
from pipeline.types import Layer, RenderedPage

# What is read in a picture is kept from this confidence on, and where it is a word or a number.
_SURE = 0.8
_WORD = re.compile(r"[^\W\d_]{2}|\d")
_LETTERS = re.compile(r"[^\W\d_]{2}")

# Type in a picture may be large without being a heading of the page.
_HEADINGS = ("title", "sub_title")

BoxPx = tuple[int, int, int, int]
_Part = tuple[Block, tuple[Word, ...], str]


def without_layer(rendered: RenderedPage, layer: Layer, width_px: int) -> RenderedPage:
    """Returns a page for the line reader with the layer's words painted over. width_px: the page's, for their boxes."""
    assert rendered.grey is not None, "a page for the line reader"
    grey, colour = rendered.grey.copy(), None if rendered.colour is None else rendered.colour.copy()
    height, width = grey.shape
    scale = width / width_px
    for word in layer.words:
        if word.box_px is None:
            continue
        left, top, right, bottom = (round(edge * scale) for edge in word.box_px)
        x0, y0, x1, y1 = max(0, left - 1), max(0, top - 1), min(width, right + 1), min(height, bottom + 1)
        if x0 < x1 and y0 < y1:
            corners = (grey[y, x] for y in (y0, y1 - 1) for x in (x0, x1 - 1))
            grey[y0:y1, x0:x1] = median_high(corners)
            if colour is not None:
                colour[y0:y1, x0:x1] = 0
    return replace(rendered, grey=grey, colour=colour, text_layer=None)


def completed(layer: Layer, read: ParsedText) -> ParsedText:
    """Returns the layer's text with what was read beside it, block by block where it stands on the page.

    read: with boxes in the layer's pixels. Its blocks keep their confidence, which blocks of a layer have none of.
    """
    found: defaultdict[int, list[_Part]] = defaultdict(list)
    for block, words in _with_words(read):
        if _is_text(block):
            plain = replace(block, label="text" if block.label in _HEADINGS else block.label)
            found[_place(block, layer.blocks)].append((plain, words, block.text))
    parts: list[_Part] = []
    for number, (block, words) in enumerate(_with_words(layer)):
        parts += [*found[number], (block, words, layer.parts[number])]
    parts += found[len(layer.blocks)]
    return ParsedText.of(parts)


def is_unread(read: ParsedText) -> bool:
    """Returns whether words seem to be there, and none of what was read is sure enough to be kept."""
    return bool(_LETTERS.search(read.text)) and not any(map(_is_text, read.blocks))


def _with_words(text: Layer | ParsedText) -> Iterator[tuple[Block, tuple[Word, ...]]]:
    """Yields each block with its words, which are those of text.split()."""
    start = 0
    for block in text.blocks:
        end = start + len(block.text.split())
        yield block, text.words[start:end]
        start = end


def _is_text(block: Block) -> bool:
    is_sure = block.confidence is not None and block.confidence >= _SURE
    return is_sure and block.box_px is not None and _WORD.search(block.text) is not None


def _place(block: Block, others: Sequence[Block]) -> int:
    """Returns the number of the layer's block before which a block belongs: next to those above and below it.

    Where what is above or below it in its column is further away, blocks beside the column that stand between count.
    """
    assert block.box_px is not None, "only what has a place is kept"
    x0, top, x1, foot = block.box_px
    placed = [(number, other.box_px) for number, other in enumerate(others) if other.box_px is not None]
    beside = [(number, box) for number, box in placed if box[0] < x1 and x0 < box[2]] or placed
    above = [(box[3], number) for number, box in beside if box[1] + box[3] <= top + foot]
    if above:
        end, last = max(above)
        return max((n for n, box in placed if end <= box[1] and box[3] <= top), default=last) + 1
    begin, first = min(((box[1], number) for number, box in beside), default=(0, 0))
    return min((n for n, box in placed if foot <= box[1] and box[3] <= begin), default=first)
