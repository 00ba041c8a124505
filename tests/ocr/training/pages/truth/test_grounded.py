from pathlib import Path

import numpy as np
import pymupdf
import pytest

from ocr.training.pages.matter.html_blocks import Block
from ocr.training.pages.truth.grounded import regions, to_thousandths
from ocr.training.pages.truth.page_truth import Sheet, UnreadableError, extract
from ocr.transcript.grounding import LABELS
from tests.ocr.training.writers import Desk

LONG = " ".join(f"internationalization responsibility number{i}" for i in range(60))


def text(html: str) -> Block:
    return Block(kind="text", html=html)


def test_a_paragraph_over_two_columns_is_two_regions(corpus: Path) -> None:
    desk = Desk(corpus, seed=4, tight=True)
    sheet = desk.sheet([text(f"<p>{LONG}</p>")], (20, 20, 170, 300), (200, 20, 350, 1900))
    glyphs = extract(sheet)
    first, second = regions(sheet, glyphs)
    joined = first.text.removesuffix("-") + ("" if first.text.endswith("-") else " ") + second.text
    assert joined.replace(" ", "") == LONG.replace(" ", "")
    assert first.box_pt[2] < 175 < 195 < second.box_pt[0]
    for region in (first, second):
        assert "\n" not in region.text
        for mark, i in zip(region.text, region.glyph, strict=True):
            assert (i < 0) == mark.isspace()
            assert i < 0 or glyphs.text[i] == mark


def test_what_does_not_fit_is_not_in_the_answer(corpus: Path) -> None:
    table = "".join(f"<tr><td>row{i}</td><td>{i}</td></tr>" for i in range(40))
    blocks = [Block(kind="table", html=f"<table id=e1>{table}</table>", element="e1"), text("<p>after</p>")]
    sheet = Desk(corpus, 2).sheet(blocks, (20, 20, 300, 200))
    [region] = regions(sheet, extract(sheet))
    rows = region.text.split("\n")
    assert rows[0] == "| row0 | 0 |"
    assert len(rows) < 30
    assert rows[-1] == f"| row{len(rows) - 2} | {len(rows) - 2} |"


def test_regions_are_markdown_of_kinds_that_production_knows(corpus: Path) -> None:
    blocks = [
        Block(kind="title", html="<h1>Title</h1>"),
        text("<p>Some <b>bold</b> words.</p>"),
        Block(kind="list", html="<ul><li>first</li><li>second</li></ul>"),
        Block(kind="code", html="<pre>if x:\n    y</pre>"),
    ]
    sheet = Desk(corpus, 3).sheet(blocks)
    found = regions(sheet, extract(sheet))
    assert [(region.kind, region.text) for region in found] == [
        ("title", "# Title"), ("text", "Some bold words."), ("list", "- first\n- second"),
        ("code", "```\nif x:\n    y\n```"),
    ]  # fmt: skip
    boxes = to_thousandths(found, pymupdf.Matrix(1, 1), (0, 0), (sheet.width_pt, sheet.height_pt))
    assert all(0 <= x0 < x1 <= 999 and 0 <= y0 < y1 <= 999 for x0, y0, x1, y1 in boxes)
    assert {region.kind for region in found} <= LABELS


def test_boxes_hold_the_ink_and_little_else(corpus: Path) -> None:
    sheet = Desk(corpus, 6).sheet([text("<p class=left>gypsy lines<br>HIGH dj</p>")])
    drawn = sheet.display.get_pixmap(matrix=pymupdf.Matrix(2, 2), colorspace=pymupdf.csGRAY, alpha=0)
    pixels = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.stride)[:, : drawn.width]
    rows, columns = np.flatnonzero((pixels < 128).any(1)), np.flatnonzero((pixels < 128).any(0))
    [region] = regions(sheet, extract(sheet))
    ink = (columns[0] / 2, rows[0] / 2, (columns[-1] + 1) / 2, (rows[-1] + 1) / 2)
    assert region.box_pt == pytest.approx(ink, abs=2.5)


def test_text_that_nobody_wrote_is_refused(corpus: Path) -> None:
    sheet = Desk(corpus, 0).sheet([text("<p>some words</p>")])
    [flow] = sheet.flows
    other = type(flow)(blocks=(text("<p>some other</p>"),), frames=flow.frames, rectangles={})
    forged = Sheet(display=sheet.display, width_pt=sheet.width_pt, height_pt=sheet.height_pt, flows=(other,))
    with pytest.raises(UnreadableError):
        regions(forged, extract(forged))
