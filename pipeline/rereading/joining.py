"""Joins what a page's text layer holds and what was read beside it."""

from dataclasses import replace
from typing import TypeVar

from ocr.types import Block, Word
from pipeline.outcome.doubt import doubted
from pipeline.outcome.results import embedded_result
from pipeline.text_layer.rest import completed, is_unread
from pipeline.types import EmbeddedPage, PageResult

# From this share of the layer's text on, what was read beside it is not a few labels.
_MUCH = 0.2
_PICTURES_UNREAD = "its pictures seem to show words that were not read"

BoxPx = tuple[int, int, int, int]
Part = TypeVar("Part", Block, Word)


def with_rest(page: EmbeddedPage, rest: PageResult) -> PageResult:
    """Returns the result of a page from its layer, with what was read of the rest of it. rest: may have failed.

    It is in doubt for what casts doubt on the rest, where that is more than a few labels in pictures.
    """
    embedded = embedded_result(page)
    embedded = replace(embedded, timings=(*embedded.timings, *rest.timings))
    if rest.error is not None:
        return doubted(embedded, f"what its pictures show was not read: {rest.error.message}")
    read = _on_page(rest, page).parsed
    assert read is not None, "a transcript or an error, never both"
    result = replace(embedded, parsed=completed(page.layer, read))
    if is_unread(read):
        return doubted(result, _PICTURES_UNREAD)
    is_much = len(read.text) > _MUCH * len(page.layer.text)
    return doubted(result, rest.doubt) if rest.doubt and is_much else result


def _on_page(result: PageResult, page: EmbeddedPage) -> PageResult:
    """Returns a page's result with its boxes scaled to the page at another resolution."""
    if result.parsed is None or not result.width_px or not result.height_px:
        return result
    across, down = page.width_px / result.width_px, page.height_px / result.height_px

    def scaled(part: Part) -> Part:
        return replace(part, box_px=_scaled(part.box_px, across, down))

    blocks, words = tuple(map(scaled, result.parsed.blocks)), tuple(map(scaled, result.parsed.words))
    parsed = replace(result.parsed, blocks=blocks, words=words)
    return replace(result, parsed=parsed, width_px=page.width_px, height_px=page.height_px, dpi=page.dpi)


def _scaled(box_px: BoxPx | None, across: float, down: float) -> BoxPx | None:
    if box_px is None:
        return None
    x0, y0, x1, y1 = box_px
    return round(x0 * across), round(y0 * down), round(x1 * across), round(y1 * down)
