"""Joins what a page's text layer holds and what was read beside it."""

from dataclasses import replace

from ocr.types import BoxPx
from pipeline.outcome.doubt import doubted
from pipeline.outcome.results import embedded_result
from pipeline.text_layer.rest import completed, is_unread
from pipeline.types import EmbeddedPage, PageResult

# From this share of the layer's text on, what was read beside it is not a few labels.
_MUCH = 0.2
_PICTURES_UNREAD = "its pictures seem to show words that were not read"


def with_rest(page: EmbeddedPage, rest: PageResult) -> PageResult:
    """Returns the result of a page from its layer, with what was read of the rest of it. rest: may have failed.

    It is in doubt for what casts doubt on the rest, where that is more than a few labels in pictures.
    """
    embedded = embedded_result(page)
    embedded = replace(embedded, timings=(*embedded.timings, *rest.timings))
    if rest.error is not None:
        return doubted(embedded, f"what its pictures show was not read: {rest.error.message}")
    read = rest.parsed
    assert read is not None, "a transcript or an error, never both"
    if rest.width_px and rest.height_px:  # which may be of another resolution
        across, down = page.width_px / rest.width_px, page.height_px / rest.height_px

        def scaled(box: BoxPx) -> BoxPx:
            x0, y0, x1, y1 = box
            return round(x0 * across), round(y0 * down), round(x1 * across), round(y1 * down)

        read = read.with_boxes(scaled)
    result = replace(embedded, parsed=completed(page.layer, read))
    if is_unread(read):
        return doubted(result, _PICTURES_UNREAD)
    is_much = len(read.text) > _MUCH * len(page.layer.text)
    return doubted(result, rest.doubt) if rest.doubt and is_much else result
