"""Retry steps of the first attempt: what is doubtful is cut differently, and the better reading is kept.

A model that loses its line among many similar ones rarely does so again when its image shows only a few of them: so a
doubtful page is cut into small crops, and so is each doubtful crop of a page in crops. If that does not help, the cuts
may be to blame, and a page in crops is read whole.
"""

from collections.abc import Sequence
from dataclasses import replace

from pipeline.config.retry_steps import Step, fine_step, whole_step
from pipeline.rereading.comparing import better, is_doubtful
from pipeline.rereading.joining import CropResult, crop_results, join, join_crops, on_page, readings, summed
from pipeline.rereading.retry import PageState, RetryStep, Tools
from pipeline.types import DividedPage, PageResult, ReadablePage, RenderedPage


def merged_steps(tools: Tools, first: Step, below: float) -> Sequence[RetryStep]:
    """Returns the steps of the first attempt. first: the first reading's settings. below: 0 applies none."""
    return SmallerCrops(tools, fine_step(first), below), Whole(tools, whole_step(first), below)


class _MergedStep(RetryStep):
    """A step whose reading replaces the first one where it is better."""

    def _is_doubtful(self, result: PageResult) -> bool:
        return is_doubtful(result, self._below)

    async def _merge(self, page: PageState, rendered: ReadablePage) -> None:
        """Reads the page and keeps the better of both readings, with the time that both took."""
        first, second = page.attempts[0], await self._read(rendered)
        timings = tuple(summed([first, second]))
        page.attempts[0] = replace(better(first, second, self._below), timings=timings)

    async def _read(self, rendered: ReadablePage) -> PageResult:
        return join(rendered, await self._tools.read(readings(rendered), self._step))


class SmallerCrops(_MergedStep):
    """Reads a doubtful page in small crops, and each doubtful crop of a page in crops in smaller ones."""

    def applies(self, page: PageState) -> bool:
        """Returns whether any of the first readings is doubtful."""
        return any(map(self._is_doubtful, page.readings))

    async def take(self, page: PageState) -> None:
        """Reads in smaller crops, where there is white space to cut along."""
        fine = await self._rendered(page)
        if not isinstance(fine, DividedPage):
            return
        if isinstance(page.ready, DividedPage) and all(crop.within is not None for crop in fine.crops):
            page.attempts[0] = await self._crop_by_crop(page, page.ready, fine)
        else:
            await self._merge(page, fine)

    async def _crop_by_crop(self, page: PageState, ready: DividedPage, fine: DividedPage) -> PageResult:
        """Returns the page with each doubtful crop read in smaller crops where that reads better."""
        kept: list[CropResult] = []
        spent = [page.attempts[0]]
        for number, crop in enumerate(crop_results(ready, page.readings)):
            group = tuple(smaller for smaller in fine.crops if smaller.within == number)
            if len(group) > 1 and self._is_doubtful(crop.result):
                seconds = fine.seconds if len(spent) == 1 else {}
                second = await self._read(replace(fine, crops=group, seconds=seconds))
                spent.append(second)
                crop = replace(crop, result=better(crop.result, on_page(second, ready), self._below))
            kept.append(crop)
        return join_crops(ready, kept, tuple(summed(spent)))


class Whole(_MergedStep):
    """Reads a page in crops whole, if it is doubtful even with those read again."""

    def applies(self, page: PageState) -> bool:
        """Returns whether the page is in crops, one of them was doubtful, and the page still is."""
        is_cut, first = isinstance(page.ready, DividedPage), page.attempts[0]
        return is_cut and any(map(self._is_doubtful, page.readings)) and self._is_doubtful(first)

    async def take(self, page: PageState) -> None:
        """Reads the page whole."""
        whole = await self._rendered(page)
        if isinstance(whole, RenderedPage):
            await self._merge(page, whole)
