"""Gives the words of a page's result the places of words that were seen on the page by other means than its model's.

That takes 30 to 60 ms a page, so it happens in a worker process: in the interpreter that feeds a GPU, nothing is
launched meanwhile. Torch-free.
"""

from dataclasses import replace

from ocr.transcript.seen_words import with_seen_words
from pipeline.timing import Stopwatch, single
from pipeline.types import PageResult, SeenWords


def with_places(result: PageResult, seen: SeenWords) -> PageResult:
    """Returns the result of pipeline.stages.localize.place() with the boxes of its words.

    seen: the words that were seen on the page otherwise.
    """
    watch = Stopwatch()
    with watch.measure():
        if result.parsed is not None:
            longer_px = max(result.width_px or 0, result.height_px or 0)
            result = replace(result, parsed=with_seen_words(result.parsed, seen.words, longer_px))
    *before, placing = result.timings
    words = [single("words", seen.seconds)] if seen.seconds else []
    return replace(result, timings=(*before, *words, single("place", placing.share_s + watch.seconds)))
