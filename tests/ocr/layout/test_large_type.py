"""Letters in large type, figures alone on a page, slanted pages: found, and laid out at a size that can be read."""

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageDraw

from encoders.views import UInt8Array
from ocr.layout.large_type import find_large_type
from ocr.layout.split.crop_images import lay_out
from ocr.layout.split.plan import plan
from pipeline.documents.blank import is_blank
from tests.benchmarks.pages import empty_sheets

LINE = "The committee met on Tuesday and looked at the plans for the new bridge. "


def page_of(text: str, size_pt: float) -> UInt8Array:
    page = pymupdf.open().new_page(width=595, height=842)
    width = pymupdf.get_text_length(text, "hebo", size_pt)
    page.insert_text(((595 - width) / 2, 421), text, fontname="hebo", fontsize=size_pt)
    return drawn(page)


def drawn(page: pymupdf.Page) -> UInt8Array:
    pixmap = page.get_pixmap(dpi=100)
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)


def slanted(angle_deg: float) -> UInt8Array:
    page = pymupdf.open().new_page(width=595, height=842)
    page.insert_textbox((120, 230, 475, 640), 5 * LINE, fontsize=14, lineheight=1.4)
    turned = Image.fromarray(drawn(page)).rotate(angle_deg, Image.Resampling.BICUBIC, fillcolor="white")
    return np.asarray(turned)


@pytest.mark.parametrize(
    ("text", "size_pt"), [("SALE", 100), ("NO", 330), ("II", 40), ("42", 200), ("7", 90)]
)
def test_large_type_is_laid_out_at_the_size_of_usual_letters(text: str, size_pt: float) -> None:
    pixels = page_of(text, size_pt)
    found = plan(pixels, 6)
    assert found.shows_print
    (crop,) = found.crops
    (sheet,) = lay_out(pixels, found)
    capitals_px = crop.scale * 0.72 * size_pt * 100 / 72
    assert 12 <= capitals_px <= 24
    assert max(sheet.shape[:2]) < 4 * 1024, "reduced before it is laid out"
    dark = np.flatnonzero((sheet[..., 0] < 128).any(axis=1))
    on_canvas = (dark[-1] - dark[0] + 1) * 1024 / sheet.shape[0]
    assert on_canvas == pytest.approx(capitals_px, abs=4), "all of the word's height is on it"


@pytest.mark.parametrize(("text", "size_pt"), [("SALE", 150), ("HELLO", 110), ("11", 200), ("lily", 200)])
def test_letters_of_large_type_alone_on_a_page_are_counted(text: str, size_pt: float) -> None:
    assert plan(page_of(text, size_pt), 6).num_letters == len(text)


def test_letters_are_not_counted_beside_other_text_or_where_they_are_small() -> None:
    assert plan(page_of("Coffee", 45), 6).num_letters is None
    page = pymupdf.open().new_page(width=595, height=842)
    page.insert_text((100, 300), "VIII", fontname="hebo", fontsize=150)
    page.insert_text((100, 500), "In which the bridge is opened", fontname="hebo", fontsize=20)
    found = plan(drawn(page), 6)
    assert len(found.crops) == 2
    assert found.num_letters is None


def test_usual_type_stays_as_it_is_and_still_shows_print() -> None:
    found = plan(page_of("Notes", 14), 6)
    assert found.shows_print
    assert not found.crops


@pytest.mark.slow
@pytest.mark.parametrize("dpi", [100, 200])
@pytest.mark.parametrize("kind", [kind.__name__ for kind in empty_sheets.KINDS])
def test_what_scanners_leave_on_empty_sheets_is_no_print(kind: str, dpi: float) -> None:
    sheet = empty_sheets.sheets(dpi, seed=11, only=kind)[kind]
    assert find_large_type(Image.fromarray(sheet).convert("L")) is None
    assert is_blank(sheet) or not plan(sheet, 6).shows_print


@pytest.mark.parametrize("seed", range(4))
def test_a_photograph_on_paper_is_no_letter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    photo = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8)).resize((480, 360))
    sheet = Image.new("RGB", (827, 1169), "white")
    sheet.paste(photo, (170, 300))
    assert find_large_type(sheet.convert("L")) is None
    assert not plan(np.asarray(sheet), 6).shows_print


def test_an_empty_frame_is_no_letter() -> None:
    sheet = Image.new("L", (827, 1169), 255)
    ImageDraw.Draw(sheet).rectangle((100, 350, 730, 700), outline=60, width=2)
    assert find_large_type(sheet) is None


@pytest.mark.parametrize("font", ["hebo", "tiro", "cour"])
@pytest.mark.parametrize("size_pt", [24, 60, 200])
def test_letters_are_of_one_shade_on_a_worn_copy_too(size_pt: float, font: str) -> None:
    page = pymupdf.open().new_page(width=595, height=842)
    page.insert_text((120, 421), "OB", fontname=font, fontsize=size_pt)
    light = 240 - 0.6 * (255.0 - drawn(page)[..., 0]) - 60 * np.linspace(0, 1, 827)
    worn = light + np.random.default_rng(3).normal(0, 10, light.shape)
    assert find_large_type(Image.fromarray(np.clip(worn, 0, 255).astype(np.uint8))) is not None


@pytest.mark.parametrize("angle", [-15, -8, 8, 15])
def test_a_slanted_page_is_levelled_and_nothing_of_it_lost(angle: float) -> None:
    pixels = slanted(angle)
    found = plan(pixels, 6)
    assert found.shows_print
    assert found.angle_deg == pytest.approx(-angle, abs=0.3)
    ink = sum(np.count_nonzero(sheet[..., 0] < 128) for sheet in lay_out(pixels, found))
    assert ink == pytest.approx(np.count_nonzero(pixels[..., 0] < 128), rel=0.1)


def test_a_level_page_is_not_turned() -> None:
    assert plan(slanted(0), 6).angle_deg == 0
