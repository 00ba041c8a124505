import io
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageDraw

from ocr.imaging.planes import of_picture
from pipeline.documents import blank
from pipeline.documents.blank import is_blank
from tests.benchmarks.pages import empty_sheets

A4_PX = (1357, 1920)


def sheet(level: int = 255, size: tuple[int, int] = A4_PX) -> np.ndarray:
    return np.full((size[1], size[0], 3), level, dtype=np.uint8)


def grain(sigma: float, level: int = 238, size: tuple[int, int] = A4_PX) -> np.ndarray:
    grey = np.random.default_rng(0).normal(level, sigma, (size[1], size[0]))
    return np.clip(grey, 0, 255).astype(np.uint8)[..., None].repeat(3, axis=2)


def jpeg(pixels: np.ndarray, quality: int) -> np.ndarray:
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "JPEG", quality=quality)
    return np.array(Image.open(data))


def fibres(sigma: float) -> np.ndarray:
    """Paper whose grain is coarser than a pixel."""
    coarse = np.random.default_rng(1).normal(235, sigma, (1920 // 4, 1357 // 4))
    image = Image.fromarray(np.clip(coarse, 0, 255).astype(np.uint8)).resize(A4_PX, Image.Resampling.BICUBIC)
    return np.array(image.convert("RGB"))


def shadowed() -> np.ndarray:
    pixels = grain(3).astype(np.float32)
    pixels -= 140 * np.exp(-np.arange(A4_PX[0]) / 25)[None, :, None]
    pixels -= 50 * (np.arange(A4_PX[1]) / A4_PX[1])[:, None, None]
    return np.clip(pixels, 0, 255).astype(np.uint8)


def bordered() -> np.ndarray:
    """Returns the border a scanner leaves around a sheet smaller than its glass."""
    pixels = grain(3)
    pixels[:, :90] = 12
    pixels[-70:] = 12
    pixels[:, -5:] = 0
    return pixels


def dusty() -> np.ndarray:
    pixels = grain(2)
    rng = np.random.default_rng(2)
    for y, x in zip(rng.integers(60, 1850, 40), rng.integers(60, 1290, 40), strict=True):
        pixels[y : y + 2, x : x + 2] = 60
    return pixels


def fax_dots() -> np.ndarray:
    dots = np.random.default_rng(3).random((2386, 1686)) < 0.0002
    return np.where(dots, 0, 255).astype(np.uint8)[..., None].repeat(3, axis=2)


def digit(size_pt: float, grey: float = 0.0, at: tuple[float, float] = (297, 800)) -> np.ndarray:
    page = pymupdf.open().new_page(width=595, height=842)
    page.insert_text(at, "1", fontsize=size_pt, color=(grey, grey, grey))
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(1920 / 842, 1920 / 842))
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)


def onto(paper: np.ndarray, ink: np.ndarray) -> np.ndarray:
    return (paper.astype(np.float32) * ink[: paper.shape[0], : paper.shape[1]] / 255).astype(np.uint8)


def in_grey(pixels: np.ndarray) -> np.ndarray:
    """Returns a page as it comes from its document: its channels share memory unless they differ."""
    return of_picture(Image.fromarray(pixels))


def resized(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    return np.array(Image.fromarray(pixels).resize(size))


BLANK = {
    "white": sheet,
    "black": lambda: sheet(0),
    "grey": lambda: sheet(200),
    "tiny": lambda: sheet(size=(30, 20)),
    "one pixel": lambda: sheet(size=(1, 1)),
    "600 dpi": lambda: sheet(size=(4960, 7016)),
    "fine grain": lambda: grain(3),
    "grain": lambda: grain(8),
    "strong grain": lambda: grain(14, level=200),
    "fibres": lambda: fibres(5),
    "poor JPEG": lambda: jpeg(grain(6), 30),
    "worse JPEG": lambda: jpeg(fibres(8), 20),
    "edge shadow": shadowed,
    "edge shadow, JPEG": lambda: jpeg(shadowed(), 50),
    "scanner border": bordered,
    "dust": dusty,
    "fax dots": fax_dots,
}
MARKED = {
    "8 pt": lambda: digit(8),
    "grey": lambda: digit(8, grey=0.6),
    "7 pt": lambda: digit(7),
    "top left corner": lambda: digit(8, at=(20, 30)),
    "bottom right corner": lambda: digit(8, at=(565, 826)),
    "on fine grain": lambda: onto(grain(3), digit(8)),
    "on grain": lambda: onto(grain(8), digit(8)),
    "on fibres": lambda: onto(fibres(5), digit(8)),
    "beside a shadow": lambda: onto(shadowed(), digit(8)),
    "near a scanner border": lambda: onto(bordered(), digit(8)),
    "JPEG": lambda: jpeg(onto(grain(5), digit(8)), 40),
    "white on black": lambda: 255 - digit(8),
    "300 dpi": lambda: resized(digit(8), (2480, 3508)),
    "600 dpi": lambda: resized(digit(8), (4960, 7016)),
    "100 dpi": lambda: resized(digit(10), (827, 1170)),
}


@pytest.mark.parametrize("case", BLANK)
def test_page_without_marks_is_blank(case):
    assert is_blank(in_grey(BLANK[case]()))


@pytest.mark.parametrize("case", MARKED)
def test_one_small_digit_is_a_mark(case):
    assert not is_blank(MARKED[case]())


@pytest.mark.parametrize("size", [(60, 24), (200, 60), (640, 100), (1500, 1500)])
def test_a_line_of_text_cut_out_is_not_blank(size):
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((4, 4), "Total: 12", fill="black")
    assert not is_blank(np.array(image))


def test_a_thin_rule_and_faint_pencil_are_marks():
    rule = sheet()
    rule[900, 300:1000] = 0
    assert not is_blank(rule)
    pencil = Image.new("RGB", A4_PX, (240, 240, 240))
    ImageDraw.Draw(pencil).text((300, 300), "see page 4", fill=(205, 205, 205), font_size=30)
    assert not is_blank(np.array(pencil))


def test_only_the_back_of_the_scanned_sample_is_blank():
    document = pymupdf.open(Path(__file__).parents[2] / "samples" / "scanned.pdf")
    pixmaps = [page.get_pixmap(dpi=164) for page in document]
    pages = [np.frombuffer(p.samples, np.uint8).reshape(p.height, p.width, 3) for p in pixmaps]
    assert [is_blank(page) for page in pages] == [False, True]


def headed(
    rule_at: float, text_at: float, *, thickness: int = 2, size_pt: float = 10, dpi: float = 164
) -> np.ndarray:
    """A page whose only text stands outside of a rule across it. rule_at, text_at: shares of the height."""
    page = pymupdf.open().new_page(width=595, height=842)
    page.insert_text((72, text_at * 842), "80 CHAPTER 4. MORE TUTORIALS", fontsize=size_pt)
    page.draw_line((60, rule_at * 842), (535, rule_at * 842), width=thickness / 2)
    pixmap = page.get_pixmap(dpi=dpi)
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)


@pytest.mark.parametrize(
    ("rule_at", "thickness", "dpi"),
    [
        *((rule_at, thickness, 164) for rule_at in (0.03, 0.08, 0.13, 0.9, 0.97) for thickness in (2, 8)),
        *((rule_at, thickness, 100) for rule_at in (0.03, 0.97) for thickness in (2, 8)),
        (0.13, 8, 300),
    ],
)
def test_text_outside_of_a_rule_is_no_scanners_edge(rule_at: float, thickness: int, dpi: float) -> None:
    text_at = rule_at - 0.008 if rule_at < 0.5 else rule_at + 0.018
    assert not is_blank(headed(rule_at, text_at, thickness=thickness, dpi=dpi))


def test_light_print_on_a_dark_bar_at_the_edge_is_a_mark() -> None:
    page = pymupdf.open().new_page(width=595, height=842)
    page.draw_rect((0, 0, 595, 60), fill=(0.1, 0.1, 0.3), color=None)
    page.insert_text((72, 35), "Chapter 3", fontsize=14, color=(1, 1, 1))
    pixmap = page.get_pixmap(dpi=164)
    assert not is_blank(np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "dpi"),
    [
        *((kind, 100) for kind in ("black_edges", "skewed_edges", "grey_edges", "streaked", "coloured")),
        ("black_edges", 200),
        ("coloured", 200),
    ],
)
def test_what_scanners_leave_on_empty_sheets_is_no_mark(kind: str, dpi: float) -> None:
    sheet = empty_sheets.sheets(dpi, seed=4, only=kind)[kind]
    assert is_blank(sheet)
    # The same with one small digit on it is none.
    small = resized(digit(9, at=(297, 400)), (sheet.shape[1], sheet.shape[0]))
    assert not is_blank(onto(sheet, small))


@pytest.mark.slow
def test_the_look_at_one_place_finds_nothing_that_the_whole_page_hides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where it finds a mark, so does the look at the whole page; it decides for some of these.

    With it, is_blank() says of those above what their names say.
    """
    large = ("300 dpi", "600 dpi")
    pages = [make() for name, make in (*BLANK.items(), *MARKED.items()) if name not in large]
    expected = [cases is BLANK for cases in (BLANK, MARKED) for name in cases if name not in large]
    more = [resized(headed(rule_at, 0.45, size_pt=14), A4_PX) for rule_at in (0.13, 0.5, 0.8)]
    more += [resized(more[-1], (300, 3000)), onto(bordered(), more[-1]), onto(shadowed(), more[-2])]
    expected += [is_blank(page) for page in more]
    quick, found = blank._has_clear_mark, []
    monkeypatch.setattr(blank, "_has_clear_mark", lambda *seen: found.append(quick(*seen)))
    assert [is_blank(page) for page in (*pages, *more)] == expected
    assert 3 <= sum(found) < len(found)


def test_print_that_stands_out_by_its_colour_alone_is_a_mark() -> None:
    picture = Image.new("RGB", A4_PX, (200, 40, 40))
    ImageDraw.Draw(picture).text((300, 400), "Ask at the gate", font_size=30, fill=(20, 130, 20))
    assert is_blank(sheet())
    assert is_blank(np.array(Image.new("RGB", A4_PX, (200, 40, 40))))
    assert not is_blank(np.array(picture))
