"""What was read with doubt is read once more, otherwise cut, and the better of both readings is kept.

A reader that loses its line among many that look alike rarely does so again where only a few of them stand on
what it sees: so a doubtful page is cut into small parts, and of a page in parts each doubtful part. Where that does
not help either, the cuts may be to blame, and a page in parts is read whole. All that costs further readings, so
only what the confidence says went wrong gets one.

Better is a reading to its end, then the higher confidence. But where a text was read, a second reading that finds none
does not take its place, however it ended; and where print was seen and none read, it does not become blank.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from string import whitespace

from ocr.types import ParsedText
from pipeline.rereading.joining import Piece, join, join_pieces, on_page, pieces, readings, summed
from pipeline.types import DividedPage, Page, PageError, PageResult, ReadablePage, ReadyPage, RenderedPage

_ENDED_WELL = ("ok", "blank")
_SCRAP = 2
Render = Callable[[Page], Future[ReadyPage | PageError]]


class SecondLook:
    """render_fine: cuts a page, or its parts, into small parts; render_whole: does not cut it.

    read: gives a result for each part. below: the confidence under which a reading is
    doubtful, as is one that did not come to its end; 0: none ever is.
    """

    def __init__(
        self,
        *,
        render_fine: Render,
        render_whole: Render,
        read: Callable[[Sequence[RenderedPage]], Awaitable[list[PageResult]]],
        below: float,
    ) -> None:
        self._render_fine, self._render_whole = render_fine, render_whole
        self._read, self._below = read, below

    async def __call__(self, page: ReadablePage, results: Sequence[PageResult]) -> PageResult:
        """Returns the page's best result, with the time that all readings took. results: of its readings.

        A page of pictures on which no more than a doubtful scrap of text was seen has no text.
        """
        best = await self._best(page, results)
        return without_scrap(best) if self._is_doubtful(best) and not page.shows_print else best

    def wants(self, results: Sequence[PageResult]) -> bool:
        """Whether it would read any of it again."""
        return any(map(self._is_doubtful, results))

    async def _best(self, page: ReadablePage, results: Sequence[PageResult]) -> PageResult:
        first = join(page, results)
        if not self.wants(results):
            return first
        best = await self._in_small_parts(page, results, first)
        if isinstance(page, RenderedPage) or not self._is_doubtful(best):
            return best
        whole = await self._rendered(self._render_whole, page)
        return self._better(best, await self._read_page(whole)) if isinstance(whole, RenderedPage) else best

    async def _in_small_parts(
        self, page: ReadablePage, results: Sequence[PageResult], first: PageResult
    ) -> PageResult:
        fine = await self._rendered(self._render_fine, page)
        if not isinstance(fine, DividedPage):  # no clear white space to cut along, or the file is gone
            return first
        if isinstance(page, RenderedPage) or any(part.within is None for part in fine.parts):
            return self._better(first, await self._read_page(fine))
        return await self._with_pieces(page, results, first, fine)

    async def _read_page(self, page: ReadablePage) -> PageResult:
        return join(page, await self._read(readings(page)))

    async def _with_pieces(
        self, page: DividedPage, results: Sequence[PageResult], first: PageResult, fine: DividedPage
    ) -> PageResult:
        """The page with pieces in place of those doubtful parts that are read better so."""
        kept: list[Piece] = []
        spent = [first]
        for number, piece in enumerate(pieces(page, results)):
            group = tuple(part for part in fine.parts if part.within == number)
            if len(group) > 1 and self._is_doubtful(piece.result):
                region = replace(fine, parts=group, seconds=fine.seconds if len(spent) == 1 else {})
                second = await self._read_page(region)
                spent.append(second)
                piece = replace(piece, result=self._kept(piece.result, on_page(second, page)))
            kept.append(piece)
        return join_pieces(page, kept, tuple(summed(spent)))

    def _is_doubtful(self, result: PageResult) -> bool:
        if not self._below or (result.confidence is None and result.status != "doubtful"):
            return False
        return (
            result.confidence is None or result.confidence < self._below or result.status not in _ENDED_WELL
        )

    def _better(self, first: PageResult, second: PageResult) -> PageResult:
        return replace(self._kept(first, second), timings=tuple(summed([first, second])))

    def _kept(self, first: PageResult, second: PageResult) -> PageResult:
        if not self._has_text(second) and (self._has_text(first) or first.status == "doubtful"):
            return first
        return max(first, second, key=_merit)

    def _has_text(self, result: PageResult) -> bool:
        """Whether more was read than a doubtful scrap."""
        shown = without_scrap(result) if self._is_doubtful(result) else result
        return shown.parsed is not None and bool(shown.parsed.text.strip())

    async def _rendered(self, render: Render, page: ReadablePage) -> ReadyPage | PageError:
        return await asyncio.wrap_future(render(page.page))


def without_scrap(result: PageResult) -> PageResult:
    """Returns a doubtful result, blank if its text is a scrap: one or two characters, over and over.

    Such as the corners of a pattern.
    """
    if (
        result.parsed is None
        or result.status == "doubtful"
        or len(set(result.parsed.text) - set(whitespace)) > _SCRAP
    ):
        return result
    return replace(result, status="blank", parsed=ParsedText(text="", markdown=""), confidence=None)


def _merit(result: PageResult) -> tuple[bool, float]:
    return result.status in _ENDED_WELL, result.confidence or 0.0
