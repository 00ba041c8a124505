"""The figures of page orientation: the verdicts, and the program on a page."""

from pathlib import Path

import pymupdf
import pytest

from ocr.orientation.detect import Angle, Orientation
from tests.benchmarks.pages.orientation_figures import main, verdict

WORDS = "The quick brown fox, having jumped over a lazy dog, slept by the river until Monday morning."


@pytest.mark.parametrize(
    ("turn_deg", "found_deg", "runner_up_deg", "expected"),
    [
        (0, 0, None, "right"), (90, 90, None, "right"), (0, 0, 180, "not sure"), (90, 0, 270, "not sure"),
        (90, 0, None, "wrong"), (90, 270, None, "wrong"), (0, 180, None, "false"),
    ],
)  # fmt: skip
def test_verdicts(turn_deg: Angle, found_deg: Angle, runner_up_deg: Angle | None, expected: str) -> None:
    assert verdict(turn_deg, Orientation(angle_deg=found_deg, runner_up_deg=runner_up_deg)) == expected


@pytest.mark.parametrize("wear", ["clean", "scan"])
def test_a_page_is_turned_from_all_sides(
    wear: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = pymupdf.open().new_page()
    for number in range(30):
        page.insert_text((60, 80 + 22 * number), WORDS[number % 7 :][:75], fontsize=11, fontname="tiro")
    page.get_pixmap(dpi=100).pil_save(tmp_path / "prose-a-1.png")
    assert main([str(tmp_path), "--wear", wear]) == 0
    lines = {line[:24].strip(): line[24:].split() for line in capsys.readouterr().out.splitlines()}
    assert lines["prose"] == ["4", "0", "0", "0"]
    assert lines["needs a turn by 90"] == ["1", "0", "0", "0"]
