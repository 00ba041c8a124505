"""Reads doubtful pages and crops once more, cut differently, and keeps the better of both readings.

A model that loses its line among many similar ones rarely does so again when its image shows only a few of them: so a
doubtful page is cut into small crops, and so is each doubtful crop of a page in crops. If that does not help, the cuts
may be to blame, and a page in crops is read whole. All this costs further readings, so only those get one whose
confidence says that they went wrong.

A reading to its end is better, then one with the higher confidence. But a second reading without text never replaces
a text, however it ended; and a page on which print was seen but none read does not become blank.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from string import whitespace

from ocr.types import ParsedText
from pipeline.rereading.joining import CropResult, crop_results, join, join_crops, on_page, readings, summed
from pipeline.types import DividedPage, Page, PageResult, ReadablePage, ReadyPage, RenderedPage
from storage.types import PageError

_ENDED_WELL = ("ok", "blank")
_SCRAP = 2
Render = Callable[[Page], Future[ReadyPage | PageError]]


class SecondLook:
    """Reads the doubtful parts of a page's first reading again.

    render_fine: cuts a page, or its crops, into small crops; render_whole: does not cut it. read: returns a result for
    each crop. below: the confidence under which a reading is doubtful, as is one that did not end; 0: none ever is.
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
        """Returns the page's best result, with the time that all its readings took. results: of the first readings.

        A page of pictures on which only a doubtful scrap of text was seen has no text.
        """
        best = await self._best(page, results)
        return without_scrap(best) if self._is_doubtful(best) and not page.shows_print else best

    def wants(self, results: Sequence[PageResult]) -> bool:
        """Returns whether any of the readings should be made again."""
        return any(map(self._is_doubtful, results))

    async def _best(self, page: ReadablePage, results: Sequence[PageResult]) -> PageResult:
        first = join(page, results)
        if not self.wants(results):
            return first
        best = await self._in_small_crops(page, results, first)
        if isinstance(page, RenderedPage) or not self._is_doubtful(best):
            return best
        whole = await self._rendered(self._render_whole, page)
        return self._better(best, await self._read_page(whole)) if isinstance(whole, RenderedPage) else best

    async def _in_small_crops(
        self, page: ReadablePage, results: Sequence[PageResult], first: PageResult
    ) -> PageResult:
        fine = await self._rendered(self._render_fine, page)
        if not isinstance(fine, DividedPage):  # no clear white space to cut along, or the file is gone
            return first
        if isinstance(page, RenderedPage) or any(part.within is None for part in fine.parts):
            return self._better(first, await self._read_page(fine))
        return await self._with_smaller_crops(page, results, first, fine)

    async def _read_page(self, page: ReadablePage) -> PageResult:
        return join(page, await self._read(readings(page)))

    async def _with_smaller_crops(
        self, page: DividedPage, results: Sequence[PageResult], first: PageResult, fine: DividedPage
    ) -> PageResult:
        """Returns the page with each doubtful crop read in smaller crops where that reads better."""
        kept: list[CropResult] = []
        spent = [first]
        for number, crop in enumerate(crop_results(page, results)):
            group = tuple(part for part in fine.parts if part.within == number)
            if len(group) > 1 and self._is_doubtful(crop.result):
                region = replace(fine, parts=group, seconds=fine.seconds if len(spent) == 1 else {})
                second = await self._read_page(region)
                spent.append(second)
                crop = replace(crop, result=self._kept(crop.result, on_page(second, page)))
            kept.append(crop)
        return join_crops(page, kept, tuple(summed(spent)))

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
        """Returns whether more was read than a doubtful scrap."""
        shown = without_scrap(result) if self._is_doubtful(result) else result
        return shown.parsed is not None and bool(shown.parsed.text.strip())

    async def _rendered(self, render: Render, page: ReadablePage) -> ReadyPage | PageError:
        return await asyncio.wrap_future(render(page.page))


def without_scrap(result: PageResult) -> PageResult:
    """Returns a doubtful result, made blank if its text is a scrap: one or two characters over and over.

    A pattern's corners are read like that, for example.
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
