"""A line reader is calibrated on pages with truth, and what is fitted is what it loads."""

import shutil
import sys
from pathlib import Path

import pytest

from ocr.line_reader.reading import LineReader
from ocr.model_files.locate import LINES, find_directory
from ocr.training.calibrate import line_calibration

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[3]


def test_the_fitted_curves_are_the_reader_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / LINES
    shutil.copytree(find_directory("small") / LINES, folder)
    (folder / "confidence.json").unlink()
    assert LineReader.load(folder).calibration is None
    (tmp_path / "pages").mkdir()
    for number in range(6):
        name = f"real-{number}.png"
        shutil.copyfile(TESTS / "samples" / "letter.png", tmp_path / "pages" / name)
        (tmp_path / "truth" / name).mkdir(parents=True)
        shutil.copyfile(TESTS / "truth" / "letter.png" / "1.txt", tmp_path / "truth" / name / "1.txt")
    monkeypatch.setattr(
        sys,
        "argv",
        ["calibration", *map(str, (tmp_path / "pages", tmp_path / "truth")), "--reader", str(folder)],
    )
    line_calibration.main()
    assert "6 pages" in capsys.readouterr().out
    calibration = LineReader.load(folder).calibration
    assert calibration is not None
    assert 0.9 < calibration.page({"unsure": 0.1, "low": 0.1, "doubted": 0.0, "left_out": 0.0}) <= 1
