import json
import lzma
import random
from pathlib import Path

import pytest

from ocr.training.pages.page_source import USELESS_DRAW
from ocr.training.structure.composed_lines import NAMES, composed_page, line_pages, line_source, printed
from ocr.training.structure.line_noise import found
from ocr.training.structure.nested_pages import articles
from ocr.training.structure.placed_lines import LinePage
from ocr.training.structure.true_lines import ROLES, Place


def _pages(corpus: Path, count: int, genres: frozenset[str] = NAMES) -> list[LinePage]:
    source = line_source(corpus)
    return [page for seed in range(count) for page in line_pages(random.Random(seed), source, genres=genres)]


def test_pages_are_the_same_for_the_same_seed(corpus: Path) -> None:
    assert _pages(corpus, 6) == _pages(corpus, 6)


def test_genres_are_held_out_by_name(corpus: Path) -> None:
    names = frozenset({"receipt", "tables"})
    assert {page.genre for page in _pages(corpus, 8, names)} <= names
    genres = {page.genre for page in _pages(corpus, 90, NAMES - names)}
    assert not genres & names
    assert {"nested", "boxes", "articles", "entries"} <= genres


@pytest.fixture(scope="module")
def made(corpus: Path) -> list[LinePage]:
    """Pages of all genres."""
    return _pages(corpus, 140)


def test_an_article_is_read_to_its_end_before_the_headline_below_it(corpus: Path) -> None:
    below, source = 0, line_source(corpus)
    for seed in range(12):
        try:
            page = found(random.Random(seed), articles(random.Random(seed), source))
        except USELESS_DRAW:
            continue
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


def test_a_page_that_a_browser_printed_is_taken_from_the_corpus(corpus: Path, tmp_path: Path) -> None:
    rng, source = random.Random(0), line_source(corpus)
    with pytest.raises(LookupError):
        printed(rng, source)
    lines = [
        ["a bc", [[5, 8], [9, 16]], 20, 9, [3, 1, 0, [1, 2], [0, 0]]],
        ["d", [[30, 33]], 20, 9, [3, 1, 0, [1, 1], [1, 1]]],
    ]
    source.printed = tmp_path / "printed.json.xz"
    source.printed.write_bytes(lzma.compress(json.dumps([[[90, 60], lines, [[0, 25, 90, 25]]]]).encode()))
    page = printed(rng, source)
    assert [(line.text, line.x0, line.x1, line.order) for line in page.lines] == [
        ("a bc", 5, 16, 0),
        ("d", 30, 33, 1),
    ]
    assert page.lines[0].place == Place(3, 1, 0, (1, 2), (0, 0))
    assert (page.width_pt, page.rules) == (90, ((0, 25, 90, 25),))
    assert found(rng, page).lines


def test_open_books_have_heads_that_are_level(made: list[LinePage]) -> None:
    """The left page's comes first, with all of that page before the right one's."""
    level = 0
    for page in (page for page in made if page.genre == "spreads"):
        heads = [line for line in page.lines if ROLES[line.place.role] in ("page header", "page number")]
        sides = [line.x0 > page.width_pt / 2 for line in page.lines]
        assert sides == sorted(sides)
        first = min(line.base for line in page.lines) + 5
        level += len({line.x0 > page.width_pt / 2 for line in heads if line.base < first}) == 2
    assert level


def _of(corpus: Path, genre: str, count: int) -> list[LinePage]:
    """Returns pages of one genre as typeset."""
    source, made, seed = line_source(corpus), list[LinePage](), 0
    while len(made) < count:
        seed += 1
        try:
            made.append(composed_page(random.Random(seed), source, {genre}))
        except USELESS_DRAW:
            continue
    return [page for page in made if page.genre == genre]


def test_a_card_of_a_catalogue_is_read_before_the_one_beside_it(corpus: Path) -> None:
    """Its lines follow each other: prices level with each other are far apart in the order of reading."""
    beside = 0
    for page in _of(corpus, "catalogue", 12):
        text = [line for line in page.lines if line.place.table < 0]
        for line in text:
            level = [o for o in text if abs(o.base - line.base) < 1 and o.x0 > line.x1 + 3 * line.size]
            beside += any(other.order > line.order + 2 for other in level)
            assert all(other.order > line.order for other in level)
    assert beside > 20


def test_numbers_between_columns_of_a_patent_are_notes_read_last(corpus: Path) -> None:
    """So no sentence that goes on in the next column is parted."""
    numbered = 0
    for page in _of(corpus, "patent", 16):
        notes = [line for line in page.lines if ROLES[line.place.role] == "margin note"]
        numbered += bool(notes)
        numbers = [int(line.text) for line in notes]
        assert numbers == sorted(numbers)
        assert not any(number % 5 for number in numbers)
        after = page.lines[notes[-1].order + 1 :] if notes else ()
        assert all(ROLES[line.place.role] in ("page footer", "page number") for line in after)
    assert numbered > 2
