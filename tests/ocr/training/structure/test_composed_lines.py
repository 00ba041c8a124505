import random
from pathlib import Path

from ocr.training.structure.composed_lines import HELD_OUT, LinePage, LineSource, line_pages


def _pages(corpus: Path, count: int, *, held_out: bool = False) -> list[LinePage]:
    source = LineSource(corpus)
    return [
        page for seed in range(count) for page in line_pages(random.Random(seed), source, held_out=held_out)
    ]


def test_pages_are_the_same_for_the_same_seed(corpus: Path) -> None:
    assert _pages(corpus, 6) == _pages(corpus, 6)


def test_genres_are_held_out_by_name(corpus: Path) -> None:
    assert {page.genre for page in _pages(corpus, 8, held_out=True)} <= HELD_OUT
    genres = {page.genre for page in _pages(corpus, 40)}
    assert not genres & HELD_OUT
    assert {"nested", "boxes"} <= genres


def test_lines_are_in_the_order_of_reading_whatever_was_torn_or_lost(corpus: Path) -> None:
    for page in _pages(corpus, 20):
        assert [line.order for line in page.lines] == list(range(len(page.lines)))
        assert all(line.x0 < line.x1 and line.size > 0 and line.text for line in page.lines)
        tables = {line.place.block for line in page.lines if line.place.table >= 0}
        assert not any(line.place.block in tables for line in page.lines if line.place.table < 0)


def test_uses_of_a_page_differ_in_what_was_found(corpus: Path) -> None:
    source = LineSource(corpus)
    first, second = next(
        pages for seed in range(20) if len(pages := line_pages(random.Random(seed), source, uses=2)) == 2
    )
    assert first.lines != second.lines
