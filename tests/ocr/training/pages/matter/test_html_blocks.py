"""Every maker of blocks: what it writes is what the page shows, inside its box."""

import re
from pathlib import Path

import numpy as np
import pytest

from ocr.training.pages.furniture import footer, footnotes, header, margin_note
from ocr.training.pages.genres import GENRES
from ocr.training.pages.matter.contents import contents
from ocr.training.pages.matter.html_blocks import Block, Maker
from ocr.training.pages.matter.prose import small_capitals, spaced_capitals
from ocr.training.pages.tabular.receipts import receipt
from ocr.training.pages.truth.grounded import regions
from ocr.training.pages.truth.page_truth import extract
from tests.ocr.training.writers import WIDTH_PT, Desk

MAKERS: dict[str, Maker] = {
    make.__name__: make
    for make in (
        *(make for genre in GENRES for make in (*genre.first, *(m for m, _ in genre.blocks))),
        *(header, footer, footnotes, margin_note),
    )
}


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_what_is_written_is_what_stands_there(name: str, corpus: Path) -> None:
    for seed in range(4):
        desk = Desk(corpus, seed)
        blocks = MAKERS[name](desk.writer)
        sheet = desk.sheet(blocks)
        glyphs = extract(sheet)
        found = regions(sheet, glyphs)  # finds every character, or raises
        kinds = [block.kind for block in blocks]
        assert [region.kind for region in found] == kinds
        shown = {int(i) for region in found for i in region.glyph if i >= 0}
        marked = np.flatnonzero(~np.isnan(glyphs.box_pt[:, 0]))
        assert len(shown | {i for i in marked.tolist() if glyphs.text[i] == "-"}) == len(marked)
        if len(marked):
            assert glyphs.box_pt[marked, 0].min() > 18
            assert glyphs.box_pt[marked, 2].max() < 20 + WIDTH_PT + 2


def test_pictures_stand_where_they_are_said_to_stand(corpus: Path) -> None:
    desk = Desk(corpus, 5)
    desk.writer.images["e1"] = (
        desk.writer.pictures.png(desk.writer.rng, 60, 60) if desk.writer.pictures else b""
    )
    picture = Block(
        kind="image", element="e1", html='<p><img id=e1 src="e1" style="width:90pt;height:70pt"></p>'
    )
    sheet = desk.sheet(
        [Block(kind="text", html="<p>above</p>"), picture, Block(kind="text", html="<p>below</p>")]
    )
    drawn = sheet.display.get_pixmap(alpha=0)
    grey = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.width, drawn.n)[..., :3].mean(2)
    [image] = [region for region in regions(sheet, extract(sheet)) if region.kind == "image"]
    x0, y0, x1, y1 = (round(v) for v in image.box_pt)
    assert (x1 - x0, y1 - y0) == (90, 70)
    grey = grey.copy()
    inside = grey[y0 : y1 + 1, x0 : x1 + 1].copy()
    grey[y0 - 1 : y1 + 1, x0 - 1 : x1 + 1] = 255
    assert (inside < 250).any()
    ink_rows = np.flatnonzero((grey < 200).any(1))  # the two lines alone are left
    assert len(ink_rows) < 30


def test_leaders_lead_to_the_right_edge(corpus: Path) -> None:
    for seed in range(12):
        desk = Desk(corpus, seed)
        glyphs = extract(desk.sheet(contents(desk.writer)))
        lines = [line for line in glyphs.text.split("\n") if ". . . ." in line or "....." in line]
        ends = [glyphs.text.index(line) + len(line) - 1 for line in lines]
        assert all(glyphs.text[i].isdigit() for i in ends)
        assert all(20 + 0.9 * WIDTH_PT < glyphs.box_pt[i, 2] < 22 + WIDTH_PT for i in ends)


def test_amounts_of_a_receipt_end_in_one_column(corpus: Path) -> None:
    for seed in range(5):
        [slip] = receipt(Desk(corpus, seed).writer)
        lines = [line for line in slip.visible().split("\n") if re.search(r"[.,]\d\d( A)?$", line)]
        widths = {len(line) for line in lines if " x " not in line}
        assert len(lines) > 3
        assert len(widths) == 1


def test_capitals_are_read_as_letters_without_gaps(corpus: Path) -> None:
    desk = Desk(corpus, 1)
    html = f"<p>{spaced_capitals('war and peace')}</p><p>{small_capitals('Leo Tolstoy')}</p>"
    text = extract(desk.sheet([Block(kind="text", html=html)])).text
    assert text.split() == ["WAR", "AND", "PEACE", "LEO", "TOLSTOY"]


def test_numbers_of_contents_count_up_and_long_titles_go_on_below(corpus: Path) -> None:
    numbered = two_lines = 0
    for seed in range(40):
        desk = Desk(corpus, seed)
        desk.writer.width_pt = 180
        block = contents(desk.writer)[-1]
        numbers = [
            tuple(map(int, n.split("."))) for n in re.findall(r">((?:\d+\.)+\d+)[ .\u00a0\u2003]", block.html)
        ]
        numbered += len(numbers) > 2
        assert numbers == sorted(numbers)
        assert all(part > 0 for number in numbers for part in number)
        two_lines += bool(re.search(r"<p class=line[^>]*>(<b>)?[^<]*[^\d<](</b>)?</p>", block.html))
    assert numbered > 8
    assert two_lines > 5
