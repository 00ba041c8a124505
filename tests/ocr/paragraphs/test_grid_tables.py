"""Tables between rules in both directions: their cells, what these span, and rows that no rule parts."""

from dataclasses import replace

from ocr.paragraphs.grid_tables import tables_in_grids
from ocr.paragraphs.line_tables import Rule
from ocr.paragraphs.text_lines import Line

XS, YS = (100.0, 200.0, 300.0, 400.0), (100.0, 140.0, 180.0, 220.0)


def across(*ys: float, x0: float = XS[0], x1: float = XS[-1]) -> list[Rule]:
    return [Rule(x0=x0, x1=x1, y=y) for y in ys]


def down(*xs: float, y0: float = YS[0], y1: float = YS[-1]) -> list[tuple[float, float, float, float]]:
    return [(x - 1, y0, x + 1, y1) for x in xs]


def line(text: str, base: float, *columns: int) -> Line:
    spans = tuple((XS[column] + 10, XS[column] + 70) for column in columns)
    return Line(text=text, spans=spans, parts=spans, base=base, size=20.0)


TEXT = [line("one", 130, 0, 1, 2)]


def places(*found: object) -> list[tuple[int, int, int, int]]:
    (table,) = tables_in_grids(*found)  # type: ignore[arg-type]
    return [(cell.row, cell.column, cell.num_rows, cell.num_columns) for cell in table]


def test_a_cell_lies_between_four_rules() -> None:
    assert places(TEXT, across(*YS), down(*XS)) == [(y, x, 1, 1) for y in range(3) for x in range(3)]
    ((first, *_),) = tables_in_grids(TEXT, across(*YS), down(*XS))
    assert first.box == (100.0, 100.0, 200.0, 140.0)


def test_sides_without_a_rule_end_where_the_rules_across_do() -> None:
    assert places(TEXT, across(*YS), down(*XS[1:-1])) == [(y, x, 1, 1) for y in range(3) for x in range(3)]


def test_edges_of_bands_part_the_rows_of_a_grid_and_the_row_right_above_it() -> None:
    def edges(*ys: float, x0: float = XS[0]) -> list[Rule]:
        return [replace(rule, is_edge=True) for rule in across(*ys, x0=x0)]

    rules, uprights = across(YS[0], *YS[2:]), down(*XS)
    grid = [(y, x, 1, 1) for y in range(3) for x in range(3)]
    assert places(TEXT, [*rules, *edges(YS[1])], uprights) == grid
    assert places(TEXT, [*rules, *edges(YS[1], x0=130)], uprights) == grid[:6], "shade within a cell"
    head = Line(text="head", spans=((120, 380),), parts=((120, 380),), base=90, size=20.0)
    assert places([head, *TEXT], [*across(*YS), *edges(70)], uprights) == [
        (0, 0, 1, 3), *((y + 1, x, 1, 1) for y, x, _, _ in grid)
    ]  # fmt: skip
    assert places(TEXT, [*across(*YS), *edges(70)], uprights) == grid, "nothing is written there"


def test_an_upright_that_stands_out_alone_begins_no_row() -> None:
    uprights = [*down(*XS[:-1]), *down(XS[-1], y1=YS[-1] + 30)]
    assert places(TEXT, across(*YS), uprights) == [(y, x, 1, 1) for y in range(3) for x in range(3)]


def test_cells_span_where_a_rule_is_missing() -> None:
    rules = [*across(YS[0], *YS[2:]), *across(YS[1], x0=XS[1])]
    uprights = [*down(XS[0], XS[1], XS[3]), *down(XS[2], y0=YS[1])]
    assert places([line("one", 130, 0)], rules, uprights) == [
        (0, 0, 2, 1), (0, 1, 1, 2), (1, 1, 1, 1), (1, 2, 1, 1), (2, 0, 1, 1), (2, 1, 1, 1), (2, 2, 1, 1)
    ]  # fmt: skip


def test_a_torn_rule_parts_text_on_both_of_its_sides() -> None:
    uprights = [*down(XS[0], XS[1], XS[3]), *down(XS[2], y0=YS[1])]
    apart, over = [line("a b", 130, 1, 2)], [line("a", 130, 0)]
    assert len(places(apart, across(*YS), uprights)) == 9
    assert len(places(over, across(*YS), uprights)) == 8


def test_rows_of_numbers_without_rules_between_are_rows() -> None:
    rules, rows = across(100.0, 140.0, 280.0), [150.0 + 30 * row for row in range(1, 4)]
    lines = [*TEXT, *(line(f"item {base} 4", base, 0, 1, 2) for base in rows)]
    found = places(lines, rules, down(*XS, y1=280.0))
    assert found == [(y, x, 1, 1) for y in range(4) for x in range(3)]
    spanned = [*across(100.0, 280.0), *across(140.0, x0=XS[1])]
    assert len(places(lines, spanned, down(*XS, y1=280.0))) == 5
    prose = [*TEXT, *(line("some words", base, 0, 1, 2) for base in rows)]
    assert len(places(prose, rules, down(*XS, y1=280.0))) == 6


def test_frames_and_lone_rules_are_no_tables() -> None:
    for rules, uprights in (
        (across(YS[0], YS[-1]), down(XS[0], XS[-1])),  # a frame
        (across(YS[0], YS[-1]), down(*XS)),  # columns of a newspaper
        (across(*YS), down(XS[1])),
        (across(*YS), [(x, 300.0, x + 2, 400.0) for x in XS]),  # apart
        (across(100.0, 102.0), down(*XS, y0=100.0, y1=102.0)),  # as thick as they are drawn exact
        (across(*YS, x0=200.0, x1=202.0), down(200.0, 202.0)),
    ):
        assert tables_in_grids(TEXT, rules, uprights) == []
    assert tables_in_grids([], across(*YS), down(*XS)) == []
