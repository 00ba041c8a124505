"""Pages that are read in parts: what the model gets of them, and the parts' results as the page's one."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ocr.types import Block, ParsedText
from pipeline.outcome.doubt import NONE_READ, unread
from pipeline.outcome.results import failed_result, render_timings
from pipeline.timing import least_favourable
from pipeline.types import (
    DividedPage,
    PagePart,
    PageResult,
    PageStatus,
    ReadablePage,
    RenderedPage,
    StageTiming,
)

# Worst first. A part that failed leaves a text that lacks something, as one that was cut short does.
# One of which nothing was read, among others that were, may be a drawing: alone it does not make the page doubtful.
_WORST: tuple[PageStatus, ...] = ("truncated", "repeated", "ok", "doubtful", "blank")
_IMAGE = re.compile(r"!\[\]\(images/(\d+)_(\d+)\.jpg\)")

BoxPx = tuple[int, int, int, int]


def readings(page: ReadablePage) -> Sequence[RenderedPage]:
    """Returns what is read of a page: itself, or its parts in reading order."""
    return [page] if isinstance(page, RenderedPage) else [part.rendered for part in page.parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What was read of a part of a page, its blocks where they lie on the page."""

    result: PageResult
    paragraph_break: bool


def join(page: ReadablePage, results: Sequence[PageResult]) -> PageResult:
    """Returns the page's result, given one for each of its readings. A part that failed is left out."""
    if isinstance(page, RenderedPage):
        assert len(results) == 1, "a page that is read whole has one result"
        return results[0]
    return join_pieces(page, pieces(page, results), (*render_timings(page), *summed(results)))


def pieces(page: DividedPage, results: Sequence[PageResult]) -> list[Piece]:
    """Returns each part's result with its blocks where they lie on the page."""
    return [
        Piece(result=_placed_on(page, part, result), paragraph_break=part.paragraph_break)
        for part, result in zip(page.parts, results, strict=True)
    ]


def join_pieces(page: DividedPage, read: Sequence[Piece], timings: tuple[StageTiming, ...]) -> PageResult:
    """Returns the result of a page whose parts these are, in reading order. One that failed is left out."""
    results = [piece.result for piece in read]
    texts = [(piece, piece.result.parsed) for piece in read if piece.result.parsed is not None]
    if not texts:
        error = results[0].error
        assert error is not None, "a part without a text has failed"
        return failed_result(page.page, error, timings)
    text = markdown = ""
    blocks: list[Block] = []
    for piece, parsed in texts:
        separator = "\n\n" if piece.paragraph_break else "\n"
        text += (separator if text and parsed.text else "") + parsed.text
        numbered = _numbered(parsed.markdown, sum(block.label == "image" for block in blocks))
        markdown += (separator if markdown and numbered else "") + numbered
        blocks += parsed.blocks
    status = _status(results)
    return PageResult(
        page=page.page,
        status=status,
        parsed=ParsedText(text=text, markdown=markdown, blocks=tuple(blocks)),
        error=None,
        confidence=_confidence([piece.result for piece, _ in texts]),
        num_tokens=sum(result.num_tokens for result in results),
        width_px=page.width_px,
        height_px=page.height_px,
        dpi=page.dpi,
        rotation_deg=page.rotation_deg,
        script=_script(results),
        doubt=NONE_READ if status == "doubtful" else None,
        timings=timings,
    )


def on_page(result: PageResult, page: DividedPage) -> PageResult:
    """Returns the result of a page with its boxes as they are on the page at another resolution."""
    if result.parsed is None or not result.width_px or not result.height_px:
        return result
    across, down = page.width_px / result.width_px, page.height_px / result.height_px
    blocks = tuple(
        replace(block, box_px=_scaled(block.box_px, across, down)) for block in result.parsed.blocks
    )
    parsed = replace(result.parsed, blocks=blocks)
    return replace(result, parsed=parsed, width_px=page.width_px, height_px=page.height_px, dpi=page.dpi)


def _scaled(box_px: BoxPx | None, across: float, down: float) -> BoxPx | None:
    if box_px is None:
        return None
    x0, y0, x1, y1 = box_px
    return round(x0 * across), round(y0 * down), round(x1 * across), round(y1 * down)


def _placed_on(page: DividedPage, part: PagePart, result: PageResult) -> PageResult:
    if result.parsed is None:
        return result
    blocks = tuple(_placed(block, page, part) for block in result.parsed.blocks)
    return replace(result, parsed=replace(result.parsed, blocks=blocks))


def _status(results: Sequence[PageResult]) -> PageStatus:
    found = {"truncated" if result.status == "failed" else unread(result).status for result in results}
    return next(status for status in _WORST if status in found)


def _script(results: Sequence[PageResult]) -> str | None:
    """The flag of the parts that are the larger share of what was written."""
    flagged = [result for result in results if result.script is not None]
    written = sum(result.num_tokens for result in flagged)
    return (
        flagged[0].script if flagged and 2 * written > sum(result.num_tokens for result in results) else None
    )


def _confidence(results: Sequence[PageResult]) -> float | None:
    """The mean over characters; parts without a confidence have no characters to count."""
    rated = [
        (len(result.parsed.text), result.confidence)
        for result in results
        if result.parsed is not None and result.confidence is not None
    ]
    total = sum(count for count, _ in rated)
    if not total:
        return rated[0][1] if rated else None
    return sum(count * confidence for count, confidence in rated) / total


def _placed(block: Block, page: DividedPage, part: PagePart) -> Block:
    """The block with its box on the page. Its place in the raw text was in the part's."""
    if block.box_px is None:
        return replace(block, raw_span=None)
    dx, dy = part.origin_px
    x0, y0, x1, y1 = block.box_px
    return replace(block, box_px=_upright((x0 + dx, y0 + dy, x1 + dx, y1 + dy), page), raw_span=None)


def _upright(box_px: BoxPx, page: DividedPage) -> BoxPx | None:
    """The box on the page as it came: around the corners, where the page was turned. None if it is off the page."""
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
    """The markdown with its images numbered from `first`, as they count on over the page."""
    return _IMAGE.sub(lambda match: f"![](images/{match[1]}_{int(match[2]) + first}.jpg)", markdown)


def summed(results: Sequence[PageResult]) -> list[StageTiming]:
    """One timing a stage: the parts' shares added up, and the batches that they were in, each once."""
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
