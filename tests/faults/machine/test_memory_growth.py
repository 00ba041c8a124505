"""The memory test runs with its stand-in, and stores what that reads."""

import json
from pathlib import Path

import pytest

from tests.faults.machine import memory_growth
from tests.pipeline.conftest import MakePdf


def test_a_few_pages_with_a_stand_in(
    tmp_path: Path, make_pdf: MakePdf, capsys: pytest.CaptureFixture[str]
) -> None:
    document = make_pdf(tmp_path / "a.pdf", ["one", "two", "three"])
    output = tmp_path / "memory.json"
    code = memory_growth.main(
        [
            str(document),
            "--pages",
            "9",
            "--first",
            "3",
            "--every",
            "3",
            "--most",
            "5",
            "--output-json",
            str(output),
        ]
    )
    assert code == 0
    assert [sample["num_pages"] for sample in json.loads(output.read_text())["samples"]] == [3, 6, 9]
    assert "pages: 9 ok" in capsys.readouterr().out
