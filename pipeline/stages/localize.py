"""Stage place: turns a page's transcript into its text, with blocks, their boxes on the page, and a confidence.

Torch-free: with a GPU it runs in processes of its own (pipeline.device.localizers), so that kernel launches never
wait for it.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from ocr.character_head.second_opinion import SecondOpinion, read_cells, visible
from ocr.character_head.unlike import is_unlike_text
from ocr.transcript import formats
from ocr.transcript.confidence import Calibration, assess
from ocr.transcript.seen_words import with_seen_words
from ocr.types import OutputFormat, Transcript
from pipeline.outcome.doubt import NONE_READ, doubted, unread
from pipeline.outcome.results import STATUS_OF_FINISH, blank_result
from pipeline.outcome.script_check import DOUBTED, UNDETERMINED
from pipeline.timing import Stopwatch, single
from pipeline.types import PageResult, RenderedPage, SeenWords
from storage.types import StageTiming


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The parts of a model that are needed to interpret its output.

    output_format: see ocr.families.page_model.PageModel. characters, calibration: see
    ocr.checkpoints.checkpoint.LoadedModel.
    """

    tokenizer: Tokenizer
    output_format: OutputFormat
    characters: str | None
    calibration: Calibration | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page, or a crop of one, after its last token. timings: of every stage so far.

    cells_HW: [H, W] int16, the character head's output (encoders.types.VisionTokens); None without such a head.
    seen: the words that were seen on the page by other means; None where none were looked for.
    """

    rendered: RenderedPage
    cells_HW: npt.NDArray[np.int16] | None
    transcript: Transcript
    timings: tuple[StageTiming, ...]
    seen: SeenWords | None = None

    def without_views(self) -> "ReadPage":
        """Returns the page with empty views, to be sent to a process that has the views itself."""
        return replace(self, rendered=self.rendered.without_views())


def place(read: ReadPage, wording: Wording) -> PageResult:
    """Returns the page's result: blank where nothing on the page supports what was written."""
    watch = Stopwatch()
    with watch.measure():
        result = _result(read, wording)
    seconds = 0.0 if read.seen is None else read.seen.seconds
    words = [single("words", seconds)] if seconds else []
    return replace(result, timings=(*read.timings, *words, single("place", watch.seconds)))


def _result(read: ReadPage, wording: Wording) -> PageResult:
    # Imported late: a run's first page starts before any is placed.
    from ocr.layout.localize.blocks import placed

    rendered, transcript = read.rendered, read.transcript
    opinion = None
    if read.cells_HW is not None and wording.characters is not None:
        opinion = read_cells(read.cells_HW, wording.characters)
    if opinion is not None and opinion.is_none_of(visible(transcript.raw)):
        return _unless_print(blank_result(rendered, ()), read)
    parsed = formats.parse(
        transcript.raw,
        wording.output_format,
        wording.tokenizer,
        width_px=rendered.width_px,
        height_px=rendered.height_px,
        page_number=rendered.page.page_number,
    )
    parsed = placed(
        parsed, read.cells_HW, wording.characters, rendered.views, rendered.width_px, rendered.height_px
    )
    if read.seen is not None:
        parsed = with_seen_words(parsed, read.seen.words, max(rendered.width_px, rendered.height_px))
    parsed, confidence = assess(parsed, transcript, wording.tokenizer, opinion, wording.calibration)
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
    return _unless_print(unread(_with_script(result, opinion, wording.tokenizer)), read)


def _unless_print(result: PageResult, read: ReadPage) -> PageResult:
    """Returns the result, doubtful where it is blank though print was seen on the page."""
    shows_print = read.seen is not None and read.seen.shows_print
    return doubted(result, NONE_READ) if shows_print and result.status == "blank" else result


def _with_script(result: PageResult, opinion: SecondOpinion | None, tokenizer: Tokenizer) -> PageResult:
    """Returns the result, flagged where neither the reading nor the character head's output looks like text."""
    is_doubtful = result.confidence is None or result.confidence < DOUBTED
    if opinion is None or not is_doubtful or not is_unlike_text(opinion, tokenizer):
        return result
    return replace(result, script=UNDETERMINED)
