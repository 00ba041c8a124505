"""Stage place: turns a page's transcript into its text, with blocks, their boxes on the page, and a confidence.

Torch-free: with a GPU it runs in processes of its own (pipeline.device.localizers), so that kernel launches never
wait for it.
"""

from dataclasses import dataclass, replace

from tokenizers import Tokenizer

from ocr.transcript import formats
from ocr.transcript.confidence import Calibration, assess
from ocr.transcript.seen_words import with_seen_words
from ocr.types import OutputFormat, Transcript
from pipeline.outcome.doubt import NONE_READ, doubted, unread
from pipeline.outcome.results import STATUS_OF_FINISH
from pipeline.timing import Stopwatch, single
from pipeline.types import PageResult, RenderedPage, SeenWords
from storage.types import StageTiming


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The parts of a model that are needed to interpret its output.

    output_format: see ocr.families.page_model.PageModel. calibration: see ocr.checkpoints.checkpoint.LoadedModel.
    """

    tokenizer: Tokenizer
    output_format: OutputFormat
    calibration: Calibration | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page after its last token. timings: of every stage so far.

    seen: the words that were seen on the page by other means; None where none were looked for.
    """

    rendered: RenderedPage
    transcript: Transcript
    timings: tuple[StageTiming, ...]
    seen: SeenWords | None = None

    def without_views(self) -> "ReadPage":
        """Returns the page with empty views, to be sent to a process that has the views itself."""
        return replace(self, rendered=self.rendered.without_views())


def place(read: ReadPage, wording: Wording) -> PageResult:
    """Returns the page's result."""
    watch = Stopwatch()
    with watch.measure():
        result = _result(read, wording)
    seconds = 0.0 if read.seen is None else read.seen.seconds
    words = [single("words", seconds)] if seconds else []
    return replace(result, timings=(*read.timings, *words, single("place", watch.seconds)))


def _result(read: ReadPage, wording: Wording) -> PageResult:
    rendered, transcript = read.rendered, read.transcript
    parsed = formats.parse(
        transcript.raw,
        wording.output_format,
        wording.tokenizer,
        width_px=rendered.width_px,
        height_px=rendered.height_px,
        page_number=rendered.page.page_number,
    )
    if read.seen is not None:
        parsed = with_seen_words(parsed, read.seen.words, max(rendered.width_px, rendered.height_px))
    parsed, confidence = assess(parsed, transcript, wording.tokenizer, wording.calibration)
    result = PageResult(
        page=rendered.page,
        status=STATUS_OF_FINISH[transcript.finish],
        parsed=parsed,
        error=None,
        confidence=confidence,
        num_tokens=len(transcript.token_ids),
        width_px=rendered.width_px,
        height_px=rendered.height_px,
        dpi=rendered.dpi,
        rotation_deg=rendered.rotation_deg,
    )
    return _unless_print(unread(result), read)


def _unless_print(result: PageResult, read: ReadPage) -> PageResult:
    """Returns the result, doubtful where it is blank though print was seen on the page."""
    shows_print = read.seen is not None and read.seen.shows_print
    return doubted(result, NONE_READ) if shows_print and result.status == "blank" else result
