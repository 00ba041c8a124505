"""The shipped model reads real pages: the sample documents, through the whole program."""

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.errors import ExitCode
from pipeline.evaluation import character_edits

TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("read")
    database, output = str(folder / "read.db"), folder / "pages.jsonl"
    inputs = [str(TESTS / "samples" / name) for name in ("report.pdf", "scanned.pdf", "letter.png")]
    assert (
        main(["run", *inputs, "--db", database, "--pages", "1-2", "--device", "cpu", "--quiet"])
        == ExitCode.OK
    )
    assert main(["export", "--db", database, "-o", str(output)]) == ExitCode.OK
    found = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    return {f"{Path(page['path']).name}/{page['page']}": page for page in found}


@pytest.mark.parametrize("name", ["report.pdf/1", "report.pdf/2", "scanned.pdf/1", "letter.png/1"])
def test_it_really_reads(pages: dict[str, dict], name: str) -> None:
    truth = (TESTS / "truth" / f"{name}.txt").read_text(encoding="utf-8")
    edits = character_edits(truth, pages[name]["text"])
    assert pages[name]["status"] == "ok"
    assert edits.rate < 0.05, f"{name}: character error rate {edits.rate:.2%}"
    assert pages[name]["confidence"] > 0.9


def test_a_blank_page_stays_empty(pages: dict[str, dict]) -> None:
    assert pages["scanned.pdf/2"]["status"] == "blank"
    assert pages["scanned.pdf/2"]["text"] == ""


def test_every_stage_is_timed(pages: dict[str, dict]) -> None:
    expected = {
        "discover", "render", "tile", "encode_global", "encode_local", "decode_prefill", "decode_generate", "store"
    }  # fmt: skip
    assert set(pages["report.pdf/1"]["timings"]) == expected
