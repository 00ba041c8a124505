"""A text layer as a transcript: its text, markdown and blocks with boxes, in the layer's own order. Torch-free."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ocr.types import Block, ParsedText
from pipeline.stages.layer_glyphs import Span
from pipeline.stages.text_layer import as_text, between

# Type sizes, of the size that most of the page is set in.
_TITLE, _SUB_TITLE = 1.5, 1.15
_LONGEST_TITLE = 200
_MARKS = {"title": "# ", "sub_title": "## "}
_PARAGRAPH = "\n\n"


def as_parsed(spans: Sequence[Span], px_per_pt: float, size_px: tuple[int, int]) -> ParsedText:
    """Returns the layer's text in paragraphs. size_px: the page's width and height, which boxes do not leave.

    Blocks are "title" and "sub_title" by their type size, and "text"; how a table or a list is built is not known.
    """
    shown = [span for span in spans if span.line.text]
    body = _body_size(shown)
    blocks = [
        Block(label=_label(group, text, body), text=text, box_px=_box_px(group, px_per_pt, size_px))
        for group in _paragraphs(shown)
        if (text := as_text([span.line for span in group]))
    ]
    return ParsedText(
        text=_PARAGRAPH.join(block.text for block in blocks),
        markdown=_PARAGRAPH.join(map(_markdown, blocks)),
        blocks=tuple(blocks),
    )


def _paragraphs(spans: Sequence[Span]) -> Iterator[list[Span]]:
    group = list(spans[:1])
    for before, span in pairwise(spans):
        if between(before.line, span.line) == _PARAGRAPH:
            yield group
            group = []
        group.append(span)
    yield group


def _body_size(spans: Iterable[Span]) -> float:
    sizes: Counter[float] = Counter()
    for span in spans:
        sizes[round(span.line.size * 2) / 2] += len(span.glyphs)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _label(group: Sequence[Span], text: str, body: float) -> str:
    size = min(span.line.size for span in group)
    if len(text) > _LONGEST_TITLE or not body or not any(letter.isalpha() for letter in text):
        return "text"
    return "title" if size >= _TITLE * body else "sub_title" if size >= _SUB_TITLE * body else "text"


def _markdown(block: Block) -> str:
    mark = _MARKS.get(block.label)
    return block.text if mark is None else mark + " ".join(block.text.split())


def _box_px(group: Sequence[Span], scale: float, size_px: tuple[int, int]) -> tuple[int, int, int, int]:
    boxes = [span.box for span in group]
    width, height = size_px
    x0, y0 = (int(max(0.0, min(box[edge] for box in boxes) * scale)) for edge in (0, 1))
    x1, y1 = (round(max(box[edge] for box in boxes) * scale) for edge in (2, 3))
    return (
        min(x0, width),
        min(y0, height),
        max(min(x1, width), min(x0, width)),
        max(min(y1, height), min(y0, height)),
    )
