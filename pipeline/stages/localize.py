"""Stage place: turns a page's transcript into its text, with blocks, their boxes on the page, and a confidence.

Words that the model gives no places for get those of words that were seen otherwise, in pipeline.stages.word_places.
Torch-free.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from tokenizers import Tokenizer

from ocr.transcript import formats
from ocr.transcript.confidence import assess
from ocr.types import OutputFormat, Transcript
from pipeline.outcome.doubt import unread
from pipeline.outcome.results import STATUS_OF_FINISH, result_of
from pipeline.timing import Stopwatch, single
from pipeline.types import PageResult, RenderedPage
from storage.types import StageTiming


class OutputInterpreter(Protocol):
    """What of a model, ocr.families.page_model.PageModel, is needed to interpret its output."""

    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def output_format(self) -> OutputFormat: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page after its last token. timings: of every stage so far."""

    rendered: RenderedPage
    transcript: Transcript
    timings: tuple[StageTiming, ...]


def place(read: ReadPage, interpreter: OutputInterpreter) -> PageResult:
    """Returns the page's result."""
    rendered, transcript, watch = read.rendered, read.transcript, Stopwatch()
    with watch.measure():
        parsed = formats.parse(
            transcript.raw,
            interpreter.output_format,
            interpreter.tokenizer,
            width_px=rendered.width_px,
            height_px=rendered.height_px,
            page_number=rendered.page.page_number,
        )
        parsed, confidence = assess(parsed, transcript, interpreter.tokenizer)
        status, num_tokens = STATUS_OF_FINISH[transcript.finish], len(transcript.token_ids)
        result = unread(result_of(rendered, parsed, status, confidence=confidence, num_tokens=num_tokens))
    return replace(result, timings=(*read.timings, single("place", watch.seconds)))
