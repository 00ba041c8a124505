from pathlib import Path

import pymupdf

from tests.benchmarks.quality.outlines import chosen, measured


def test_headings_are_compared_with_what_an_outline_names(tmp_path: Path) -> None:
    with pymupdf.open() as document:
        for _ in range(12):
            document.new_page()
        document.save(tmp_path / "none.pdf")
        document.set_toc([[1, f"{n} Harbours", n] for n in range(1, 13)])
        document.save(tmp_path / "some.pdf")
    assert chosen(tmp_path) == [tmp_path / "some.pdf"]
    read = {3: "# 4 Harbours\ntext\n\n## Boats", 4: "## The 5 Harbours of Kent", 5: "6 Harbours"}
    assert (
        measured(chosen(tmp_path), 3, lambda page: read[page.number])
        == "2 of 3 headings that outlines name, 1 others"
    )
