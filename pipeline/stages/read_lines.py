"""Stage read: turns a page's pixels into its result, line by line. Runs in processes of its own."""

from collections.abc import Sequence

import numpy as np

from encoders.views import UInt8Array
from ocr.imaging.measures import ONE_ROW
from ocr.line_reader.faint_print import are_faint, darkened, darkness_between
from ocr.line_reader.found_lines import Box, ReadLine, TextLine, TurnedLines, shared
from ocr.line_reader.initials import with_initials
from ocr.line_reader.language import is_in_doubt, strange_lines
from ocr.line_reader.line_confidence import line_signals, rated
from ocr.line_reader.missed_lines import with_missed
from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.page_text import lines_of_text, page_text
from ocr.line_reader.reading import FINDER_PX, LineReader, darkness_of
from ocr.line_reader.turned_lines import rotated, skew_of, turned_lines, without_turned
from ocr.line_reader.unread_letters import shows_bent_type, shows_letters
from ocr.types import BoxPx, ParsedText
from pipeline.outcome.doubt import NONE_READ, doubted, of_no_language, unread
from pipeline.outcome.results import render_timings, result_of
from pipeline.timing import Stopwatch
from pipeline.types import FontSample, PageResult, PageStatus, RenderedPage, SeenWords

# Of 16 photographs without print two were read as two or three characters, with a confidence of 0.5 and 0.7. A page
# number alone on its page is read with over 0.9.
_SCRAP_CHARS, _SURE = 12, 0.85
_SCRAP = "a few characters only, which may be none"
# Faint lines with less are grain, shadows or print of the back. Pieces of one line have less white between them, in
# type sizes; a line that was looked at again has so much of it where lines were found then.
_FEWEST_LETTERS, _TORN, _COVERED = 4, 0.6, 0.5
# In type sizes: of 122 ordinary pages no line has more; of lines that lost four letters in a row two thirds have, of
# those that lost five nine tenths.
_HOLE = 0.9
# Lines are looked for at 100 dpi on A4, at a third of that on A1.
_LEAST_DPI = 33
# Of 13 handwritten pages 86% of the ink or more is outside the lines that were read, of 100 printed and typed ones none
# over 41%, pen marks and stamps included.
_MOST_UNREAD = 0.7
_MISSED = "text stands on it that was not read"
_UNREAD = "most of its marks were not read: handwriting, perhaps, or a drawing"


def read_lines(rendered: RenderedPage, reader: LineReader, turn_deg: float = 0.0) -> PageResult:
    """Returns the page's result. rendered: must have its pixels. turn_deg: how far they are turned clockwise first.

    Without text it is blank where there is nothing on it but a picture, and doubtful where there is other ink, or print
    too large to be read.
    """
    assert rendered.grey is not None, "a page for the line reader"
    finding, reading, ordering = Stopwatch(), Stopwatch(), Stopwatch()
    with finding.measure():
        grey, colour = darkened(rendered.grey), rendered.colour
        if turn_deg:
            grey, colour = rotated(grey, turn_deg), None if colour is None else rotated(colour, turn_deg)
        darkness, ink = darkness_of(grey), PageInk.of(grey)
        sought = reader.find(darkness)
        skew_deg = 0.0 if turn_deg else skew_of(grey, ink, sought, reader)
    if skew_deg:
        return read_lines(rendered, reader, skew_deg)
    with reading.measure():  # and what of the page's ink no line covers is looked at again
        found = with_initials(darkness, reader.read(darkness, sought), reader)
        turned = turned_lines(grey, ink, found, reader, None if turn_deg else rendered.runner_up_deg)
        found = without_turned(found, turned)
        beside = [box for part in turned for box in part.boxes]
        found, stamps, lacks_lines = with_missed(ink, darkness, found, beside, reader)
        turned += stamps
        beside += [box for part in stamps for box in part.boxes]
        found, lacks_faint = _with_faint(colour, grey, found, beside, reader)
        upright = lines_of_text(found)
        lines = [*upright, *(read for part in turned for read in part.lines)]
        rules = [read for read in found if read.is_rule]
        seen = [read.line for read in (*upright, *rules)] if lines else []
        is_unread = ink.unread(seen, beside) > _MOST_UNREAD
        has_hole = any(read.hole > _HOLE and read.num_letters >= _FEWEST_LETTERS for read in upright)
        lacks_letters = has_hole or (bool(lines) and shows_letters(ink, seen, beside))
        lacks_letters |= shows_bent_type(ink, darkness, found, beside, reader)
        is_large = not lines and reader.shows_large_print(darkness)
    with ordering.measure():
        signals = line_signals(lines, num_left_out=len(found) - len(upright) - len(rules))
        strange = strange_lines(found)
        written = [line for line in strange if any(line.line is kept for kept in upright)]
        text = page_text(upright, turned, ink.rules, ink.uprights, grey.shape[::-1])
        parsed, confidence = rated(text, signals, reader.calibration, written)
        parsed = _on_page(parsed, rendered, rendered.grey, turn_deg)
    status: PageStatus = "ok" if parsed.text.strip() else "blank"
    own = {"find": finding.seconds, "read": reading.seconds, "order": ordering.seconds}
    timings = render_timings({**rendered.seconds, **own})
    result = unread(result_of(rendered, parsed, status, timings, confidence=confidence if lines else None))
    if is_large or (result.status == "blank" and _is_too_small(rendered)):
        result = doubted(result, NONE_READ)
    if is_unread or lacks_faint or lacks_lines or lacks_letters:
        result = doubted(result, _UNREAD if is_unread else _MISSED)
    if is_in_doubt(strange, found):
        named = [line.line for line in written] if strange else upright  # or each by itself is hardly so
        result = of_no_language(result, [line.text for line in named])
    is_scrap = lines and signals.num_chars < _SCRAP_CHARS and confidence < _SURE
    return doubted(result, _SCRAP) if is_scrap else result


def _with_faint(
    colour: UInt8Array | None, grey: UInt8Array, found: list[ReadLine], beside: list[Box], reader: LineReader
) -> tuple[list[ReadLine], bool]:
    """Returns the lines with those of faint and of light print, which can be read once they are dark.

    And whether there is more of it, not read for sure. Where some of them were torn, all faint lines are looked at
    again. beside: where other lines are.
    """
    boxes = [read.line.box for read in found]
    darkness = darkness_between(grey, [*boxes, *beside], colour)
    if darkness is None and not _are_torn(found):
        return found, False
    are_again = are_faint(grey, boxes)
    faint = [read for read, is_again in zip(found, are_again, strict=True) if is_again]
    if darkness is None and not _are_torn(faint):
        return found, False
    kept = [read for read, is_again in zip(found, are_again, strict=True) if not is_again]
    if faint:
        darkness = darkness_between(grey, [*(read.line.box for read in kept), *beside], colour)
    if darkness is None:
        return found, False
    ink = PageInk.of(~darkness)
    seen_now = [*kept, *reader.read(darkness, reader.find(darkness))]
    again, _, lacks_lines = with_missed(ink, darkness, seen_now, beside, reader)
    lines = [
        line
        for line in again
        if line not in kept
        and line.confidence > _SURE
        and line.num_letters >= _FEWEST_LETTERS
        and _is_better(line, faint)
    ]
    seen = {
        id(read) for read in faint if sum(shared(read.line.box, line.line.box) for line in lines) > _COVERED
    }
    return [*(read for read in found if id(read) not in seen), *lines], lacks_lines


def _is_better(line: ReadLine, before: Sequence[ReadLine]) -> bool:
    """Returns whether more letters are likely to be right in a line than in those that were found where it stands.

    Where these are pieces of it, a letter at each cut may have been read twice.
    """
    box = line.line.box
    there = [
        read for read in before if max(shared(read.line.box, box), shared(box, read.line.box)) > _COVERED
    ]
    likely, likely_before = (
        sum(read.num_letters * read.confidence for read in lines) for lines in ([line], there)
    )
    return likely + max(0, len(there) - 1) > likely_before


def _are_torn(lines: Sequence[ReadLine]) -> bool:
    """Returns whether some of the lines are pieces of one: in one row without a gap between them."""
    in_order = sorted((read.line for read in lines), key=lambda line: line.left)
    return any(
        abs(line.middle - other.middle) < ONE_ROW * line.size and other.left - line.right < _TORN * line.size
        for number, line in enumerate(in_order)
        for other in in_order[number + 1 :]
    )


def _is_too_small(rendered: RenderedPage) -> bool:
    """Returns whether lines of usual print are too small to be found, as the page is larger than any sheet."""
    if rendered.page.kind != "pdf" or rendered.dpi is None:
        return False
    return rendered.dpi * min(1.0, FINDER_PX / max(rendered.width_px, rendered.height_px)) < _LEAST_DPI


def read_samples(samples: Sequence[FontSample], reader: LineReader) -> list[str]:
    """Returns what the line reader reads where words of a text layer stand, each by itself."""
    read = []
    for sample in samples:
        width = sample.grey.shape[1]
        baseline = np.full(width, sample.base_px, np.float32)
        line = TextLine(left=0, right=width, baseline=baseline, size=sample.size_px)
        read.append(reader.read(darkness_of(sample.grey), [line])[0].text)
    return read


def find_words(rendered: RenderedPage, reader: LineReader) -> SeenWords:
    """Returns the words that the line reader sees on a page, for those that a page model reads. rendered: with ink."""
    assert rendered.ink is not None, "a page on which words are to be found"
    watch = Stopwatch()
    with watch.measure():
        darkness = darkness_of(rendered.ink)
        parsed = page_text(reader.read(darkness, reader.find(darkness)), size_px=darkness.shape[::-1])
        words = _on_page(parsed, rendered, rendered.ink).words
        shows_print = bool(words) or reader.shows_large_print(darkness)
    return SeenWords(words=words, shows_print=shows_print, seconds=watch.seconds)


def _on_page(text: ParsedText, rendered: RenderedPage, grey: UInt8Array, turn_deg: float = 0) -> ParsedText:
    """Returns the text with its boxes in pixels of the page, and inside it, rather than of what was read.

    That is an image of it, grey, turned clockwise by turn_deg.
    """
    height_px, width_px = grey.shape
    across, down = rendered.width_px / width_px, rendered.height_px / height_px
    turn = TurnedLines(turn_deg=turn_deg, lines=(), width_px=width_px, height_px=height_px)

    def on_page(box: BoxPx) -> BoxPx:
        x0, y0, x1, y1 = turn.as_it_stands(box) if turn_deg else box
        right, bottom = min(round(x1 * across), rendered.width_px), min(round(y1 * down), rendered.height_px)
        return max(0, round(x0 * across)), max(0, round(y0 * down)), right, bottom

    return text.with_boxes(on_page)
