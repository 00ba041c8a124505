"""Parses a page's layout in JSON: a list of regions with box, kind and text.

    [{"bbox": [x0, y0, x1, y1], "category": "Section-header", "text": "..."}, ...]

Names differ between models: dots.ocr's are bbox, category and text, Qwen3-VL's bbox_2d, label and text_content. Nothing
says of what the coordinates are: up to 1000 they are taken for thousandths of the page, as Qwen3-VL's are; where one is
larger, all are pixels of the page; where one is outside the page, it is not known, and there are no boxes.
Source: rednote-hilab/dots.ocr, dots_ocr/utils/prompts.py; QwenLM/Qwen3-VL, the document parsing cookbook.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ocr.transcript.layouts.regions import Region, box_around, headed, label_of, page_text, unmarked
from ocr.transcript.untagged import parse_text, tidy
from ocr.types import ParsedText

_BOXES = ("bbox", "bbox_2d", "box", "box_2d", "block_bbox")
_KINDS = ("category", "label", "type", "block_label")
_TEXTS = ("text", "text_content", "content", "block_content")
_FENCE = re.compile(r"^[^\S\n]*+```(?:json)?[^\S\n]*+$\n?", re.MULTILINE)
_BEGINNING = re.compile(
    rf"\[\s*+(?=\{{)|\{{\s*+\"\w++\"\s*+:\s*+\[\s*+(?=\{{)|(?=\{{\s*+\"(?:{'|'.join((*_BOXES, *_KINDS))})\"\s*+:)"
)
_BETWEEN = re.compile(r"\s*+(?:,\s*+)?")
_END = re.compile(r"\s*+\]?+\s*+\}?+\s*+")
# A backslash before what JSON has no escape for, as in LaTeX.
_BACKSLASH = re.compile(r"\\(?:[\"\\/bfnrt]|u[0-9A-Fa-f]{4}|(?P<stray>))")
_CUT_TEXT = re.compile(rf"\"(?:{'|'.join(_TEXTS)})\"\s*+:\s*+\"")
_THOUSANDTHS = 1000
_MOST = 10**6
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """A region as written. values: None for text that is no region. span: in the output."""

    values: dict[str, Any] | None
    text: str
    span: tuple[int, int]


def parse(raw: str, *, width_px: int, height_px: int, page_number: int = 1) -> ParsedText:
    """Returns text, markdown and blocks of a page of width_px x height_px. Never raises.

    What is no region, or is broken, stays as text, but for the fences around JSON. Output without any region is taken
    as it stands.
    """
    items = list(_items(raw))
    if not any(item.values for item in items):
        return parse_text(raw)
    scale = _scale([_box(item.values) for item in items if item.values], width_px, height_px)
    regions = (_region(item, scale, width_px, height_px) for item in items)
    return page_text((region for region in regions if region is not None), page_number)


def _items(raw: str) -> Iterator[_Item]:
    """Yields the regions of the first list, and the text before and after them."""
    beginning = _BEGINNING.search(raw)
    at = beginning.end() if beginning else len(raw)
    yield _text_item(raw, 0, beginning.start() if beginning else at)
    escaped = _Escaped(raw)
    while raw.startswith("{", at):
        found = escaped.decoded(at)
        if found is None:
            yield _cut_off(raw, at)
            return
        values, end = found
        yield _Item(values=values, text=raw[at:end], span=(at, end))
        at = _past(_BETWEEN, raw, end)
    at = _past(_END, raw, at)
    yield _text_item(raw, at, len(raw))


class _Escaped:
    """JSON with its stray backslashes escaped, at the output's own positions."""

    def __init__(self, raw: str) -> None:
        self._stray = [match.start() for match in _BACKSLASH.finditer(raw) if match["stray"] is not None]
        self._text = _BACKSLASH.sub(lambda match: match[0] if match["stray"] is None else "\\\\", raw)
        self._moved = [place + count for count, place in enumerate(self._stray)]

    def decoded(self, at: int) -> tuple[dict[str, Any], int] | None:
        """Returns the object at a position and where it ends; None if it is broken."""
        values = _decoded(self._text, at + bisect_left(self._stray, at))
        return None if values is None else (values[0], values[1] - bisect_left(self._moved, values[1]))


def _decoded(text: str, at: int) -> tuple[dict[str, Any], int] | None:
    try:
        values, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):  # numbers of too many digits, lists in too many lists
        return None
    return (values, end) if isinstance(values, dict) else None


def _past(pattern: re.Pattern[str], raw: str, at: int) -> int:
    match = pattern.match(raw, at)
    return match.end() if match else at


def _text_item(raw: str, start: int, end: int) -> _Item:
    return _Item(values=None, text=_FENCE.sub("", raw[start:end]), span=(start, end))


def _cut_off(raw: str, at: int) -> _Item:
    """Returns the last region, which ends within its text; any other that is broken as text."""
    rest = raw[at:]
    begun = _CUT_TEXT.search(rest)
    if begun:
        others = _decoded(rest[: begun.start()].rstrip().removesuffix(",") + "}", 0)
        closed = "{" + begun[0] + rest[begun.end() :].rstrip("\\") + '"}'
        text = _Escaped(closed).decoded(0)
        if others and text and text[1] == len(closed):
            return _Item(values={**others[0], **text[0]}, text=rest, span=(at, len(raw)))
    return _Item(values=None, text=rest, span=(at, len(raw)))


def _region(item: _Item, scale: tuple[float, float] | None, width_px: int, height_px: int) -> Region | None:
    """Returns an item as a region, None where there is nothing in it."""
    values = item.values or {}
    box, text = _box(values), _text(values)
    if text is None or (box is None and not text):
        text = tidy(item.text)
        return Region(label="text", markdown=text, plain=text, raw_span=item.span) if text else None
    kind = next((values[name] for name in _KINDS if isinstance(values.get(name), str)), "text")
    label = label_of(kind)
    if not text and label is None:
        text = _whole(kind)
    label = label or "text"
    is_bare = label == "equation" and text and not text.startswith(("$", "\\[", "\\(", "\\begin"))
    shares = [number / scale[place % 2] for place, number in enumerate(box)] if box and scale else []
    return Region(
        label=label,
        markdown=f"$${text}$$" if is_bare else headed(label, text),
        plain=unmarked(label, text),
        box_px=box_around(shares, width_px, height_px),
        raw_span=item.span,
    )


def _text(values: Mapping[str, Any]) -> str | None:
    """Returns an item's text, "" where it has none; None where it is something else than text."""
    found = [values[name] for name in _TEXTS if values.get(name) is not None]
    return _whole("\n".join(found)) if all(isinstance(text, str) for text in found) else None


def _whole(text: str) -> str:
    """Returns text without halves of characters, which JSON can hold and a file cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()


def _box(values: Mapping[str, Any]) -> Sequence[float] | None:
    box: list[Any] = next((values[name] for name in _BOXES if isinstance(values.get(name), list)), [])
    fits = len(box) == 4 and all(type(number) in (int, float) and 0 <= number <= _MOST for number in box)
    return box if fits else None


def _scale(
    boxes: Sequence[Sequence[float] | None], width_px: int, height_px: int
) -> tuple[float, float] | None:
    """Returns what x and y are to be divided by, None where that is not known."""
    numbers = [box for box in boxes if box is not None]
    across = max((max(box[0], box[2]) for box in numbers), default=0)
    down = max((max(box[1], box[3]) for box in numbers), default=0)
    if max(across, down) <= _THOUSANDTHS:
        return _THOUSANDTHS, _THOUSANDTHS
    return (width_px, height_px) if across <= width_px and down <= height_px else None
