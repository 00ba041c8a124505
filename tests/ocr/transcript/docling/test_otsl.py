"""Tables in OTSL against a plain reading of the notation's rules, and against HTML written by hand."""

import random

from ocr.transcript.docling.otsl import TagCell, table
from tests.effort import effort


def grid(written: str) -> list[list[TagCell]]:
    """Rows are lines; cells are separated by blanks, each a tag and after a colon its text."""
    cells = [[cell.partition(":") for cell in line.split()] for line in written.split("\n")]
    return [[TagCell(kind=kind, text=text) for kind, _, text in row] for row in cells]


def test_cells_that_span_make_html() -> None:
    # docling-core, test/data/doc/constructed_document.yaml.dt
    found = table(
        grid("fcel:Product fcel:Years lcel\nucel fcel:2016 fcel:2017\nfcel:Apple fcel:49823 fcel:695944")
    )
    assert found == (
        '<table><tr><td rowspan="2">Product</td><td colspan="2">Years</td></tr><tr><td>2016</td><td>2017</td></tr>'
        "<tr><td>Apple</td><td>49823</td><td>695944</td></tr></table>",
        "Product\tYears\n2016\t2017\nApple\t49823\t695944",
    )


def test_a_cell_may_span_rows_and_columns_at_once() -> None:
    marked, _ = table(grid("ched:a lcel ched:b\nucel xcel fcel:c\nfcel:d fcel:e<f ecel"))
    assert marked == (
        '<table><tr><th rowspan="2" colspan="2">a</th><th>b</th></tr><tr><td>c</td></tr>'
        "<tr><td>d</td><td>e&lt;f</td><td></td></tr></table>"
    )


def test_other_tables_are_githubs() -> None:
    rows = [
        [TagCell(kind="ched", text="a|b"), TagCell(kind="ched", text="c")],
        [
            TagCell(kind="fcel", text="one\ntwo"),
            TagCell(kind="ecel", text=""),
            TagCell(kind="fcel", text="3"),
        ],
        [TagCell(kind="fcel", text="4")],
    ]
    assert table(rows) == (
        "| a\\|b | c |  |\n| --- | --- | --- |\n| one<br>two |  | 3 |\n| 4 |",
        "a|b\tc\none two\t\t3\n4",
    )
    assert table([]) == ("", "")


def test_spans_that_are_no_rectangle_leave_every_place_a_cell() -> None:
    marked, plain = table(grid("fcel:a lcel\nfcel:b ucel"))
    assert marked == "| a |  |\n| --- | --- |\n| b |  |"
    assert plain == "a\t\nb\t"
    marked, plain = table(grid("lcel:a ucel:b xcel:c"))
    assert marked == '<table><tr><td>a</td><td colspan="2">b c</td></tr></table>'
    assert plain == "a\tb c"


def test_each_place_of_the_grid_is_covered_once() -> None:
    """Rectangles that tile a grid at random come back as the spans that they were."""
    rng = random.Random(0)
    for _ in range(200):
        height, width = rng.randint(1, 6), rng.randint(1, 6)
        kinds = [[""] * width for _ in range(height)]
        expected = []
        for row in range(height):
            for column in range(width):
                if kinds[row][column]:
                    continue
                most = next((x for x in range(column, width) if kinds[row][x]), width) - column
                rows, columns = rng.randint(1, height - row), rng.randint(1, most)
                for y in range(rows):
                    for x in range(columns):
                        kinds[row + y][column + x] = (
                            "xcel" if x and y else "lcel" if x else "ucel" if y else "fcel"
                        )
                expected.append((rows, columns))
        marked, _ = table([[TagCell(kind=kind, text="") for kind in line] for line in kinds])
        if all(spans == (1, 1) for spans in expected):
            assert marked.count("|") == (height + 1) * (width + 1)
            continue
        assert marked == "<table>" + "".join(_rows(kinds, expected)) + "</table>"


def _rows(kinds: list[list[str]], spans: list[tuple[int, int]]) -> list[str]:
    left = iter(spans)
    lines = []
    for line in kinds:
        cells = ""
        for kind in line:
            if kind == "fcel":
                rows, columns = next(left)
                cells += (
                    "<td"
                    + f' rowspan="{rows}"' * (rows > 1)
                    + f' colspan="{columns}"' * (columns > 1)
                    + "></td>"
                )
        lines.append(f"<tr>{cells}</tr>")
    return lines


def test_one_long_row_does_not_make_all_others_long() -> None:
    rows = [
        [TagCell(kind="fcel", text="")] * 20_000,
        *([TagCell(kind="fcel", text="a")] for _ in range(20_000)),
    ]
    assert effort(lambda: table(rows)) < 130
