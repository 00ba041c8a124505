from pathlib import Path

from ocr.training.structure.composed_lines import LinePage, LineSource
from ocr.training.structure.true_lines import ROLES, Place, TrueLine
from tests.benchmarks.quality.structure import as_text, lined_pages, report
from tests.ocr.training.sources import make_corpus


def _line(text: str, x: float, base: float, order: int, place: Place) -> TrueLine:
    width = 5.0 * len(text)
    ends = [(x + 5.0 * at, x + 5.0 * (at + len(word))) for at, word in _words(text)]
    return TrueLine(
        text=text, x0=x, x1=x + width, base=base, size=10.0, words=tuple(ends), place=place, order=order
    )


def _words(text: str) -> list[tuple[int, str]]:
    at, found = 0, []
    for word in text.split(" "):
        found.append((at, word))
        at += len(word) + 1
    return found


def test_a_run_reads_two_columns_one_after_the_other() -> None:
    words = "some words of a column that goes on"
    lines = [
        _line(words, x, 100.0 + 12 * row, 20 * column + row, Place(column, ROLES.index("text")))
        for column, x in enumerate((50.0, 300.0))
        for row in range(20)
    ]
    said = as_text(LinePage(genre="paper", width_pt=600, height_pt=800, lines=tuple(lines)))
    assert said.order.tolist() == list(range(40))
    assert len(set(said.blocks.tolist())) == 2


def test_figures_stand_for_each_genre_and_for_those_held_out(tmp_path: Path) -> None:
    source = LineSource(make_corpus(tmp_path / "data"))
    shown = list(report(lined_pages(source), {"run": as_text}, 12))
    assert shown[0].split()[:3] == ["genre", "by", "pages"]
    groups = {line[:16].strip() for line in shown[1:-1]}
    assert {"all", "all trained on"} <= groups
    assert "CPU ms a page" in shown[-1]
