"""Workers judge each page's layer as expected, without a model; tests.faults.doubt.layer_pages has the pages read."""

from pathlib import Path

import pymupdf
import pytest

from pipeline.text_layer.page import is_trusted, judged
from tests.faults.doubt.layer_pages import KINDS, build, document, faults

TAKEN = sorted(name for name, kind in KINDS.items() if "embedded" in kind.statuses and not kind.is_mixed)
MIXED = sorted(name for name, kind in KINDS.items() if kind.is_mixed)
READ = sorted(name for name, kind in KINDS.items() if "embedded" not in kind.statuses)


@pytest.mark.parametrize("name", TAKEN)
def test_a_layer_that_is_all_of_a_page_is_taken_to_the_character(name: str) -> None:
    with document(KINDS[name]) as made:
        layer = judged(made, 0, 144)
        assert is_trusted(made, 0)
    assert layer is not None
    assert (layer.reason, layer.is_visible) == ("", True)
    text = " ".join(layer.text.split())
    assert [part for part in KINDS[name].texts if part not in text] == []


@pytest.mark.parametrize("name", MIXED)
def test_a_layer_that_is_less_than_the_page_is_part_of_it(name: str) -> None:
    with document(KINDS[name]) as made:
        layer = judged(made, 0, 144)
        assert not is_trusted(made, 0)
        assert is_trusted(made, 0, partly=True)
    assert layer is not None
    assert (layer.is_trustworthy, layer.is_partial) == (False, True)
    assert layer.reason


@pytest.mark.parametrize("name", READ)
def test_a_layer_that_was_put_under_a_scan_is_not(name: str) -> None:
    with document(KINDS[name]) as made:
        layer = judged(made, 0, 144)
        assert not is_trusted(made, 0, partly=True)
    assert layer is not None
    assert layer.reason


def test_text_under_a_scan_that_nobody_sees_does_not_contradict_a_blank_page() -> None:
    with pymupdf.open() as made:
        made.new_page().insert_text((70, 100), "recognised in the paper's grain", render_mode=3)
        layer = judged(made, 0, 144)
    assert layer is not None
    assert not layer.is_visible


def test_the_same_files_are_built_again_and_faults_are_found(tmp_path: Path) -> None:
    assert build(tmp_path / "a") == build(tmp_path / "b") == len(KINDS)
    names = [path.name for path in sorted((tmp_path / "a").iterdir())]
    assert names == sorted(f"{name}.pdf" for name in KINDS)

    def row(name: str, status: str, text: str) -> object:
        return {"path": f"{name}.pdf", "status": status, "text": text}

    good = [
        row("poster", "embedded", "SALE"),
        row("scanner_layer", "doubtful", "Dear"),
        row("scanner_layer", "ok", "on Friday"),
    ]
    bad = [
        row("poster", "blank", ""),
        row("poster", "embedded", "SALF"),
        row("stamped", "ok", "14 MAR boards of 2400 mm"),
        row("scanner_layer", "embedded", "on Friday"),
    ]
    assert faults(iter(good)) == []  # type: ignore[arg-type]
    assert len(faults(iter(bad))) == len(bad)  # type: ignore[arg-type]
