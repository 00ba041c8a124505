"""Documents are made with their truth, and an export is compared with it."""

import json
from pathlib import Path
from typing import Any

import pymupdf

from tests.benchmarks.quality.documents import letters, main


def test_a_document_is_made_with_what_it_says(tmp_path: Path) -> None:
    assert main(["make", str(tmp_path), "--count", "1", "--seed", "3"]) == 0
    truth = json.loads((tmp_path / "truth.json").read_text())["000.pdf"]
    with pymupdf.open(tmp_path / "pdf" / "000.pdf") as document:
        text = letters("".join(page.get_text() for page in document))
    assert len(truth["headings"]) > 3
    assert all(letters(heading) in text for _, heading in truth["headings"])
    assert all(letters(cell) in text for _, rows in truth["tables"] for row in rows for cell in row)


def test_levels_furniture_and_tables_are_counted(tmp_path: Path, capsys: Any) -> None:
    rows = [["a", "b"], ["1", "2"], ["3", "4"]]
    truth = {
        "headings": [[1, "One"], [2, "Two"], [2, "Three"]],
        "tables": [[True, rows], [False, rows[:2]]],
        "furniture": ["7", "8"],
    }
    texts = [("section_header", "One", 1), ("section_header", "two", 3), ("section_header", "Four", 1)]
    cells = [{"start_row_offset_idx": at, "text": cell} for at, row in enumerate(rows) for cell in row]
    document = {
        "texts": [
            *(
                {"label": label, "text": text, "level": level, "content_layer": "body"}
                for label, text, level in texts
            ),
            {"label": "page_footer", "text": "7", "content_layer": "furniture"},
        ],
        "tables": [{"data": {"table_cells": cells}}],
    }
    (tmp_path / "truth.json").write_text(json.dumps({"a.pdf": truth}))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.pdf.docling.json").write_text(json.dumps(document))
    assert main(["measure", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "headings: 3, found 2 of 3 (F1 0.667)",
        "levels right: 1 of 2 (0.500)",
        "furniture: 2, told 1, other text told so: 0",
        "tables over pages: 1, joined 1, all cells right 1; on one page: 1, all cells right 0; tables written: 1",
    ]


def test_headings_are_compared_with_bookmarks(tmp_path: Path, capsys: Any) -> None:
    with pymupdf.open() as document:
        document.new_page()
        document.set_toc([[1, "1 Boats", 1], [2, "1.1 Sails", 1], [1, "Nets", 1]])
        document.save(tmp_path / "a.pdf")
    texts = [("1 Boats", 2), ("Sails", 3), ("Ropes", 2)]
    items = [{"label": "section_header", "text": text, "level": level} for text, level in texts]
    (tmp_path / "a.pdf.docling.json").write_text(json.dumps({"texts": items}))
    assert main(["bookmarks", str(tmp_path), str(tmp_path)]) == 0
    said = "3 bookmarks, 2 are headings, 2 with the right level; 1 other headings"
    assert capsys.readouterr().out.splitlines() == [f"a.pdf: {said}", f"all: {said}"]
