"""Takes pages from their text layers, with what is to be read beside those.

Whether a typeface says what it shows is decided by having the line reader read words of it, once a document, whichever
of its pages comes first.
"""

import asyncio
import unicodedata
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from ocr.types import BoxPx
from pipeline.config.retry_steps import Step
from pipeline.device.line_readers import LineReaders
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.outcome.doubt import doubted
from pipeline.outcome.results import embedded_result
from pipeline.readers.reader import Reader
from pipeline.text_layer.rest import completed, is_unread
from pipeline.types import EmbeddedPage, FontSample, Page, PageResult, ReadyPage, RenderedPage
from storage.types import PageError

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


class TextLayers(Reader[EmbeddedPage]):
    """Takes pages from their text layers. For use in one event loop.

    lines: read words in doubt and pictures; None where workers leave pages with such to the page model.
    workers: render pages again.
    """

    def __init__(self, lines: LineReaders | None, workers: WorkerPool) -> None:
        self._lines, self._workers = lines, workers
        self._looks = None if lines is None else FontLooks(lines)

    async def checked(self, found: EmbeddedPage, dropped: Callable[[int], None]) -> ReadyPage | PageError:
        """Returns a page that is taken from its text layer, or the page to be read where its typefaces are wrong.

        dropped: called with the bytes of pixels that are released.
        """
        if not found.layer.in_doubt:
            return found
        assert self._looks is not None, "no worker makes such pages otherwise"
        wrong = await self._looks.wrong(found.page, found.layer.in_doubt)
        if not wrong:
            return found
        dropped(found.num_bytes)
        settings = replace(self._workers.render_settings, text_layer="ignore")
        ready = await asyncio.wrap_future(self._workers.render(found.page, render=settings))
        if isinstance(ready, (PageError, EmbeddedPage)):
            return ready
        reason = f"what its typefaces say is not what is drawn ({', '.join(wrong)})"
        return replace(
            ready, layer=replace(found.layer, is_trustworthy=False, is_partial=False, reason=reason)
        )

    async def read(
        self, page: EmbeddedPage, dropped: Callable[[int], None] | None = None, step: Step | None = None
    ) -> PageResult:
        """Returns a page's result: its layer, with what is read beside that. Pixels are kept until they are read."""
        match page.rest:
            case RenderedPage() as rest:
                assert self._lines is not None, "no worker makes such pages otherwise"
                embedded = with_rest(page, await asyncio.wrap_future(self._lines.read(rest)))
            case _:
                embedded = embedded_result(page)
        return doubted(embedded, page.missing) if page.missing else embedded


# The most typefaces that are remembered; those of a document come close together.
_MOST_KNOWN = 4096
# The share of the characters that may be read otherwise: a small or decorative typeface is read badly.
_MOST_WRONG = 0.5
# How often digits may be read as others, counting those that mostly are.
_EXCHANGED = 2

_Key = tuple[str, str]


class FontLooks:
    """Compares typefaces with what is drawn. For use in one event loop."""

    def __init__(self, lines: LineReaders) -> None:
        self._lines = lines
        self._looks: OrderedDict[_Key, asyncio.Task[bool]] = OrderedDict()

    async def wrong(self, page: Page, samples: Sequence[FontSample]) -> list[str]:
        """Returns the typefaces that say something else than is drawn.

        samples: sorted by typeface; empty ones of a typeface of which others came with an earlier page.
        """
        looks = {
            font: self._look(page, font, tuple(its)) for font, its in groupby(samples, attrgetter("font"))
        }
        return [font for font, look in looks.items() if not await asyncio.shield(look)]

    def _look(self, page: Page, font: str, samples: tuple[FontSample, ...]) -> asyncio.Task[bool]:
        key = page.sha256, font
        if key not in self._looks:
            self._looks[key] = asyncio.create_task(self._is_right(samples))
            if len(self._looks) > _MOST_KNOWN:
                self._looks.popitem(last=False)
        return self._looks[key]

    async def _is_right(self, samples: tuple[FontSample, ...]) -> bool:
        if not any(sample.text for sample in samples):
            return False  # nobody knows any more
        read = await asyncio.wrap_future(self._lines.samples(samples))
        return agree([sample.text for sample in samples], read)


def agree(texts: Sequence[str], read: Sequence[str]) -> bool:
    """Returns whether what was read of words is what their layer says. read: for each word; "" where nothing was.

    Some letters are misread in any typeface. Digits are more telling: none may mostly be another.
    """
    from rapidfuzz.distance import Levenshtein  # imported late: most runs compare nothing

    pairs = [(_plain(text), _plain(found)) for text, found in zip(texts, read, strict=True)]
    wrong = sum(min(len(text), Levenshtein.distance(text, found)) for text, found in pairs)
    if wrong > _MOST_WRONG * sum(len(text) for text, _ in pairs):
        return False
    others, same = Counter[str](), Counter[str]()
    for own, found in ((_digits(text), _digits(found)) for text, found in pairs):
        if len(own) == len(found):
            for digit, seen in zip(own, found, strict=True):
                (same if digit == seen else others)[digit] += 1
    return sum(number for digit, number in others.items() if number > same[digit]) < _EXCHANGED


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
