"""What is painted over is not given out as text; what can be seen is, whatever is drawn around, under or over it."""

from collections.abc import Callable, Sequence
from typing import Any

import pymupdf
import pytest

from pipeline.text_layer.page import judged

LINES = (
    "The deed of the mill was signed on the second of June",
    "before the notary, and the buyer paid in silver coins.",
    "Both parties keep a copy of it, sealed with red wax.",
)
BLACK, WHITE, BLUE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.1, 0.1, 0.5)


def place(page: Any, words: str) -> Any:
    """Returns the box of words, a little larger."""
    return page.search_for(words)[0] + (-2, 1, 2, -1)


def text_of(draw: Callable[[Any], None], rotation: int = 0) -> str:
    with pymupdf.open() as document:
        page = document.new_page(width=420, height=300)
        for number, line in enumerate(LINES):
            page.insert_text((50, 80 + 30 * number), line, fontsize=12, fontname="tiro")
        draw(page)
        page.set_rotation(rotation)
        with pymupdf.open("pdf", document.tobytes()) as stored:
            found = judged(stored, 0, 144.0)
    assert found is not None
    return found.text


def black_box(page: Any) -> None:
    page.draw_rect(place(page, "silver coins"), fill=BLACK)


def blue_box(page: Any) -> None:
    page.draw_rect(place(page, "silver coins"), color=BLUE, fill=BLUE)


def round_box(page: Any) -> None:
    page.draw_rect(place(page, "silver coins"), fill=BLACK, radius=0.2)


def white_box(page: Any) -> None:
    page.draw_rect(place(page, "silver coins"), color=WHITE, fill=WHITE)


def thick_line(page: Any) -> None:
    box = place(page, "silver coins")
    page.draw_line((box.x0, (box.y0 + box.y1) / 2), (box.x1, (box.y0 + box.y1) / 2), width=16)


def boxes_of_one_path(page: Any) -> None:
    shape = page.new_shape()
    for words in ("silver", "coins"):
        shape.draw_rect(place(page, words))
    shape.finish(fill=BLACK)
    shape.commit()


def around(page: Any) -> Any:
    x0, y0, x1, y1 = place(page, "silver coins")
    return pymupdf.Rect(x0 - 12, y0 - 12, x1 + 12, y1 + 12)


def oval(page: Any) -> None:
    page.draw_oval(around(page), fill=BLACK)


def polygon(page: Any) -> None:
    box = place(page, "silver coins")
    corners = ((-2, -1), (40, -4), (0, 2), (2, 6), (-30, 4))
    ends = (box.tl, box.tr - (40, 0), box.tr, box.br, box.bl)
    page.draw_polyline([end + by for end, by in zip(ends, corners, strict=True)], fill=BLACK, closePath=True)


def annotation(page: Any) -> None:
    note = page.add_rect_annot(place(page, "silver coins"))
    note.set_colors(stroke=BLACK, fill=BLACK)
    note.update()


def picture(page: Any) -> None:
    pixels = pymupdf.Pixmap(pymupdf.csGRAY, (0, 0, 40, 10), 0)
    pixels.clear_with(0)
    page.insert_image(place(page, "silver coins"), pixmap=pixels, keep_proportion=False)


@pytest.mark.parametrize(
    "draw",
    [
        black_box,
        blue_box,
        round_box,
        white_box,
        thick_line,
        boxes_of_one_path,
        oval,
        polygon,
        annotation,
        picture,
    ],
)
@pytest.mark.parametrize("rotation", [0, 90])
def test_what_is_painted_over_is_no_text(draw: Callable[[Any], None], rotation: int) -> None:
    text = text_of(draw, rotation)
    assert "silver" not in text
    assert "coins" not in text
    assert "the buyer paid in" in text
    assert LINES[2] in text


def highlighted(page: Any) -> None:
    page.add_highlight_annot(place(page, "silver coins"))


def framed(page: Any) -> None:
    page.draw_rect(place(page, "silver coins"), width=2)


def struck_out(page: Any) -> None:
    box = place(page, "silver coins")
    page.draw_line((box.x0, box.y1 - 5), (box.x1, box.y1 - 5))


def tinted(page: Any) -> None:
    page.draw_rect(place(page, "silver coins"), color=None, fill=(1.0, 0.9, 0.2), fill_opacity=0.4)


def clipped_away(page: Any) -> None:
    """Fills a rectangle over all of the page, of which only the lower end is let through."""
    data = b"q 0 0 420 60 re W n 0 g 0 0 420 300 re f Q"
    xref = page.parent.get_new_xref()
    page.parent.update_object(xref, "<<>>")
    page.parent.update_stream(xref, data)
    own = " ".join(f"{number} 0 R" for number in (*page.get_contents(), xref))
    page.parent.xref_set_key(page.xref, "Contents", f"[{own}]")


def tinted_oval(page: Any) -> None:
    page.draw_oval(around(page), color=None, fill=BLUE, fill_opacity=0.4)


def ring(page: Any) -> None:
    page.draw_oval(around(page), width=2)


def background(page: Any) -> None:
    page.draw_rect(place(page, "silver coins"), fill=(0.9, 0.9, 0.9), overlay=False)


@pytest.mark.parametrize(
    "draw", [highlighted, framed, struck_out, tinted, tinted_oval, ring, clipped_away, background]
)
@pytest.mark.parametrize("rotation", [0, 90])
def test_what_can_be_seen_is_text(draw: Callable[[Any], None], rotation: int) -> None:
    text = text_of(draw, rotation)
    assert all(line in text for line in LINES)


@pytest.mark.parametrize("rotation", [0, 90])
@pytest.mark.parametrize("colour", [(0.9, 0.3, 0.3), WHITE])
def test_what_is_written_again_is_text_also_in_a_colour_as_light_as_the_ground(
    colour: Sequence[float], rotation: int
) -> None:
    def again(page: Any) -> None:
        box = place(page, "silver coins")
        page.draw_rect(box, color=None, fill=(0.0, 0.6, 0.9))
        page.insert_text((box.x0 + 2, 110), "silver coins.", fontsize=12, fontname="tiro", color=colour)

    text = text_of(again, rotation)
    assert text.count("silver coins.") == 1
    assert all(line in text for line in (LINES[0], LINES[1][:-14], LINES[2]))


@pytest.mark.parametrize("words", ["copper coins", "silver money", "gold"])
def test_what_is_written_over_it_stands_in_its_place(words: str) -> None:
    def draw(page: Any) -> None:
        box = place(page, "silver coins")
        white_box(page)
        page.insert_text((box.x0 + 2, 110), words, fontsize=12, fontname="tiro")

    assert f"before the notary, and the buyer paid in {words}" in text_of(draw).replace("  ", " ")


def test_a_page_whose_text_is_all_painted_over_has_no_layer() -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((72, 100), "Nobody may see these words", fontsize=12)
        page.draw_rect(place(page, "Nobody may see these words"), fill=BLACK)
        assert judged(document, 0, 144.0) is None
