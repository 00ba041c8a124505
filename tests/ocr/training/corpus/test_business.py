"""Made-up particulars: known characters alone, the same for the same seed, of the kinds that papers hold."""

import json
import lzma
import re
from pathlib import Path

import pytest

pytest.importorskip("faker")

from ocr.training.corpus import business
from ocr.training.corpus.__main__ import main
from ocr.training.pages.words.text import BUSINESS, TextSource

CHARACTERS = "".join(map(chr, range(33, 127))) + "äöüÄÖÜßéèàçñøåæ€£·–’"


def test_paragraphs_hold_known_characters_and_repeat_with_the_seed() -> None:
    made = business.paragraphs(120, CHARACTERS, seed=1)
    assert len(made) == 120
    assert set("".join(made)) <= {*CHARACTERS, " "}
    assert made == business.paragraphs(120, CHARACTERS, seed=1)
    text = "\n".join(made)
    assert re.search(r"\d[.,]\d\d\b", text)  # an amount
    assert re.search(r"\b(19|20)\d\d\b", text)  # a year
    assert re.search(r"\w@\w", text)


def test_pages_draw_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(business, "PARAGRAPHS", 30)
    assert main([str(tmp_path), "--only", "business"]) == 0
    assert {*json.loads((tmp_path / "characters.json").read_text())} > {*"aé€"}
    assert json.loads((tmp_path / "manifest.json").read_text())["business"]["paragraphs"] == 30
    data = lzma.decompress((tmp_path / "text" / f"{BUSINESS}.txt.xz").read_bytes()).decode()
    assert len(data.split("\n\n")) == 30
    assert TextSource(tmp_path / "text").paragraphs[BUSINESS]
    assert main([str(tmp_path), "--only", "scans"]) == 1
