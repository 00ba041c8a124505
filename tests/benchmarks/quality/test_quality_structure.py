"""The figures of structure stand for each genre, those of order for each kind of page of a set."""

import json
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.line_reader.structure_network import shipped
from ocr.training.structure.composed_lines import line_source
from ocr.training.structure.true_lines import Place, TrueLine
from tests.benchmarks.quality.level_pages import KINDS, level_pages
from tests.benchmarks.quality.scoring.table_scores import TableCell
from tests.benchmarks.quality.structure import lined_pages, main, report, table_figures, true_tables
from tests.ocr.training.sources import make_corpus


def test_figures_stand_for_each_genre_and_for_all(tmp_path: Path) -> None:
    source = line_source(make_corpus(tmp_path / "data"))
    shown = list(report(lined_pages(source), shipped(), 12))
    assert shown[0].split()[:3] == ["genre", "pages", "moved"]
    assert next(line.split()[1] for line in shown if line.startswith("all ")) == "12"
    assert "CPU ms a page" in shown[-1]


def test_tables_are_told_by_genre_and_pages_are_read_once(tmp_path: Path) -> None:
    source = line_source(make_corpus(tmp_path / "data"))
    told = list(table_figures(source, 2, tmp_path / "kept"))
    numbers = {line.split()[0]: int(line.split()[1]) for line in told}
    assert numbers.pop("all") == sum(numbers.values()) >= 2
    assert all(" alike, " in line and " over 0.9, " in line for line in told)
    assert len(list((tmp_path / "kept").iterdir())) == 2
    assert list(table_figures(source, 2, tmp_path / "kept")) == told


def test_level_pages_are_told_by_kind_and_have_several_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["level", "--pages", "2"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in told] == [[kind.__name__, "2"] for kind in KINDS]
    assert all(len({line.place.block for line in page.lines}) > 1 for page in level_pages(1))


def test_a_true_table_has_its_spans_and_its_empty_cells() -> None:
    def line(text: str, rows: tuple[int, int], columns: tuple[int, int], base: float) -> TrueLine:
        place = Place(0, 0, table=1, rows=rows, columns=columns)
        return TrueLine(text=text, x0=0, x1=9, base=base, size=9, words=((0, 9),), place=place, order=0)

    lines = [line("a", (0, 1), (0, 0), 10), line("b", (0, 0), (1, 2), 10), line("c", (1, 1), (2, 2), 20)]
    lines += [line("d", (2, 2), (0, 2), 30), line("e", (2, 2), (0, 2), 40)]
    assert list(true_tables(lines)) == [
        [
            [TableCell("a", 2, 1), TableCell("b", 1, 2)],
            [TableCell(""), TableCell("c")],
            [TableCell("d e", 1, 3)],
        ]
    ]
    elsewhere = [*lines[:3], line("d", (2, 2), (0, 2), 5)]  # at the top of another column
    assert list(true_tables(elsewhere)) == []


def test_order_is_told_by_kind_and_lines_are_read_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [("Harbour and river", 90), ("Garden and winter", 160)]
    picture = Image.new("L", (700, 260), 255)
    for text, y in words:
        ImageDraw.Draw(picture).text((60, y), text, font=ImageFont.load_default(34))
    for name, lines in (("a", words), ("b", words[::-1])):
        (tmp_path / "scans").mkdir(exist_ok=True)
        picture.save(tmp_path / "scans" / f"{name}.png")
        (tmp_path / "truth" / f"{name}.png").mkdir(parents=True)
        (tmp_path / "truth" / f"{name}.png" / "1.txt").write_text("\n".join(text for text, _ in lines))
    entries = {
        name: {"category": kind, "handwriting": kind == "handwriting", "any_case": False}
        for name, kind in (("a", "book"), ("b", "handwriting"))
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"pages": entries}))
    assert main(["order", str(tmp_path), "--sets", "scans"]) == 0
    told = capsys.readouterr().out
    assert [line.split()[1] for line in told.splitlines()] == ["all", "book", "handwriting"]
    assert "scans all                       1 pages       35 characters    0.00% otherwise" in told
    assert len(list((tmp_path / "lines").iterdir())) == 2
    assert main(["order", str(tmp_path), "--sets", "scans"]) == 0
    assert capsys.readouterr().out == told
