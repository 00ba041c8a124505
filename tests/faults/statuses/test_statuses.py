"""The program that makes pages with known statuses, and its comparison, which can fail."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.faults.statuses import __main__ as program
from tests.faults.statuses.measure import MANIFEST, is_fault
from tests.faults.statuses.pages import MadePage, Workshop
from tests.faults.statuses.patterns import patterns
from tests.faults.statuses.photographs import held, on_sheet

NEVER_OK = {"statuses": ["doubtful"], "text": "", "holds": []}
IF_READ = {"statuses": ["doubtful"], "text": "Dear aunt, the roses are in bloom", "holds": []}


def row(status: str, doubt: str | None = None, text: str = "Pycckuu") -> Any:
    return {"path": "script/a.png", "status": status, "doubt": doubt, "confidence": 0.1, "text": text}


@pytest.mark.parametrize(
    ("found", "truth", "fault"),
    [
        (row("doubtful", "why"), NEVER_OK, False),
        (row("doubtful"), NEVER_OK, True),
        (row("ok"), NEVER_OK, True),
        (row("blank"), NEVER_OK, True),
        (row("blank"), {"statuses": ["blank", "doubtful"], "text": "", "holds": []}, False),
        (row("ok", text="Dear aunt,\nthe roses are in b1oom"), IF_READ, False),
        (row("ok", text="DEAR AUNT, THE ROSES ARE IN BLOOM"), IF_READ, False),
        (row("ok", text="Dean aunf, fhe nose s ore in bloam"), IF_READ, True),
    ],
)
def test_nonsense_that_is_ok_writing_that_is_blank_and_doubt_without_a_reason_are_faults(
    found: Any, truth: Any, fault: bool
) -> None:
    assert is_fault(found, truth) is fault


def test_pages_are_written_with_their_truth_beside_those_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one(_: Workshop) -> Iterator[MadePage]:
        yield MadePage(name="one", content=b"%PDF-", suffix=".pdf", text="one")

    monkeypatch.setattr(program, "KINDS", {"pattern": patterns, "own": one})
    shop = Workshop(packages=tmp_path)
    assert program.make(tmp_path, shop, ["own"]) == 1
    assert program.make(tmp_path, shop, ["pattern"]) == 20
    manifest = json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))
    assert manifest["own/one.pdf"] == {"statuses": ["doubtful"], "text": "one", "holds": []}
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*") if path.name != MANIFEST}
    assert files == set(manifest)


def test_the_pictures_of_an_archive_are_found_between_other_bytes() -> None:
    def picture(width: int, height: int, form: str) -> bytes:
        file = io.BytesIO()
        Image.effect_noise((width, height), 90).convert("RGB").save(file, form)
        return file.getvalue()

    data = (
        b"qres" + picture(320, 240, "WEBP") + b"// RIFF" + picture(64, 64, "WEBP") + picture(210, 260, "JPEG")
    )
    assert [found.size for found in held(data)] == [(320, 240), (210, 260)], "icons are left out"


def test_a_photograph_stands_in_the_middle_of_its_sheet() -> None:
    sheet = on_sheet(Image.new("RGB", (400, 600), "white"), Image.new("RGB", (60, 30), "black"))
    rows, columns = np.nonzero(np.asarray(sheet)[..., 0] == 0)
    assert (columns.min(), columns.max()) == (50, 349)
    assert (rows.min(), rows.max()) == (225, 374)
