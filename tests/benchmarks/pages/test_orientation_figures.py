"""The figures of page orientation: the verdicts, and the program on a few pages."""

import json
from pathlib import Path

import pymupdf
import pytest
from PIL import Image

from ocr.orientation.detect import Angle
from tests.benchmarks.pages import orientation_figures
from tests.benchmarks.pages.orientation_figures import Look, Verdict, main, of_quality, table

WORDS = "The quick brown fox, having jumped over a lazy dog, slept by the river until Monday morning."


def look(turn_deg: Angle, found_deg: Angle, runner_up_deg: Angle | None = None, kind: str = "prose") -> Look:
    return Look(
        name="a",
        kind=kind,
        conditions=("fax", "skew"),
        turn_deg=turn_deg,
        found_deg=found_deg,
        runner_up_deg=runner_up_deg,
        cpu_s=0.05,
    )


@pytest.mark.parametrize(
    ("found", "verdict", "is_false_turn"),
    [
        (look(0, 0), "right", False),
        (look(90, 90), "right", False),
        (look(0, 0, 180), "not sure", False),
        (look(90, 0, 270), "not sure", False),
        (look(90, 0), "wrong", False),
        (look(90, 270), "wrong", False),
        (look(0, 180), "wrong", True),
        (look(90, 0, kind="empty"), "right", False),
        (look(90, 0, 90, kind="empty"), "not sure", False),
        (look(90, 90, kind="empty"), "wrong", True),
    ],
)
def test_verdicts(found: Look, verdict: Verdict, is_false_turn: bool) -> None:
    assert (found.verdict, found.is_false_turn) == (verdict, is_false_turn)


def test_the_table_counts_every_condition_and_false_turns() -> None:
    lines = list(table([look(0, 0), look(0, 90), look(180, 180), look(0, 0, kind="empty")]))
    assert [line.split() for line in lines if line.startswith(("fax", "skew", "empty"))] == [
        ["empty", "1", "0", "0"],
        ["fax", "2", "0", "1"],
        ["skew", "2", "0", "1"],
    ]
    assert "false turns of upright pages: 1 of 2 pictures of 1 pages" in lines
    assert "false turns of pages without text: 0 of 1 pictures of 1 pages" in lines
    assert lines[-1] == "turned pages: median 50.0 ms, 95th percentile 50.0 ms of CPU"


@pytest.fixture
def quality(tmp_path: Path) -> Path:
    """Returns a folder with a page of text and an empty one, as in the evaluation set."""
    folder = tmp_path / "quality"
    pages = {
        "prose-a-1": {"category": "prose", "degraded": ["noise", "jpeg"]},
        "empty-b-1": {"category": "empty", "degraded": ["fax"]},
    }
    for where in ("150dpi", "200dpi", "degraded"):
        (folder / where).mkdir(parents=True)
        _page().get_pixmap(dpi=100).pil_save(folder / where / "prose-a-1.png")
        Image.new("L", (300, 400), 255).save(folder / where / "empty-b-1.png")
    (folder / "manifest.json").write_text(json.dumps({"pages": pages}))
    return folder


def _page() -> "pymupdf.Page":
    page = pymupdf.open().new_page()
    for number in range(30):
        page.insert_text((60, 80 + 22 * number), WORDS[number % 7 :][:75], fontsize=11, fontname="tiro")
    return page


def test_the_conditions_of_a_worn_page_are_its_kinds_of_wear(quality: Path) -> None:
    conditions = {sheet.source.name: sheet.conditions for sheet in of_quality(quality)}
    assert conditions["150dpi/prose-a-1"] == ("150 dpi",)
    assert conditions["degraded/prose-a-1"] == ("noise", "jpeg")
    assert len(conditions) == 6


def test_the_program_looks_at_all_pages(
    quality: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orientation_figures, "SAMPLES", tmp_path / "none")
    (tmp_path / "pdfs").mkdir()
    _page().parent.save(tmp_path / "pdfs" / "a.pdf")
    output = tmp_path / "looks.json"
    assert main([str(quality), str(tmp_path / "pdfs"), "--json", str(output)]) == 0
    found = json.loads(output.read_text())
    # Six pictures at four angles, and the PDF's page as drawn and worn.
    assert len(found) == 26
    assert all(one["cpu_s"] > 0 for one in found)
    documents = [one for one in found if one["kind"] == "documents"]
    assert [one["conditions"] for one in documents] == [["as drawn"], ["bleed-through"]]
    said = capsys.readouterr().out
    assert "false turns of upright pages: 0 of 5 pictures of 2 pages" in said
    assert "false turns of pages without text: 0 of 12 pictures of 1 pages" in said
    assert {one["found_deg"] for one in found if one["kind"] == "prose"} == {0, 90, 180, 270}


@pytest.mark.parametrize(("options", "count"), [(["--sample", "1"], 4), (["--minutes", "0"], 1)])
def test_fewer_pages(
    options: list[str], count: int, quality: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orientation_figures, "SAMPLES", tmp_path / "none")
    output = tmp_path / "looks.json"
    assert main([str(quality), *options, "--json", str(output)]) == 0
    assert len(json.loads(output.read_text())) == count
