import random

import pytest

from ocr.training.structure.placed_lines import LinePage
from ocr.training.structure.true_lines import Place, TrueLine
from tests.benchmarks.quality.printed_pages import is_taught, parts, stored, truth_of

_TABLE = (
    '<table class="x"><tr><th>Name</th><th>Value</th></tr><tr><td><b>a</b></td><td><p>one</p></td></tr>'
    "<tr><td>c</td><td>two</td></tr></table>"
)


def test_a_part_is_a_table_with_what_stands_around_it() -> None:
    text = f"<body><h2>Head</h2><p>before</p>{_TABLE}<ul><li>after</li></ul><p>{'far ' * 9}</p></body>"
    found = {part for seed in range(20) for part in parts(random.Random(seed), text)}
    assert len(found) > 2
    assert all(_TABLE in part for part in found)
    assert any(part.endswith("</ul>") for part in found)


@pytest.mark.parametrize(
    "table", [_TABLE.replace("</tr>", "", 1), _TABLE.replace("one", "один"), "<table></table>"]
)
def test_tables_that_are_not_whole_or_in_other_scripts_are_left_out(table: str) -> None:
    assert not list(parts(random.Random(0), f"<p>before</p>{table}"))


def test_the_truth_of_a_table_is_its_cells() -> None:
    markup = truth_of(f'<h2 class="y">Head</h2>{_TABLE}<pre>x <i>= 1</i></pre><dl><dt>t</dt><dd>u</dd></dl>')
    assert markup.startswith("<!--paragraph--><h2>Head</h2><!--table--><table><tr><th>Name</th>")
    assert "<tr><td>a</td><td>one</td></tr>" in markup
    assert markup.endswith("<!--code-->x = 1<!--paragraph--><dl><p>t</p><p>u</p></dl>")
    assert "<table class=headless>" in truth_of(_TABLE.replace("th>", "td>"))


def test_a_row_of_a_name_and_its_value_is_no_head() -> None:
    rows = "<tr><th>Name</th><td>a</td></tr><tr><th>Place</th><td>b</td></tr>"
    assert "<table class=headless><tr><th>" in truth_of(f"<table>{rows}</table>")
    assert "<table><tr>" in truth_of(f"<table><tr><td></td><th>A</th><th>B</th></tr>{rows}</table>")
    assert "<table><tr>" in truth_of(f"<table><thead>{rows.replace('th>', 'td>')}</thead></table>")


def test_rows_that_lead_to_other_pages_are_not_taught() -> None:
    def page(*texts: str) -> LinePage:
        own = {"x0": 1.0, "x1": 2.04, "base": 9.0, "size": 8.0, "words": ((1.0, 2.04),), "order": 0}
        cells = [TrueLine(text=text, place=Place(1, 6, 0), **own) for text in texts]  # type: ignore[arg-type]
        return LinePage.of("printed", (50.0, 60.0), cells)

    assert is_taught(page("a", "b", "Next"))
    assert not is_taught(page("Prev", "b", "Next"))
    assert stored(page("a"))[1] == [["a", [[1.0, 2.0]], 9.0, 8.0, [1, 6, 0, [0, 0], [0, 0]]]]
