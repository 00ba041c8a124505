import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby, pairwise
from pathlib import Path

from ocr.training.pages.page_source import USELESS_DRAW
from ocr.training.structure.composed_lines import line_source
from ocr.training.structure.placed_lines import LinePage
from ocr.training.structure.table_pages import tight
from ocr.training.structure.true_lines import ROLES, TrueLine


def _pages(corpus: Path, style: str, count: int) -> Iterator[LinePage]:
    """Yields pages of tables as browsers print them, all of this style."""

    class Draws(random.Random):
        def choice(self, options):  # type: ignore[no-untyped-def, override]
            return style if style in list(options) else super().choice(options)

    source = line_source(corpus)
    for seed in range(count):
        with suppress(*USELESS_DRAW):
            yield tight(Draws(seed), source)


def _tables(page: LinePage) -> Iterator[dict[int, list[TrueLine]]]:
    """Yields the tables of a page: the lines of each row."""
    cells = (line for line in page.lines if line.place.table >= 0)
    for _, group in groupby(cells, key=lambda line: line.place.table):
        rows = defaultdict[int, list[TrueLine]](list)
        for line in group:
            rows[line.place.rows[0]].append(line)
        yield rows


def test_names_over_members_are_rows_and_no_headings(corpus: Path) -> None:
    named, headings, tables = 0, 0, 0
    for page in _pages(corpus, "declared", 12):
        headings += sum(ROLES[line.place.role].startswith("heading") for line in page.lines)
        for rows in _tables(page):
            tables += 1
            wide = [own[0] for own in rows.values() if own[0].place.columns == (0, 1)]
            named += len(wide)
            assert all(ROLES[line.place.role] == "table cell" for line in wide)
            whole = [own for own in rows.values() if own[0] in wide]
            assert all(line.place.columns == (0, 1) for own in whole for line in own)
    assert named > tables / 2 > headings


def test_a_cell_of_several_lines_is_one_row_that_shows_where_it_ends(corpus: Path) -> None:
    """Wherever the other cells of the row stand, the rows around are further off than its lines are from each other."""
    high = sunk = 0
    for page in _pages(corpus, "documented", 12):
        for rows in _tables(page):
            deep = {n: [line.base for line in own if line.place.columns[0] == 2] for n, own in rows.items()}
            steps = [b - a for bases in deep.values() for a, b in pairwise(bases)]
            high += sum(len(bases) > 2 for bases in deep.values())
            first = [own[0].base for n, own in rows.items() if deep[n] and own[0].base > deep[n][0] + 1]
            sunk += len(first)
            if first:
                ends = [(min(o.base for o in own), max(o.base for o in own)) for own in rows.values()]
                assert all(b[0] - a[1] > 1.1 * min(steps) for a, b in pairwise(ends))
    assert high > 20
    assert sunk > 5


def test_tables_make_room_to_stay_on_the_page(corpus: Path) -> None:
    pages = list(_pages(corpus, "parameters", 12))
    lines = [(line, page) for page in pages for line in page.lines if line.place.table >= 0]
    assert sum(line.x0 > page.width_pt for line, page in lines) < 0.01 * len(lines)
