"""Every maker of blocks: what it writes is what the page shows, inside its box."""

import re
from pathlib import Path

import numpy as np
import pytest

from ocr.training.pages.blocks.block_templates import small_capitals, spaced_capitals
from ocr.training.pages.blocks.contents import contents
from ocr.training.pages.blocks.makers import MAKERS
from ocr.training.pages.blocks.page_writer import visible
from ocr.training.pages.genres import GENRES
from ocr.training.pages.page_truth import clean, extract
from tests.ocr.training.writers import WIDTH_PT, Desk


def letters(text: str) -> str:
    """Returns the letters alone: MuPDF draws bullets and numbers of lists, and adds hyphens at the ends of lines."""
    return "".join(clean(mark) for mark in text if mark.isalpha() or "\ufb00" <= mark <= "\ufb06")


def test_genres_name_makers_and_every_maker_is_of_one_or_of_a_pages_edges() -> None:
    named = {name for genre in GENRES for name in (*genre.first, *genre.blocks)}
    assert named | {"header", "footer", "footnotes", "margin_note", "line_numbers"} == set(MAKERS)


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_what_is_written_is_what_stands_there(name: str, corpus: Path) -> None:
    for seed in range(4):
        desk = Desk(corpus, seed)
        block = MAKERS[name](desk.writer)
        glyphs = extract(desk.sheet(block))
        assert letters(glyphs.text) == letters(visible(block))
        marked = np.flatnonzero(~np.isnan(glyphs.box_pt[:, 0]))
        assert len(marked) or "<img" in block
        if len(marked):
            assert glyphs.box_pt[marked, 0].min() > 18
            assert glyphs.box_pt[marked, 2].max() < 20 + WIDTH_PT + 2


def test_leaders_lead_to_the_right_edge(corpus: Path) -> None:
    for seed in range(12):
        desk = Desk(corpus, seed)
        glyphs = extract(desk.sheet(contents(desk.writer)))
        lines = [line for line in glyphs.text.split("\n") if ". . . ." in line or "....." in line]
        ends = [glyphs.text.index(line) + len(line) - 1 for line in lines]
        assert all(glyphs.text[i].isdigit() for i in ends)
        assert all(20 + 0.9 * WIDTH_PT < glyphs.box_pt[i, 2] < 22 + WIDTH_PT for i in ends)


def test_capitals_are_read_as_letters_without_gaps(corpus: Path) -> None:
    desk = Desk(corpus, 1)
    html = f"<p>{spaced_capitals('war and peace')}</p><p>{small_capitals('Leo Tolstoy')}</p>"
    text = extract(desk.sheet(html)).text
    assert text.split() == ["WAR", "AND", "PEACE", "LEO", "TOLSTOY"]


def test_numbers_of_contents_count_up_and_long_titles_go_on_below(corpus: Path) -> None:
    numbered = two_lines = 0
    for seed in range(40):
        desk = Desk(corpus, seed)
        desk.writer.width_pt = 180
        block = contents(desk.writer)
        numbers = [
            tuple(map(int, n.split("."))) for n in re.findall(r">((?:\d+\.)+\d+)[ .\u00a0\u2003]", block)
        ]
        numbered += len(numbers) > 2
        assert numbers == sorted(numbers)
        assert all(part > 0 for number in numbers for part in number)
        two_lines += bool(re.search(r"<p class=line[^>]*>(<b>)?[^<]*[^\d<](</b>)?</p>", block))
    assert numbered > 8
    assert two_lines > 5
