import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import EvaluationError
from pipeline.evaluate import character_edits, evaluate, normalise, word_edits


def row(path: str, page: int, text: str | None, status: str = "ok", sha256: str = "") -> dict[str, Any]:
    return {"path": path, "sha256": sha256 or path, "page": page, "status": status, "text": text}


def write(truth: Path, name: str, text: str) -> None:
    path = truth / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_edits_by_hand() -> None:
    assert character_edits("kitten", "sitting").num_edits == 3
    assert character_edits("kitten", "sitting").rate == 0.5
    edits = word_edits("the cat sat down", "the bat sat")
    assert (edits.num_edits, edits.length) == (2, 4)


def test_composition_and_white_space_do_not_count() -> None:
    assert character_edits("caf\u00e9  au\n\nlait ", " cafe\u0301 au lait").num_edits == 0


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert "  " not in once


@given(st.text(), st.text())
def test_a_text_has_no_edits_from_itself_and_all_from_nothing(truth: str, text: str) -> None:
    assert character_edits(truth, truth).num_edits == 0
    assert character_edits(truth, "").num_edits == len(normalise(truth))
    assert character_edits(truth, text).num_edits == character_edits(text, truth).num_edits


def test_totals_weigh_pages_by_length(tmp_path: Path) -> None:
    write(tmp_path, "a.pdf/1.txt", "x" * 90)
    write(tmp_path, "a.pdf/2.txt", "y" * 10)
    result = evaluate(tmp_path, [row("docs/a.pdf", 1, "x" * 90), row("docs/a.pdf", 2, "z" * 10)])
    assert result["cer"] == pytest.approx(0.1)
    assert result["median_cer"] == pytest.approx(0.5)


def test_a_failed_page_counts_as_read_empty(tmp_path: Path) -> None:
    write(tmp_path, "a.pdf/1.txt", "text")
    assert evaluate(tmp_path, [row("a.pdf", 1, None, "failed")])["cer"] == 1.0


def test_invented_text_on_a_blank_page_counts(tmp_path: Path) -> None:
    write(tmp_path, "a.pdf/1.txt", "")
    assert evaluate(tmp_path, [row("a.pdf", 1, "")])["cer"] == 0.0
    assert evaluate(tmp_path, [row("a.pdf", 1, "abc")])["cer"] == 3.0


def test_what_cannot_be_compared_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "a.pdf/1.txt", "one")
    write(tmp_path, "a.pdf/3.txt", "three")
    write(tmp_path, "gone.pdf/1.txt", "gone")
    rows = [row("in/a.pdf", 1, "one"), row("in/a.pdf", 2, "two"), row("in/b.pdf", 1, "b")]
    result = evaluate(tmp_path, rows)
    assert result["pages_without_truth"] == [("in/a.pdf", 2), ("in/b.pdf", 1)]
    assert result["truth_without_pages"] == [("a.pdf", 3), ("gone.pdf", 1)]


def test_the_longest_ending_of_a_path_wins(tmp_path: Path) -> None:
    write(tmp_path, "x/a.pdf/1.txt", "the one in x")
    write(tmp_path, "a.pdf/1.txt", "the other one")
    result = evaluate(tmp_path, [row("in/x/a.pdf", 1, "the one in x"), row("in/y/a.pdf", 1, "the other one")])
    assert result["cer"] == 0


def test_two_files_claiming_one_truth_are_named(tmp_path: Path) -> None:
    write(tmp_path, "a.pdf/1.txt", "one")
    with pytest.raises(EvaluationError, match=r"y/a\.pdf and x/a\.pdf"):
        evaluate(tmp_path, [row("x/a.pdf", 1, "one"), row("y/a.pdf", 1, "one")])


def test_two_copies_of_one_file_may_share_a_truth(tmp_path: Path) -> None:
    write(tmp_path, "a.pdf/1.txt", "one")
    copies = [row("x/a.pdf", 1, "one", sha256="s"), row("y/a.pdf", 1, "one", sha256="s")]
    assert len(evaluate(tmp_path, copies)["pages"]) == 2


def test_nothing_to_compare_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="no stored page has truth"):
        evaluate(tmp_path, [row("a.pdf", 1, "one")])
    with pytest.raises(EvaluationError, match="no such folder"):
        evaluate(tmp_path / "nowhere", [])


def test_the_report_is_json(tmp_path: Path) -> None:
    write(tmp_path, "a.pdf/1.txt", "\ufeffone two")
    report = json.loads(json.dumps(evaluate(tmp_path, [row("a.pdf", 1, "one too")])))
    assert report["cer"] == pytest.approx(1 / 7)
    assert report["wer"] == 0.5
    assert report["pages"][0]["cer"] == report["cer"]
