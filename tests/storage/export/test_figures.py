"""Figures have references with their captions; what a caption or a document says never becomes markup."""

import io
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from ocr.types import Block
from storage.database import open_for_reading
from storage.errors import ExportPathError
from storage.export import html, markdown
from storage.export.export_files import Written, export_to_folder
from storage.export.figures import DocumentFigures, Figure, Shown, placed, with_urls
from storage.export.formats import FORMATS, Format
from storage.export.rows import BlockRow, PageRow
from storage.records.store import Store
from storage.types import BoxPx
from tests.storage.export.page_rows import a_row, as_structured
from tests.storage.sample_records import SHA_A, SHA_B, a_file, a_page, new_run

BOX = (10, 20, 30, 40)


def block(label: str, text: str = "", box: BoxPx | None = BOX) -> BlockRow:
    return BlockRow(label=label, box=box, text=text, confidence=None, source="ocr")


def page_of(text: str, *blocks: BlockRow, **changes: Any) -> PageRow:
    return a_row(text, 3, blocks=list(blocks), **changes)


def drawn(row: PageRow, figures: Sequence[Figure]) -> list[str | None]:
    return [f"a%20b.figures/{row['page']:04}_{figure.number}.jpg" for figure in figures]


def undrawn(row: PageRow, figures: Sequence[Figure]) -> list[str | None]:
    return [None] * len(figures)


def exported(row: PageRow) -> str:
    stream = io.StringIO()
    markdown.write(as_structured(row), stream, drawn)
    return stream.getvalue().split("-->\n", 1)[1].strip("\n")


def test_a_figure_is_an_image_with_its_caption() -> None:
    row = page_of(
        "one\n\n![](images/3_0.jpg)\n\nFig. 1: <b>Trees</b>\n\n![](images/3_1.jpg)\n\ntwo",
        *(block("text", "one"), block("image"), block("image_caption", "Fig. 1: <b>Trees</b>")),
        *(block("image"), block("text", "two")),
    )
    assert exported(row) == (
        "one\n\n![Fig. 1: Trees](a%20b.figures/0003_1.jpg)\n\nFig. 1: <b>Trees</b>\n\n"
        "![page 3, figure 2](a%20b.figures/0003_2.jpg)\n\ntwo"
    )


def test_a_figure_without_a_reference_gets_one_where_it_stands() -> None:
    row = page_of(
        "![](images/3_0.jpg)\n\none\n\ntwo",
        *(block("image"), block("text", "one"), block("figure_title", "Trees"), block("figure")),
        *(block("text", "two"), block("chart")),
    )
    assert exported(row) == (
        "![page 3, figure 1](a%20b.figures/0003_1.jpg)\n\none\n\n![Trees](a%20b.figures/0003_2.jpg)\n\ntwo\n\n"
        "![page 3, figure 3](a%20b.figures/0003_3.jpg)"
    )
    assert exported(page_of("", block("picture"))) == "![page 3, figure 1](a%20b.figures/0003_1.jpg)"


def test_what_somebody_took_out_and_what_has_no_box_is_not_drawn() -> None:
    corrected = page_of("one", block("text", "one"), block("image"), block("chart"), corrected_by="me")
    assert exported(corrected) == "one"
    assert exported(page_of("![](images/3_0.jpg)", block("image", box=None))) == "![](images/3_0.jpg)"


def test_a_figure_that_cannot_be_drawn_is_its_caption_in_brackets() -> None:
    row = page_of("![](images/3_0.jpg)\n\na [b]", block("image"), block("image_caption", "a [b]"))
    text, figures = placed(row, undrawn)
    assert with_urls(text, figures) == "\\[a \\[b\\]\\]\n\na [b]"
    stream = io.StringIO()
    html.write(as_structured(row), stream, undrawn)
    assert '<span class="figure">[a [b]]</span>' in stream.getvalue()


@pytest.mark.parametrize(
    "caption",
    [
        "x](https://e.example/a.jpg) ![",
        "`a",
        "a`](b) `",
        "\\](x)",
        "<img src=x>",
        "&#33;[a](b)",
        "*a_b*",
        "![x",
    ],
)
def test_a_caption_is_never_markup(caption: str) -> None:
    row = page_of("![](images/3_0.jpg) `", block("image"), block("image_caption", caption))
    (paragraph,) = [
        token for token in MarkdownIt("commonmark").parse(exported(row)) if token.type == "inline"
    ]
    (image,) = [token for token in paragraph.children or [] if token.type not in ("text", "text_special")]
    assert (image.type, image.attrs["src"]) == ("image", "a%20b.figures/0003_1.jpg")
    plain = "" if caption.startswith("<") else caption
    assert image.content.replace("\\", "") == (plain or "page 3, figure 1").replace("\\", "")


def test_a_figure_is_within_the_html_once() -> None:
    """However often a page refers to it; no other image is loaded."""
    row = page_of(
        "![](images/3_0.jpg) ![](images/3_0.jpg) ![](images/3_9.jpg) ![](data:image/png;base64,AAAA)",
        *(block("image"), block("image_caption", 'a "b" <c')),
    )
    stream = io.StringIO()
    html.write(as_structured(row), stream, lambda *_: ["data:image/jpeg;base64,AAAA"])
    found = stream.getvalue()
    assert found.count("<img") == 1
    assert '<img src="data:image/jpeg;base64,AAAA" alt="a &quot;b&quot; &lt;c">' in found
    assert found.count('<span class="figure">[figure]</span>') == 2
    assert found.count("base64,AAAA") == 2  # the second as text


def test_a_figure_has_the_caption_behind_it() -> None:
    row = page_of(
        '![](images/3_0.jpg)\n\nFigure 1. A "b"\n\n![](images/3_1.jpg)\n\nA text.',
        *(
            block("image"),
            block("image_caption", 'Figure 1. A "b"'),
            block("image"),
            block("text", "A text."),
        ),
    )
    stream = io.StringIO()
    html.write(as_structured(row), stream, lambda *_: 2 * ["data:image/jpeg;base64,AAAA"])
    found = stream.getvalue()
    assert found.count("<figcaption>") == 1
    assert "<figcaption><em>Figure 1. A &quot;b&quot;</em></figcaption></figure>" in found
    assert "<p>A text.</p>" in found


def test_without_a_drawer_the_markdown_stays() -> None:
    row = page_of("![](images/3_0.jpg)\n\none", block("image"), block("text", "one"), block("figure"))
    assert placed(row, None) == ("![](images/3_0.jpg)\n\none", {})
    assert (
        with_urls("![](images/3_0.jpg)", {"images/3_1.jpg": Shown(url="x", alt="")}) == "![](images/3_0.jpg)"
    )


JPEG = b"\xff\xd8\xff of a figure"


def draw(row: PageRow, boxes: Sequence[BoxPx]) -> list[bytes] | str:
    return [JPEG + bytes(box) for box in boxes]


@pytest.fixture
def filled(path: Path) -> Path:
    """Two documents of one name in two folders, with three figures on two pages, and one with a figure."""
    blocks = (Block(label="image", text="", box_px=(1, 2, 3, 4)),) * 2
    two, one = "![](images/1_0.jpg)\n\n![](images/1_1.jpg)", "![](images/2_0.jpg)"
    with Store(path) as store:
        run_id = new_run(store, a_file("/in/x/a b.pdf"), a_file("/in/y/a b.pdf", SHA_B))
        store.record_page(run_id, a_page("", markdown=two, blocks=blocks, width_px=9, height_px=9))
        store.record_page(run_id, a_page("", 1, markdown=one, blocks=blocks[:1], width_px=9, height_px=9))
        store.record_page(run_id, a_page("", sha256=SHA_B, markdown=one, blocks=blocks[:1]))
    return path


def exported_files(database: Path, folder: Path, form: Format = FORMATS["md"], drawer: Any = draw) -> Written:
    with open_for_reading(str(database)) as db:
        return export_to_folder(db, form, str(folder), draw=drawer)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_figures_lie_beside_their_document(filled: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = exported_files(filled, out)
    assert (done.files, done.figures, done.undrawn) == (2, 4, [])
    assert files(out) == [
        *("x/a b.pdf.figures/0001_1.jpg", "x/a b.pdf.figures/0001_2.jpg", "x/a b.pdf.figures/0002_1.jpg"),
        *("x/a b.pdf.md", "y/a b.pdf.figures/0001_1.jpg", "y/a b.pdf.md"),
    ]
    assert (out / "x/a b.pdf.figures/0002_1.jpg").read_bytes() == JPEG + bytes((1, 2, 3, 4))
    assert "](a%20b.pdf.figures/0002_1.jpg)" in (out / "x/a b.pdf.md").read_text()


def test_what_cannot_be_drawn_is_said_once(filled: Path, tmp_path: Path) -> None:
    done = exported_files(
        filled, tmp_path / "out", drawer=lambda row, _: "has changed" if "x" in row["path"] else [b""]
    )
    assert files(tmp_path / "out") == ["x/a b.pdf.md", "y/a b.pdf.md"]
    assert done.undrawn == [
        "/in/x/a b.pdf: pages 1, 2: has changed",
        "/in/y/a b.pdf: page 1: a figure has no place on the page",
    ]
    assert "\\[page 1, figure 2\\]" in (tmp_path / "out/x/a b.pdf.md").read_text()


def test_a_document_that_is_not_written_leaves_no_figures(filled: Path, tmp_path: Path) -> None:
    def interrupted(rows: Any, stream: Any, place: Any) -> None:
        markdown.write(rows, stream, place)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exported_files(filled, tmp_path / "out", replace(FORMATS["md"], write_document=interrupted))
    assert files(tmp_path / "out") == []
    assert os.listdir(tmp_path / "out" / "x") == []


def test_no_document_is_replaced_by_a_figure(path: Path, tmp_path: Path) -> None:
    source = tmp_path / "out" / "a.pdf.figures" / "0001_1.jpg"
    source.parent.mkdir(parents=True)
    source.write_bytes(b"a document")
    block = Block(label="image", text="", box_px=(1, 2, 3, 4))
    with Store(path) as store:
        run_id = new_run(store, a_file(str(tmp_path / "out" / "a.pdf")), a_file(str(source), SHA_B))
        store.record_page(run_id, a_page("", markdown="![](images/1_0.jpg)", blocks=(block,), sha256=SHA_A))
    with pytest.raises(ExportPathError, match=r"0001_1\.jpg: is one of the documents"):
        exported_files(path, tmp_path / "out")
    assert source.read_bytes() == b"a document"
    assert not (tmp_path / "out" / "a.pdf.md").exists()


def test_html_embeds_figures_up_to_a_size(filled: Path, tmp_path: Path) -> None:
    done = exported_files(filled, tmp_path / "out", FORMATS["html"])
    assert files(tmp_path / "out") == ["x/a b.pdf.html", "y/a b.pdf.html"]
    assert done.figures == 4
    assert (tmp_path / "out/x/a b.pdf.html").read_text().count("<img src=") == 3
    figures = [Figure(number=number, box=(0, 0, 1, 1), alt="", reference="") for number in (1, 2, 3)]
    within = DocumentFigures(lambda *_: [bytes(60), bytes(50), bytes(40)], most_bytes=100)
    assert [url is None for url in within.place(a_row("", 7), figures)] == [False, True, False]
    assert within.number == 2
    assert (within.shortfall() or "").startswith("/in/a.pdf: page 7: a file embeds no more than ")
