from pathlib import Path

import pymupdf

from tests.benchmarks.quality.printed_tables import is_usable, measured

ROWS = (
    ("Column", "Type", "Description"),
    ("version", "integer", "Number of the format"),
    ("pages", "bigint", "How many pages"),
    ("rows", "bigint", "How many rows"),
    ("free", "float", "Share of white"),
)
TABLE = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in ROWS)


def test_tables_of_text_that_fit_on_a_page_are_taken() -> None:
    assert is_usable(f"<table>{TABLE}</table>")
    assert not is_usable(f"<table>{TABLE[:60]}</table>")
    assert not is_usable(f"<table>{TABLE.replace('integer', '<img src=a.png>')}</table>")
    assert not is_usable(f"<table>{TABLE.replace('integer', 'число')}</table>")


def test_a_printed_table_is_compared_with_its_markup(tmp_path: Path) -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=200)
        for number, row in enumerate(ROWS):
            for x, cell in zip((40, 130, 220), row, strict=True):
                page.insert_text((x, 50 + 18 * number), cell, fontsize=11)
        document.save(tmp_path / "000-a.pdf")
    (tmp_path / "000-a.html").write_text(f"<table>{TABLE}</table>")
    told = list(measured(tmp_path))
    assert [line.split()[0] for line in told] == ["all", "without"]
    assert float(told[0].split()[3]) > 0.9
