"""No stored page is ok with an empty text, without a confidence, or with a low one; and no text is lost."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from ocr.model_files.locate import LINES, find_directory
from ocr.types import Block, ParsedText
from pipeline.outcome.doubt import NONE_READ, doubted, doubtful_below, judged, of_no_language, unread
from pipeline.outcome.results import failed_result
from pipeline.rereading.comparing import best
from pipeline.types import PageResult, PageStatus
from storage.types import PAGE_STATUSES, PageError
from tests.pipeline.checkpoints import save_reader
from tests.pipeline.rereading.readings import PAGE, read

BELOW = 0.35
FAILED = failed_result(PAGE, PageError(stage="decode", category="internal", message="x"))
READINGS = [
    FAILED,
    *(
        replace(
            read(text, confidence=confidence), status=status, doubt="why" if status == "doubtful" else None
        )
        for text, status, confidence in product(
            ("", " \n", "some text"),
            ("ok", "doubtful", "truncated", "repeated"),
            (None, 0.0, 0.1, 0.349, 0.35, 0.9),
        )
    ),
    read("", "blank", confidence=None),
]


def text(result: PageResult) -> str:
    return "" if result.parsed is None else result.parsed.text.strip()


def is_sound(result: PageResult) -> bool:
    """Returns whether the promises of the status ok are kept."""
    fine = result.confidence is not None and result.confidence >= BELOW and bool(text(result))
    return result.status != "ok" or (fine and result.doubt is None)


def test_the_statuses_of_the_flow_are_those_of_the_database() -> None:
    assert get_args(PageStatus) == PAGE_STATUSES


@pytest.mark.parametrize("reading", READINGS)
def test_ok_never_comes_without_a_text_or_a_confidence(reading: PageResult) -> None:
    kept = judged(reading, below=BELOW)
    assert is_sound(kept)
    assert text(kept) == text(reading)
    if reading.status == "ok":
        assert kept.status == ("ok" if is_sound(reading) else "doubtful")
    elif reading.status in ("truncated", "repeated"):
        low = bool(text(reading)) and reading.confidence is not None and reading.confidence < BELOW
        assert kept.status == ("doubtful" if low else reading.status)
    else:
        assert kept.status == reading.status
    assert judged(kept, below=BELOW) == kept


def test_of_any_two_readings_the_one_kept_is_sound_and_hides_no_text() -> None:
    for pair in product(READINGS, READINGS):
        kept = best([judged(reading, below=BELOW) for reading in pair])
        assert is_sound(kept)
        # What has tokens has a confidence; blank is that nothing can be print there.
        if (
            any(text(reading) and reading.confidence is not None for reading in pair)
            and kept.status != "blank"
        ):
            assert text(kept), "a reading of nothing took the place of one with a text"


def test_a_page_of_which_nothing_was_read_says_so() -> None:
    kept = unread(read(" ", confidence=0.99))
    assert (kept.status, kept.doubt, kept.confidence) == ("doubtful", NONE_READ, None)
    picture = ParsedText(text="", markdown="![](images/1_0.jpg)", blocks=(Block(label="image", text=""),))
    assert unread(replace(read(""), parsed=picture)).status == "blank"


def test_reasons_are_in_words_and_each_is_there_once() -> None:
    low = judged(replace(read("Pycckuu", confidence=0.349), script="Cyrl"), below=0.35)
    assert low.doubt == ("confidence 0.34 below 0.35; in a script that the model was not trained for (Cyrl)")
    assert judged(read("x", confidence=0.349), below=0.0).status == "ok"
    twice = doubted(doubted(read("x"), "one"), "one")
    assert (twice.status, twice.doubt, text(twice)) == ("doubtful", "one", "x")
    assert doubted(FAILED, "one") is FAILED
    layer = replace(read("x", "embedded", confidence=None), source="layer")
    assert judged(layer, below=0.35) is layer
    assert doubted(layer, "a picture is missing").status == "doubtful"


def test_nonsense_that_did_not_end_is_doubtful_and_says_both() -> None:
    cut = judged(read("garb", "truncated", confidence=0.1), below=0.35)
    assert (cut.status, cut.doubt) == ("doubtful", "confidence 0.10 below 0.35; it was cut short")
    loop = judged(replace(read("garb", "repeated", confidence=0.4), script="Thai"), below=0.35)
    assert loop.status == "doubtful"
    assert loop.doubt is not None
    assert loop.doubt.endswith("; it began to repeat itself")
    half = doubted(read("half of it", "truncated", confidence=0.9), "a picture is missing")
    assert (half.status, half.doubt) == ("truncated", "a picture is missing")


def test_what_is_doubtful_without_a_reason_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="says why"):
        read("x", "doubtful")


def test_the_threshold_is_the_model_s(tmp_path: Path) -> None:
    assert doubtful_below(find_directory("small") / LINES) == 0.4
    assert doubtful_below(save_reader(tmp_path / "reader")) == 0.2


@pytest.mark.parametrize(
    ("text", "is_ok"),
    [
        ("- - -- . Name\n-- -.- - --\n.. -- . .-", False),
        ("Introduction " + 90 * ". " + "7", True),
        ("Tea 3.10\n" + 42 * "-" + "\nMilk 1.20", True),
        ("x = (a + b) / 2", True),
    ],
)
def test_a_text_of_marks_is_doubtful_and_a_leader_is_one_mark(text: str, is_ok: bool) -> None:
    assert judged(read(text, confidence=0.9), below=BELOW).status == ("ok" if is_ok else "doubtful")


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (["KoHTopa raBaHu", " yacoB yTpa "], "(lines 2-3 of its text)"),
        (["KoHTopa raBaHu", "Hbi"], "(lines 2, 5 of its text)"),
        ([], "(lines left out)"),
    ],
)
def test_lines_that_look_like_no_language_are_named_by_their_numbers(lines: list[str], where: str) -> None:
    found = of_no_language(read("Dear aunt,\nKoHTopa raBaHu\nceMb yacoB yTpa\n\nHbi", confidence=0.9), lines)
    assert found.status == "doubtful"
    assert (found.doubt or "").endswith(where)
    many = read("\n\n".join(f"yacoB{number}" for number in range(40)), confidence=0.9)
    assert "(40 lines)" in (of_no_language(many, [f"yacoB{number}" for number in range(40)]).doubt or "")
