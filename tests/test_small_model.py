"""The shipped readers read real pages: the sample documents, through the whole program."""

import json
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from pipeline.cli.main import main
from pipeline.errors import ExitCode
from pipeline.evaluate import character_edits

TESTS = Path(__file__).parent
LAYERS = ("--text-layer", "ignore")  # or there would be nothing to read on PDF pages that hold their text


def picture_without_text(path: Path) -> Path:
    """A smooth grey field with a disc on it: no blank page, and nothing to read."""
    field = Image.radial_gradient("L").resize((640, 480))
    ImageDraw.Draw(field).ellipse((150, 100, 450, 350), fill=90, outline=20, width=5)
    field.save(path)
    return path


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("read")
    database, output = str(folder / "read.db"), folder / "pages.jsonl"
    inputs = [
        str(TESTS / "samples" / name) for name in ("report.pdf", "scanned.pdf", "letter.png", "fax.tiff")
    ]
    inputs.append(str(picture_without_text(folder / "picture.png")))
    assert (
        main(["run", *inputs, "--db", database, "--pages", "1-2", "--device", "cpu", *LAYERS, "--quiet"])
        == ExitCode.OK
    )
    assert main(["export", "--db", database, "-o", str(output)]) == ExitCode.OK
    found = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    return {f"{Path(page['path']).name}/{page['page']}": page for page in found}


# The decoder alone would end the fax's second page after four of its five bullets.
@pytest.mark.parametrize(
    "name", ["report.pdf/1", "report.pdf/2", "scanned.pdf/1", "letter.png/1", "fax.tiff/2"]
)
def test_it_really_reads(pages: dict[str, dict], name: str) -> None:
    truth = (TESTS / "truth" / f"{name}.txt").read_text(encoding="utf-8")
    edits = character_edits(truth, pages[name]["text"])
    assert pages[name]["status"] == "ok"
    assert edits.rate < 0.05, f"{name}: character error rate {edits.rate:.2%}"
    assert pages[name]["confidence"] > 0.9


def test_a_blank_page_stays_empty(pages: dict[str, dict]) -> None:
    assert pages["scanned.pdf/2"]["status"] == "blank"
    assert pages["scanned.pdf/2"]["text"] == ""


def test_a_picture_without_text_gets_none(pages: dict[str, dict]) -> None:
    assert pages["picture.png/1"]["text"] == ""
    assert pages["picture.png/1"]["status"] == "blank"


def test_a_letters_signature_is_no_heading(pages: dict[str, dict]) -> None:
    assert "Judith Greenfield" in pages["letter.png/1"]["markdown"].splitlines()


def test_blocks_have_a_confidence(pages: dict[str, dict]) -> None:
    for block in pages["letter.png/1"]["blocks"]:
        assert 0.8 < block["confidence"] <= 1


def test_every_stage_is_timed(pages: dict[str, dict]) -> None:
    expected = {"discover", "render", "tile", "find", "read", "order", "store"}
    # Its text layer is not judged: it was read well.
    assert set(pages["report.pdf/1"]["timings"]) == expected
