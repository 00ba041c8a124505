import random
from pathlib import Path

import pytest

from ocr.training.structure.composed_lines import NAMES, line_pages, line_source
from ocr.training.structure.line_noise import found
from ocr.training.structure.placed_lines import LinePage
from ocr.training.structure.true_lines import ROLES


def _pages(corpus: Path, count: int, genres: frozenset[str] = NAMES) -> list[LinePage]:
    source = line_source(corpus)
    return [page for seed in range(count) for page in line_pages(random.Random(seed), source, genres=genres)]


def test_pages_are_the_same_for_the_same_seed(corpus: Path) -> None:
    assert _pages(corpus, 6) == _pages(corpus, 6)


def test_genres_are_held_out_by_name(corpus: Path) -> None:
    names = frozenset({"receipt", "tables"})
    assert {page.genre for page in _pages(corpus, 8, names)} <= names
    genres = {page.genre for page in _pages(corpus, 60, NAMES - names)}
    assert not genres & names
    assert {"nested", "boxes", "articles", "entries"} <= genres


@pytest.fixture(scope="module")
def made(corpus: Path) -> list[LinePage]:
    """Pages of all genres."""
    return _pages(corpus, 60)


def test_an_article_is_read_to_its_end_before_the_headline_below_it(made: list[LinePage]) -> None:
    below = 0
    for page in (page for page in made if page.genre == "articles"):
        for at, line in enumerate(page.lines):
            wide = line.x1 - line.x0 > 0.3 * page.width_pt and ROLES[line.place.role].startswith("heading")
            over = [
                o for o in page.lines if o.x0 < line.x1 and o.x1 > line.x0 and o.base < line.base - line.size
            ]
            below += wide and len(over) > 10
            assert not wide or all(other.order < at for other in over)
    assert below


def test_a_price_follows_its_entry_and_comes_before_the_next(made: list[LinePage]) -> None:
    """Columns come one after the other."""
    for page in (page for page in made if page.genre == "entries"):
        for line, after in zip(page.lines, page.lines[1:], strict=False):
            assert after.base > line.base - 0.5 * line.size or after.x0 > line.x1
            assert line.place.block <= after.place.block


def test_lines_are_in_the_order_of_reading_whatever_was_torn_or_lost(made: list[LinePage]) -> None:
    for page in made:
        assert [line.order for line in page.lines] == list(range(len(page.lines)))
        assert all(line.x0 < line.x1 and line.size > 0 and line.text for line in page.lines)
        tables = {line.place.block for line in page.lines if line.place.table >= 0}
        assert not any(line.place.block in tables for line in page.lines if line.place.table < 0)


def test_boxes_have_rules_around_what_belongs_together(made: list[LinePage]) -> None:
    """Rules lie on the page. On some pages none is seen."""
    boxes = [page for page in made if page.genre in ("boxes", "screen", "nested")]
    ruled = [page for page in boxes if page.rules]
    assert len(boxes) > len(ruled) > 0.3 * len(boxes)
    for page in ruled:
        x0, y0, x1, y1 = (list(edges) for edges in zip(*page.rules, strict=True))
        assert all(max(b - a, d - c) > 5 for a, b, c, d in zip(x0, x1, y0, y1, strict=True))
        assert max(x1) < page.width_pt + 20


def test_uses_of_a_page_differ_in_what_was_found(corpus: Path) -> None:
    source = line_source(corpus)
    first, second = next(
        pages for seed in range(20) if len(pages := line_pages(random.Random(seed), source, uses=2)) == 2
    )
    assert first.lines != second.lines


def test_a_page_without_lines_is_found_without_lines() -> None:
    page = LinePage.of("book", (300.0, 400.0), ())
    assert not any(found(random.Random(seed), page).lines for seed in range(20))
