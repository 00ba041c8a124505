"""Lines that the finder missed are read where their ink is; ink outside lines is told from pictures and paper."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw
from pymupdf import get_text_length

from ocr.imaging.pieces import Piece
from ocr.line_reader import page_ink
from ocr.line_reader.found_lines import LineWord, ReadLine, Shades, TextLine
from ocr.line_reader.missed_lines import _is_likely, _is_more, with_missed
from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.reading import darkness_of
from tests.ocr.line_reader.printed import printed, shipped

SIDE = 1000


def bars(rows: range, grey: int = 20, paper: int = 240) -> np.ndarray:
    """Rows of strokes, [1000, 1000] uint8."""
    page = np.full((SIDE, SIDE), paper, np.uint8)
    for top in rows:
        page[top : top + 12, 100:900:7] = grey
        page[top : top + 12, 101:900:7] = grey
    return page


def line(baseline: float, scale: float = 1.0) -> TextLine:
    left, right = round(90 * scale), round(910 * scale)
    return TextLine(
        left=left,
        right=right,
        baseline=np.full(right - left, baseline * scale, np.float32),
        size=16.0 * scale,
    )


ROWS = range(100, 900, 40)


@pytest.mark.parametrize("scale", [1, 2])
def test_what_is_within_lines_is_read(scale: int) -> None:
    page = bars(ROWS).repeat(scale, 0).repeat(scale, 1)
    lines = [line(top + 12, scale) for top in ROWS]
    ink = PageInk.of(page)
    assert ink.unread([]) == 1.0
    assert ink.unread(lines) < 0.02
    assert ink.unread(lines[:10]) == pytest.approx(0.5, abs=0.02)
    assert ink.unread(lines[:10], [its.box for its in lines[10:]]) < 0.02


@pytest.mark.parametrize(
    "page", [np.full((SIDE, SIDE), 240, np.uint8), bars(range(100, 140, 40)), bars(ROWS, 250, 40)]
)
def test_paper_a_mark_or_two_and_dark_pages_have_none(page: np.ndarray) -> None:
    assert PageInk.of(page).unread([]) == 0.0


def test_beside_a_picture_there_is_none() -> None:
    page = bars(ROWS)
    page[150:600, 200:700] = np.random.default_rng(0).integers(0, 90, (450, 500))
    assert PageInk.of(page).unread([]) == 0.0


ROLL = (
    "Nine boats were at the pier, and a tenth",
    "lay out by the mole. Its crew had gone up",
    "to the inn, where the stove is lit by four,",
    "and nobody saw when the rope gave way. It",
    "drifted past the light at about a quarter",
    "to eleven: 240 crates of herring, 17 of cod.",
)


@cache
def notice(size: float, colour: float = 0.0) -> Shades:
    """A notice in one typeface, a large head above it."""

    def draw(page: Any) -> None:
        page.insert_text((40, 50), "Harbour Notes", fontsize=2.5 * size, fontname="tibo")
        for number, text in enumerate(ROLL):
            page.insert_text((40, 90 + 1.4 * size * number), text, fontsize=size, color=3 * (colour,))

    return printed(draw)


def read(darkness: Shades) -> list[ReadLine]:
    return shipped().read(darkness, shipped().find(darkness))


@cache
def read_notice(size: float) -> tuple[ReadLine, ...]:
    return tuple(read(notice(size)))


def completed(darkness: Shades, found: Sequence[ReadLine]) -> tuple[list[str], bool]:
    """What is read once missed lines are looked for, from top to bottom, and whether there is more."""
    ink = PageInk.of(~darkness)
    lines, stamps, lacks_lines = with_missed(ink, darkness, found, [], shipped())
    lines += [its for stamp in stamps for its in stamp.lines]
    return [its.text for its in sorted(lines, key=lambda its: its.line.middle)], lacks_lines


@pytest.mark.parametrize("size", [7, 11, 15])
@pytest.mark.parametrize("missed", [[0], [3], [1, 2, 6], [2, 3, 4, 5]])
def test_lines_that_were_missed_are_read(size: float, missed: list[int]) -> None:
    darkness = notice(size)
    found = sorted(read_notice(size), key=lambda its: its.line.middle)
    assert [its.text for its in found] == ["Harbour Notes", *ROLL]
    left = [its for number, its in enumerate(found) if number not in missed]
    assert completed(darkness, left) == (["Harbour Notes", *ROLL], False)


@pytest.mark.parametrize(("begin", "end"), [(0, 0.5), (0.4, 1), (0, 0.93), (0.1, 1)])
def test_ends_of_lines_that_were_missed_are_read(begin: float, end: float) -> None:
    darkness = notice(10)
    found = read_notice(10)
    whole = next(its.line for its in found if its.text == ROLL[3])
    first, last = (round(share * len(whole.baseline)) for share in (begin, end))
    part = replace(
        whole, left=whole.left + first, right=whole.left + last, baseline=whole.baseline[first:last]
    )
    others = [its for its in found if its.line is not whole]
    assert completed(darkness, [*others, *shipped().read(darkness, [part])])[0] == ["Harbour Notes", *ROLL]


def test_strokes_of_a_pen_and_a_stamp_s_border_are_no_lines() -> None:
    grey = Image.fromarray(~notice(10))
    pen = ImageDraw.Draw(grey)
    along = np.linspace(0, 1, 200)
    wave = 540 - 25 * np.sin(along * 31) * (1 - along) * np.cos(along * 9)
    pen.line(list(zip(500 + 200 * along, wave, strict=True)), fill=20, width=3)
    pen.ellipse((620, 100, 780, 190), outline=60, width=3)
    darkness = darkness_of(np.asarray(grey))
    assert completed(darkness, read(darkness)) == (["Harbour Notes", *ROLL], False)


def test_lines_within_the_bounds_of_a_sheet_s_edge_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    darkness = notice(10)
    found = read_notice(10)
    left, top, right, foot = next(its.line.box for its in found if its.text == ROLL[5])

    def edge(ink: PageInk, *_: object) -> tuple[list[Piece], list[Piece]]:
        bounds = (round(side * ink.scale) for side in (left - 30, top, (left + right) / 2, foot + 40))
        return [], [Piece(**dict(zip(("x0", "y0", "x1", "y1"), bounds, strict=True)), ink=300)]

    monkeypatch.setattr(PageInk, "rows", edge)
    assert completed(darkness, found) == (["Harbour Notes", *ROLL], False)


def test_print_that_is_not_read_for_sure_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    darkness = notice(10)
    found = [its for its in read_notice(10) if its.text != ROLL[2]]
    reads = shipped().read
    monkeypatch.setattr(shipped(), "read", lambda *of: [replace(its, confidence=0.8) for its in reads(*of)])
    texts, lacks_lines = completed(darkness, found)
    assert lacks_lines
    assert ROLL[2] not in texts


@pytest.mark.parametrize("text", ["75 / 233", "1,184.05", "SORT CODE"])
def test_a_short_line_that_was_missed_is_read(text: str) -> None:
    """Its letters are all as high as capitals, and its strokes as dense in some rows as those of small ones."""

    def draw(page: Any) -> None:
        page.insert_text((40, 60), ROLL[0], fontsize=11)
        page.insert_text((300, 120), text, fontsize=11)

    darkness = printed(draw)
    found = [its for its in read(darkness) if its.text == ROLL[0]]
    assert completed(darkness, found) == ([ROLL[0], text], False)


def test_rules_stand_where_the_page_has_them() -> None:
    page = np.full((2400, 1600), 255, np.uint8)
    page[600:604, 200:1400] = page[1200:1206, 200:1400] = 0
    page[1500:2000, 300:303] = 0
    for y in range(24):  # slanted
        page[1800 + y : 1804 + y, 400 + 40 * y : 440 + 40 * y] = 0
    ink = PageInk.of(page)
    assert [(round(rule.x0, -1), round(rule.x1, -1), round(rule.y, -1)) for rule in ink.rules if not rule.is_edge] == [
        (200, 1400, 600), (200, 1400, 1200), (400, 1360, 1810),
    ]  # fmt: skip
    assert [tuple(round(edge, -1) for edge in box) for box in ink.uprights] == [(300, 1500, 300, 2000)]


def test_a_missed_caption_is_read_although_a_frame_joins_it_with_the_line_below() -> None:
    def draw(page: Any) -> None:
        page.insert_text((40, 40), ROLL[0], fontsize=11)
        page.draw_line((143, 94), (143, 112), width=0.8)
        page.insert_text((149, 98), "9. Port of registry", fontsize=7)
        page.insert_text((153, 110), "Marstal 1926 HX", fontsize=12, fontname="cobo")

    darkness = printed(draw)
    (first, caption, last), _ = completed(darkness, [its for its in read(darkness) if "Port" not in its.text])
    assert (first, caption.removeprefix("| "), last) == (ROLL[0], "9. Port of registry", "Marstal 1926 HX")


def test_a_missed_line_is_read_although_there_is_much_larger_ink_that_is_no_text() -> None:
    def draw(page: Any) -> None:
        page.insert_text((40, 40), ROLL[0], fontsize=11)
        page.insert_text((40, 54), ROLL[1], fontsize=11)
        for number in range(12):
            x, y = 40 + 90 * (number % 4), 80 + 60 * (number // 4)
            page.draw_bezier((x, y), (x + 30, y + 70), (x + 40, y - 40), (x + 70, y + 25), width=1.5)

    darkness = printed(draw)
    found = [its for its in read(darkness) if its.text == ROLL[0]]
    assert completed(darkness, found)[0] == [*ROLL[:2]]


@pytest.mark.parametrize(("ground", "colour"), [(0.6, 0.0), (0.1, 1.0), (0.45, 1.0)])
def test_a_missed_line_in_a_dark_bar_is_read(ground: float, colour: float) -> None:
    def draw(page: Any) -> None:
        page.draw_rect((0, 0, 420, 30), fill=3 * (ground,), color=3 * (ground,))
        page.insert_text((20, 20), "Registry of Moorings", fontsize=10, color=3 * (colour,))
        for number, text in enumerate(ROLL):
            page.insert_text((20, 70 + 14 * number), text, fontsize=10)

    darkness = printed(draw)
    found = [its for its in read(darkness) if its.text in ROLL]
    assert completed(darkness, found) == (["Registry of Moorings", *ROLL], False)


def test_two_letters_that_were_missed_are_read_on_a_dark_ground_and_not_on_paper() -> None:
    def draw(page: Any) -> None:
        page.draw_rect((20, 180, 120, 250), fill=(0, 0, 0))
        page.insert_text((40, 232), "2D", fontsize=44, fontname="hebo", color=(1, 1, 1))
        page.insert_text((300, 232), "2D", fontsize=44, fontname="hebo")
        for number, text in enumerate(ROLL):
            page.insert_text((20, 40 + 14 * number), text, fontsize=10)

    darkness = printed(draw)
    found = [its for its in read(darkness) if its.text in ROLL]
    assert completed(darkness, found) == ([*ROLL, "2D"], False)


def test_a_number_is_read_beside_the_head_that_it_counts() -> None:
    def draw(page: Any) -> None:
        page.insert_text((40, 50), "13", fontsize=15)
        page.insert_text((80, 50), "Berths and buoys", fontsize=15)
        for number, text in enumerate(ROLL):
            page.insert_text((40, 90 + 14 * number), text, fontsize=10)

    darkness = printed(draw)
    texts, _ = completed(darkness, [its for its in read(darkness) if its.text in ROLL])
    assert sorted(texts[:2]) == ["13", "Berths and buoys"]


def test_a_missed_line_has_the_type_size_of_its_page() -> None:
    """Of capitals and digits alone the rows are as full as those of small letters are of others."""

    def draw(page: Any) -> None:
        for number, text in enumerate((*ROLL[:3], "January 2007.")):
            page.insert_text((40, 50 + 13 * number), text, fontsize=11, fontname="hebo")

    darkness = printed(draw)
    found = [its for its in read(darkness) if its.text in ROLL]
    lines, _, _ = with_missed(PageInk.of(~darkness), darkness, found, [], shipped())
    (missed,) = (its for its in lines if its not in found)
    assert missed.text == "January 2007."
    assert missed.line.size == pytest.approx(found[0].line.size, rel=0.2)


def test_the_rest_of_a_line_is_read_from_its_dash_on() -> None:
    def draw(page: Any) -> None:
        page.insert_text((40, 50), "date (today -15) -1 month was the last", fontsize=10, fontname="cour")
        page.insert_text((40, 70), "of it, at noon", fontsize=10, fontname="cour")

    darkness = printed(draw)
    whole, after = sorted(read(darkness), key=lambda its: its.line.middle)
    end = round(next(word.right for word in whole.words if word.text.endswith(")")) + 3)
    part = shipped().read(darkness, [whole.line.between(whole.line.left, end)])
    assert completed(darkness, [*part, after])[0] == [whole.text, after.text]


def test_a_missed_head_in_large_type_is_read_whole() -> None:
    """Strokes of its first letter are as long as rules."""

    def draw(page: Any) -> None:
        page.insert_text((20, 80), "Æggelusens", fontsize=60)
        for number, text in enumerate(ROLL):
            page.insert_text((40, 120 + 14 * number), text, fontsize=10)

    darkness = printed(draw)
    found = [its for its in read(darkness) if its.text in ROLL]
    assert completed(darkness, found)[0] == ["Æggelusens", *ROLL]


def test_a_missed_line_is_read_in_its_page_s_type_where_its_own_ink_misleads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    darkness = notice(10)
    found = [its for its in read_notice(10) if its.text != ROLL[2]]
    size, reads = float(np.median([its.line.size for its in found])), shipped().read

    def misread(*of: Any) -> list[ReadLine]:
        return [its if its.line.size == size else replace(its, confidence=0.6) for its in reads(*of)]

    monkeypatch.setattr(shipped(), "read", misread)
    assert completed(darkness, found)[0] == ["Harbour Notes", *ROLL]


def test_a_bar_code_is_no_writing() -> None:
    page = np.full((200, 600), 20, np.uint8)
    page[:, ::9] = page[:, 1::9] = page[:, 2::9] = 250
    assert not page_ink._on_grounds(page, np.ones_like(page, np.bool_)).any()


def test_a_missed_line_slopes_as_those_near_it_on_a_photograph_from_aside() -> None:
    def draw(page: Any) -> None:
        for number, text in enumerate((*ROLL, *ROLL[:5], "PAID BY DANIELA FROM CARDIFF")):
            page.insert_text((40, 30 + 20 * number), text, fontsize=12, fontname="cour")

    flat = printed(draw)
    height, width = flat.shape
    y, x = np.mgrid[:height, :width].astype(np.float32)
    aside = (y + 0.12 * height * (x / width - 0.5)) / (1 + 0.3 * (x / width - 0.5))
    darkness = flat[np.clip(np.rint(aside), 0, height - 1).astype(np.intp), x.astype(np.intp)]
    found = sorted(read(darkness), key=lambda its: its.line.middle)
    assert completed(darkness, found[:-1])[0] == [its.text for its in found]


@pytest.mark.parametrize(
    ("begin", "pen"),
    [("\u2014 13-4-1910 \u2014 18-6-1910 \u2014", ()), ("/Lang/", ((26, 53), (36, 60), (18, 68), (30, 78)))],
)
def test_a_missed_line_is_one_with_its_dashes_and_without_a_mark_in_the_margin(
    begin: str, pen: Sequence[tuple[int, int]]
) -> None:
    def draw(page: Any) -> None:
        for number, text in enumerate((*ROLL[:2], f"{begin} which were met", ROLL[3])):
            rect, style = (50, 30 + 14 * number, 400, 50 + 14 * number), "font-size: 10px"
            page.insert_htmlbox(rect, f"<p style='{style}'>{text}</p>")
        if pen:
            page.draw_bezier(*pen, width=1.5)

    darkness = printed(draw)
    found = sorted(read(darkness), key=lambda its: its.line.middle)
    missed = next(its for its in found if its.text.startswith(begin))
    texts, _ = completed(darkness, [its for its in found if its is not missed])
    assert missed.text in texts


def test_a_head_is_read_above_slanted_frames_of_a_form() -> None:
    def draw(page: Any) -> None:
        page.insert_text((20, 40), "Harbour Notes and Tides", fontsize=12)
        for number in range(7):
            page.draw_rect((20, 60 + 32 * number, 400, 87 + 32 * number), width=1)
            page.insert_text((30, 77 + 32 * number), ROLL[number % 6], fontsize=10)

    flat = printed(draw)
    height, width = flat.shape
    y, x = np.mgrid[:height, :width]
    darkness = flat[np.clip(np.rint(y - 0.06 * (x - width / 2)), 0, height - 1).astype(np.intp), x]
    found = [its for its in read(darkness) if "Harbour" not in its.text]
    assert "Harbour Notes and Tides" in completed(darkness, found)[0]


def test_a_stamp_is_read_that_is_slanted_otherwise_than_its_page() -> None:
    def draw(page: Any) -> None:
        for number, text in enumerate(ROLL):
            page.insert_text((40, 140 + 14 * number), text, fontsize=10)

    def stamp(page: Any) -> None:
        page.insert_text((80, 150), "28 APRIL 2009", fontsize=26)

    turned = Image.fromarray(printed(stamp)).rotate(-7, Image.Resampling.BILINEAR, translate=(0, -200))
    darkness = np.maximum(printed(draw), np.asarray(turned))
    assert completed(darkness, [its for its in read(darkness) if its.text in ROLL])[0] == [
        "28 APRIL 2009",
        *ROLL,
    ]


def test_the_rest_of_a_line_is_read_although_other_ink_makes_it_no_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a fold does, or a picture that touches it."""
    darkness = notice(10)
    found = read_notice(10)
    line = next(its.line for its in found if its.text == ROLL[3])
    part = line.between(line.left + 60, line.left + round(0.6 * len(line.baseline)))
    monkeypatch.setattr(PageInk, "rows", lambda *_: ([], []))
    others = [its for its in found if its.line is not line]
    assert ROLL[3] in completed(darkness, [*others, *shipped().read(darkness, [part])])[0]


def test_a_missed_line_is_read_whole_where_it_is_justified_with_much_white() -> None:
    def draw(page: Any) -> None:
        page.insert_text((40, 40), ROLL[0], fontsize=11)
        for x, word in zip((40, 92, 141, 176, 215), ("Gentile;", "written", "by", "way", "of"), strict=True):
            page.insert_text((x, 54), word, fontsize=11)
        page.insert_text((40, 68), ROLL[1], fontsize=11)

    darkness = printed(draw)
    found = [its for its in read(darkness) if its.text in ROLL]
    assert completed(darkness, found)[0] == [ROLL[0], "Gentile; written by way of", ROLL[1]]


def test_a_picture_that_was_read_as_a_huge_letter_hides_no_missed_line() -> None:
    darkness = notice(10)
    found = [its for its in read_notice(10) if its.text != ROLL[2]]
    height, width = darkness.shape
    picture = TextLine(left=0, right=width, baseline=np.full(width, height, np.float32), size=height * 1.2)
    letter = replace(found[0], line=picture, text="a", confidence=0.76, words=())
    assert ROLL[2] in completed(darkness, [*found, letter])[0]


def test_a_justified_line_does_not_go_on_in_another_column() -> None:
    page = bars(range(100, 112, 40))
    page[:, 400:420] = 240
    ink, part = PageInk.of(page), line(112).between(90, 402)
    words = (
        LineWord(text="stove", left=100, right=200, confidence=1),
        LineWord(text="is", left=226, right=400, confidence=1),
    )
    its = ReadLine(line=part, text="stove is", confidence=1, words=words)
    outside = ink.outside([part])
    assert ink.goes_on(outside, its, 0.0, (0.8, 1.1)) == (90, 402)
    assert ink.goes_on(outside, its, 0.0, (1.6, 1.6))[1] == pytest.approx(900, abs=8)


@pytest.mark.parametrize(
    ("mark", "confidence", "is_taken"), [("2k", 0.95, True), ("2k", 0.55, False), ("——", 0.55, True)]
)
def test_a_line_goes_on_in_dashes_and_in_no_other_marks_that_are_not_sure(
    mark: str, confidence: float, is_taken: bool
) -> None:
    line = TextLine(left=100, right=400, baseline=np.full(300, 50, np.float32), size=30.0)
    before = ReadLine(line=line, text="1939 domestic notes", confidence=0.99)
    words = tuple(
        LineWord(text=text, left=left, right=left + 60, confidence=sure)
        for text, left, sure in ((mark, 20, confidence), ("1939", 110, 0.99))
    )
    longer = replace(before, line=replace(line, left=20, baseline=np.full(380, 50, np.float32)), words=words)
    more = replace(longer, text=f"{mark} 1939 domestic notes 7", confidence=0.96)
    assert _is_more(more, before) == is_taken


@pytest.mark.parametrize(
    ("rows", "size", "turn", "font"),
    [
        (("PASSED", "3 MAY 1974"), 15, 11, "hebo"),
        (("ENTERED", "26 OCTOBER 1958"), 12, -16, "tibo"),
        (("Paid in full", "19 March 2003", "Counter 4"), 13, -7, "heit"),
    ],
)
def test_a_stamp_is_read_within_its_slanted_frame(
    rows: Sequence[str], size: float, turn: float, font: str
) -> None:
    def draw(page: Any) -> None:
        for number, text in enumerate(ROLL):
            page.insert_text((40, 170 + 14 * number), text, fontsize=10)

    def stamp(page: Any) -> None:
        page.draw_rect((140, 110, 290, 130 + 1.3 * size * len(rows)), width=2)
        for number, text in enumerate(rows):
            page.insert_text((155, 120 + 1.3 * size * (number + 0.8)), text, fontsize=size, fontname=font)

    turned = Image.fromarray(printed(stamp)).rotate(turn, Image.Resampling.BILINEAR, translate=(0, -150))
    darkness = np.maximum(printed(draw), np.asarray(turned))
    found = [its for its in read(darkness) if its.text in ROLL]
    torn = [its for its in read(darkness) if its not in found and its.num_letters < 4]  # pieces of it
    texts, lacks_lines = completed(darkness, [*found, *torn])
    assert (sorted(texts), lacks_lines) == (sorted([*rows, *ROLL]), False)


@pytest.mark.parametrize(
    ("text", "is_lacking"), [("Bartholomew Thwaite", False), ("Your obedient servant", True)]
)
def test_a_signature_above_its_name_is_no_missed_line(
    monkeypatch: pytest.MonkeyPatch, text: str, is_lacking: bool
) -> None:
    def draw(page: Any) -> None:
        page.insert_text((40, 60), text, fontsize=16, fontname="tiit")
        page.insert_text((40, 90), "Bartholomew Thwaite", fontsize=10)
        for number, line in enumerate(ROLL):
            page.insert_text((40, 130 + 14 * number), line, fontsize=10)

    darkness, reads = printed(draw), shipped().read
    found = [its for its in read(darkness) if its.line.middle > 160]
    monkeypatch.setattr(shipped(), "read", lambda *of: [replace(its, confidence=0.8) for its in reads(*of)])
    assert completed(darkness, found)[1] == is_lacking


@pytest.mark.parametrize("size", [9, 11])
def test_the_first_line_of_a_column_does_not_go_on_in_the_column_beside_it(size: float) -> None:
    columns = (
        ("The wardens of the light are paid", "on quarter days, if they ask for it"),
        ("at the office, where", "the clerk has a list of", "whoever kept watch"),
    )

    def column(number: int) -> Shades:
        def draw(page: Any) -> None:
            left = 20 + number * (get_text_length(columns[0][0], fontsize=size) + 0.9 * size)
            for row, text in enumerate(columns[number]):
                page.insert_text((left, 40 + 1.3 * size * row), text, fontsize=size)

        return printed(draw)

    darkness = np.maximum(column(0), column(1))
    first, *others = sorted(read(column(0)), key=lambda its: its.line.middle)
    part = first.line.between(first.line.left, round(first.words[-1].left) - 4)
    others += [*read(column(1)), *shipped().read(darkness, [part])]
    assert sorted(completed(darkness, others)[0]) == sorted([*columns[0], *columns[1]])


def test_a_missed_line_is_read_to_the_ends_of_its_column_although_its_ink_is_torn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As bold print that is as dense as a picture."""
    darkness = notice(12)
    found = read_notice(12)
    rows = PageInk.rows

    def torn(ink: PageInk, outside: Any, *of: Any) -> Any:
        for row in (row for part in rows(ink, outside, *of) for row in part):
            row.x0 += row.width // 2
            return [row], []
        return [], []

    monkeypatch.setattr(PageInk, "rows", torn)
    assert ROLL[3] in completed(darkness, [its for its in found if its.text != ROLL[3]])[0]


@pytest.mark.parametrize(("bar", "size"), [((0, 0, 420, 30), 9), ((0, 0, 420, 44), 12)])
def test_a_missed_word_near_a_bar_is_read(bar: tuple[float, ...], size: float) -> None:
    def draw(page: Any) -> None:
        page.draw_rect(bar, fill=3 * (0.5,), color=3 * (0.5,))
        for x, word in zip((20, 110, 200), ("Moorings", "Pilotage", "Salvage"), strict=True):
            page.insert_text((x, bar[3] + 1.3 * size), word, fontsize=size)
        for number, text in enumerate(ROLL):
            page.insert_text((20, 100 + 1.4 * size * number), text, fontsize=size)

    darkness = printed(draw, dpi=96)
    texts, _ = completed(darkness, [its for its in read(darkness) if its.text != "Pilotage"])
    assert "Pilotage" in " ".join(texts)


@pytest.mark.parametrize(
    ("text", "confidence", "is_likely"),
    [("4 16", 0.93, True), ("4 16", 0.85, False), ("0 0 0", 0.94, False), ("Salt 162 sacks", 0.8, True)],
)
def test_an_unsure_number_is_told_and_markers_of_a_chart_are_not(
    text: str, confidence: float, is_likely: bool
) -> None:
    words = (LineWord(text=text, left=10, right=90, confidence=confidence),)
    assert _is_likely(ReadLine(line=line(50), text=text, confidence=confidence, words=words)) == is_likely
