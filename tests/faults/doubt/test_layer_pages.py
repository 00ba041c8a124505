"""Workers judge each page's layer as expected, without a model; tests.faults.statuses has the pages read."""

from pathlib import Path
from typing import Any

import pymupdf
import pytest

from pipeline.documents.settings import RenderSettings
from pipeline.text_layer.page import judged, taken
from tests.faults.doubt.layer_pages import KINDS, document, pages
from tests.faults.statuses.measure import is_fault
from tests.faults.statuses.pages import Workshop

TAKEN = sorted(name for name, kind in KINDS.items() if "embedded" in kind.statuses and not kind.is_mixed)
MIXED = sorted(name for name, kind in KINDS.items() if kind.is_mixed)
READ = sorted(name for name, kind in KINDS.items() if "embedded" not in kind.statuses)


def is_taken(document: Any, *, partly: bool = False) -> bool:
    return taken(document, 0, RenderSettings(), partly=partly)[0] is not None


@pytest.mark.parametrize("name", TAKEN)
def test_a_layer_that_is_all_of_a_page_is_taken_to_the_character(name: str) -> None:
    with document(KINDS[name]) as made:
        layer = judged(made, 0, 144)
        assert is_taken(made)
    assert layer is not None
    assert (layer.reason, layer.is_visible) == ("", True)
    text = " ".join(layer.text.split())
    assert [part for part in KINDS[name].texts if part not in text] == []


@pytest.mark.parametrize("name", MIXED)
def test_a_layer_that_is_less_than_the_page_is_part_of_it(name: str) -> None:
    with document(KINDS[name]) as made:
        layer = judged(made, 0, 144)
        assert not is_taken(made)
        assert is_taken(made, partly=True)
    assert layer is not None
    assert (layer.is_trustworthy, layer.is_partial) == (False, True)
    assert layer.reason


@pytest.mark.parametrize("name", READ)
def test_a_layer_that_was_put_under_a_scan_is_not(name: str) -> None:
    with document(KINDS[name]) as made:
        layer = judged(made, 0, 144)
        assert not is_taken(made, partly=True)
    assert layer is not None
    assert layer.reason


def test_text_under_a_scan_that_nobody_sees_does_not_contradict_a_blank_page() -> None:
    with pymupdf.open() as made:
        made.new_page().insert_text((70, 100), "recognised in the paper's grain", render_mode=3)
        layer = judged(made, 0, 144)
    assert layer is not None
    assert not layer.is_visible


def test_the_same_pages_are_made_again_and_what_they_lack_is_a_fault(tmp_path: Path) -> None:
    made, again = (list(pages(Workshop(packages=tmp_path))) for _ in range(2))
    assert made == again
    truths = {page.name: {"statuses": page.statuses, "text": page.text, "holds": page.holds} for page in made}

    def fault(name: str, status: str, text: str) -> bool:
        return is_fault({"status": status, "text": text, "doubt": "why"}, truths[name])

    assert not fault("poster", "embedded", "SALE")
    assert not fault("scanner_layer", "doubtful", "Dear")
    assert not fault("scanner_layer", "ok", "on Friday")
    assert fault("poster", "blank", "")
    assert fault("poster", "embedded", "SALF")
    assert fault("stamped", "ok", "14 MAR boards of 2400 mm")
    assert fault("scanner_layer", "embedded", "on Friday")
