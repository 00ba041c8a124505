"""Pages that must not be blank though little stands out on them: faint or light print, scans on pages out of size."""

from collections.abc import Iterator

import pymupdf
from PIL import Image, ImageChops, ImageDraw, ImageFont

from tests.faults.doubt.lost_pictures import saved
from tests.faults.statuses.pages import MadePage, Workshop

_LINES = (
    "Account of the lamp oil for March", "Delivered to the lower lighthouse", "eleven barrels and two half barrels",
    "Received in good order by the keeper", "Not payable before the first of June", "Interest of four per cent after",
    "Goods remain ours until paid in full", "Claims within seven days in writing",
)  # fmt: skip
_TEXT = " ".join(_LINES)
_STATUSES = frozenset({"doubtful", "failed"})  # or ok, where the text is right
# (ground, print) in levels of grey.
_SHADES = (
    (255, 248), (255, 243), (255, 235), (255, 225), (255, 210), (230, 255), (200, 255), (128, 255), (128, 150), (0, 20),
    (30, 60), (60, 96),
)  # fmt: skip
_CORNERS_PT = (1200, 2400, 4000, 8000, 14_000)


def faint(_: Workshop) -> Iterator[MadePage]:
    """Yields pages whose print hardly differs from its ground, all of it or half of its lines."""
    for ground, shade in _SHADES:
        yield _page(f"{ground}-{shade}", _set(ground, shade))
    for shade in (240, 225, 205, 190):
        yield _page(f"half-{shade}", _set(255, 0, shade))


def clear(_: Workshop) -> Iterator[MadePage]:
    """Yields print on a transparent ground."""
    for shade in (0, 128, 230, 255):
        yield _page(f"{shade}", _on_clear(shade))
    upper = _on_clear(255)
    upper.paste(_on_clear(0).crop((0, 450, 1240, 900)), (0, 450))
    yield _page("both", upper)


def out_of_size(_: Workshop) -> Iterator[MadePage]:
    """Yields A4 scans in the corner of large pages, on strips, and on pages of a few points."""
    sheet = Image.new("L", (1240, 1754), 255)
    sheet.paste(_set(255, 0), (0, 100))
    for side_pt in _CORNERS_PT:
        yield _pdf(f"corner-{side_pt}", sheet, (side_pt, side_pt), (595, 842))
    yield _pdf("strip", sheet, (14_000, 900), (595, 842))
    for width_pt in (40, 62, 120, 200):
        box_pt = (width_pt, width_pt * 842 / 595)
        yield _pdf(f"small-{width_pt}", sheet, box_pt, box_pt)
    for side_px in (6000, 12_000):
        large = Image.new("L", (side_px, side_px), 255)
        large.paste(sheet, (side_px - 1400, side_px - 1900))
        yield _page(f"picture-{side_px}", large)


def _page(name: str, picture: Image.Image) -> MadePage:
    return MadePage(name=name, content=saved(picture, "PNG", dpi=(150, 150)), statuses=_STATUSES, text=_TEXT)


def _set(ground: int, shade: int, lower: int | None = None) -> Image.Image:
    """Returns the lines in this shade; the lower half of them in another where one is given."""
    page = Image.new("L", (1240, 900), ground)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(32)
    for number, line in enumerate(_LINES):
        fill = shade if lower is None or number < len(_LINES) // 2 else lower
        draw.text((80, 80 + 100 * number), line, font=font, fill=fill)
    return page


def _on_clear(shade: int) -> Image.Image:
    made = Image.merge("LA", (Image.new("L", (1240, 900), shade), ImageChops.invert(_set(255, 0))))
    return made.convert("RGBA")


def _pdf(
    name: str, sheet: Image.Image, page_pt: tuple[float, float], sheet_pt: tuple[float, float]
) -> MadePage:
    with pymupdf.open() as document:
        page = document.new_page(width=page_pt[0], height=page_pt[1])
        corner = pymupdf.Rect(page_pt[0] - sheet_pt[0], page_pt[1] - sheet_pt[1], *page_pt)
        page.insert_image(corner, stream=saved(sheet, "PNG"))
        content = document.tobytes()
    return MadePage(name=name, suffix=".pdf", content=content, statuses=_STATUSES, text=_TEXT)
