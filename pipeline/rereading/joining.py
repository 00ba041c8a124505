"""Joins pages that are read in crops: lists the readings of a page, and makes one result of their results."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ocr.types import Block, ParsedText, Word
from pipeline.outcome.doubt import NONE_READ, doubted, unread
from pipeline.outcome.results import embedded_result, failed_result, render_timings
from pipeline.text_layer.rest import completed
from pipeline.timing import least_favourable
from pipeline.types import (
    DividedPage,
    EmbeddedPage,
    PageCrop,
    PageResult,
    PageStatus,
    ReadablePage,
    RenderedPage,
)
from storage.types import StageTiming

# Worst first. A crop that failed leaves the text incomplete, like one that was cut short. A single crop without text
# may be a drawing: it does not make the page doubtful as long as text was read in others.
_WORST: tuple[PageStatus, ...] = ("truncated", "repeated", "ok", "doubtful", "blank")
# From this share of the layer's text on, what was read beside it is not a few labels.
_MUCH = 0.2
_IMAGE = re.compile(r"!\[\]\(images/(\d+)_(\d+)\.jpg\)")

BoxPx = tuple[int, int, int, int]
Part = TypeVar("Part", Block, Word)


def readings(page: ReadablePage) -> Sequence[RenderedPage]:
    """Returns the images to read for a page: the page itself, or its crops in reading order."""
    return [page] if isinstance(page, RenderedPage) else [crop.rendered for crop in page.crops]


def with_rest(page: EmbeddedPage, rest: PageResult) -> PageResult:
    """Returns the result of a page from its layer, with what was read of the rest of it. rest: may have failed.

    It is in doubt for what casts doubt on the rest, where that is more than a few labels in pictures.
    """
    embedded = embedded_result(page)
    embedded = replace(embedded, timings=(*embedded.timings, *rest.timings))
    if rest.error is not None:
        return doubted(embedded, f"what its pictures show was not read: {rest.error.message}")
    read = on_page(rest, page).parsed
    assert read is not None, "a transcript or an error, never both"
    result = replace(embedded, parsed=completed(page.layer, read))
    is_much = len(read.text) > _MUCH * len(page.layer.text)
    return doubted(result, rest.doubt) if rest.doubt and is_much else result


@dataclass(frozen=True, slots=True, kw_only=True)
class CropResult:
    """The result of reading one crop of a page, with its blocks in the page's coordinates."""

    result: PageResult
    paragraph_break: bool


def join(page: ReadablePage, results: Sequence[PageResult]) -> PageResult:
    """Returns the page's result, given one result for each of its readings. A crop that failed is left out."""
    if isinstance(page, RenderedPage):
        assert len(results) == 1, "a page that is read whole has one result"
        return results[0]
    return join_crops(page, crop_results(page, results), (*render_timings(page), *summed(results)))


def crop_results(page: DividedPage, results: Sequence[PageResult]) -> list[CropResult]:
    """Returns each crop's result with its blocks in the page's coordinates."""
    return [
        CropResult(result=_placed_on(page, crop, result), paragraph_break=crop.paragraph_break)
        for crop, result in zip(page.crops, results, strict=True)
    ]


def join_crops(page: DividedPage, read: Sequence[CropResult], timings: tuple[StageTiming, ...]) -> PageResult:
    """Returns the result of a page from its crops' results, in reading order. A crop that failed is left out."""
    results = [crop.result for crop in read]
    texts = [(crop, crop.result.parsed) for crop in read if crop.result.parsed is not None]
    if not texts:
        error = results[0].error
        assert error is not None, "a crop without a text has failed"
        return failed_result(page.page, error, timings)
    text = markdown = ""
    blocks: list[Block] = []
    words: list[Word] = []
    for crop, parsed in texts:
        separator = "\n\n" if crop.paragraph_break else "\n"
        text += (separator if text and parsed.text else "") + parsed.text
        numbered = _numbered(parsed.markdown, sum(block.label == "image" for block in blocks))
        markdown += (separator if markdown and numbered else "") + numbered
        blocks += parsed.blocks
        words += parsed.words or map(_nowhere, parsed.text.split())
    status = _status(results)
    return PageResult(
        page=page.page,
        status=status,
        parsed=ParsedText(text=text, markdown=markdown, blocks=tuple(blocks), words=tuple(words)),
        error=None,
        confidence=_confidence([crop.result for crop, _ in texts]),
        num_tokens=sum(result.num_tokens for result in results),
        width_px=page.width_px,
        height_px=page.height_px,
        dpi=page.dpi,
        rotation_deg=page.rotation_deg,
        script=_script(results),
        doubt=NONE_READ if status == "doubtful" else None,
        timings=timings,
    )


def on_page(result: PageResult, page: DividedPage | EmbeddedPage) -> PageResult:
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


def _placed_on(page: DividedPage, crop: PageCrop, result: PageResult) -> PageResult:
    if result.parsed is None:
        return result
    # A span in the crop's raw text is none in the page's.
    blocks = tuple(replace(_placed(block, page, crop), raw_span=None) for block in result.parsed.blocks)
    words = tuple(_placed(word, page, crop) for word in result.parsed.words)
    return replace(result, parsed=replace(result.parsed, blocks=blocks, words=words))


def _nowhere(text: str) -> Word:
    return Word(text=text)


def _status(results: Sequence[PageResult]) -> PageStatus:
    found = {"truncated" if result.status == "failed" else unread(result).status for result in results}
    return next(status for status in _WORST if status in found)


def _script(results: Sequence[PageResult]) -> str | None:
    """Returns the script flag if the flagged crops wrote most of the tokens, else None."""
    flagged = [result for result in results if result.script is not None]
    written = sum(result.num_tokens for result in flagged)
    return (
        flagged[0].script if flagged and 2 * written > sum(result.num_tokens for result in results) else None
    )


def _confidence(results: Sequence[PageResult]) -> float | None:
    """Returns the mean confidence over characters; crops without a confidence have no characters to count."""
    rated = [
        (len(result.parsed.text), result.confidence)
        for result in results
        if result.parsed is not None and result.confidence is not None
    ]
    total = sum(count for count, _ in rated)
    if not total:
        return rated[0][1] if rated else None
    return sum(count * confidence for count, confidence in rated) / total


def _placed(part: Part, page: DividedPage, crop: PageCrop) -> Part:
    """Returns the block or word with its box on the page."""
    if part.box_px is None:
        return part
    dx, dy = crop.origin_px
    x0, y0, x1, y1 = part.box_px
    return replace(part, box_px=_upright((x0 + dx, y0 + dy, x1 + dx, y1 + dy), page))


def _upright(box_px: BoxPx, page: DividedPage) -> BoxPx | None:
    """Returns the box on the page before deskewing: the bounds of its rotated corners. None if it is off the page."""
    x0, y0, x1, y1 = box_px
    if page.angle_deg:
        sine, cosine = math.sin(math.radians(page.angle_deg)), math.cos(math.radians(page.angle_deg))
        middle_x, middle_y = page.width_px / 2, page.height_px / 2
        corners = [(x - middle_x, y - middle_y) for x in (x0, x1) for y in (y0, y1)]
        xs = [middle_x + x * cosine - y * sine for x, y in corners]
        ys = [middle_y + x * sine + y * cosine for x, y in corners]
        x0, y0, x1, y1 = math.floor(min(xs)), math.floor(min(ys)), math.ceil(max(xs)), math.ceil(max(ys))
    clipped = max(0, x0), max(0, y0), min(page.width_px, x1), min(page.height_px, y1)
    return clipped if clipped[0] < clipped[2] and clipped[1] < clipped[3] else None


def _numbered(markdown: str, first: int) -> str:
    """Returns the markdown with its images numbered from `first`, so that numbers are unique on the page."""
    return _IMAGE.sub(lambda match: f"![](images/{match[1]}_{int(match[2]) + first}.jpg)", markdown)


def summed(results: Sequence[PageResult]) -> list[StageTiming]:
    """Returns one timing per stage: the crops' shares added up, and the wall times of their batches, each once."""
    by_stage: dict[str, list[StageTiming]] = {}
    for result in results:
        for timing in result.timings:
            by_stage.setdefault(timing.stage, []).append(timing)
    return [
        StageTiming(
            stage=stage,
            share_s=sum(timing.share_s for timing in timings),
            wall_s=sum({timing.wall_s for timing in timings}),
            batch_size=max(timing.batch_size for timing in timings),
            path_use=least_favourable(timing.path_use for timing in timings),
        )
        for stage, timings in by_stage.items()
    ]
