"""Pairs of pages and texts in a user's folder, and each page's pixels as the program would see them."""

import struct
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pymupdf
from PIL import Image, ImageOps

from encoders.views import UInt8Array
from ocr.imaging.tiling import Grid, Mode, layout

IMAGES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".jp2"})
MODE: Mode = "gundam"
MAX_TILES = 6
LAYOUT_DPI = 144

_UNREADABLE = (
    *(OSError, ValueError, SyntaxError, EOFError, LookupError, ArithmeticError, RuntimeError, struct.error),
    *(Image.DecompressionBombError, pymupdf.mupdf.FzErrorBase),
)
_BESIDE = "put its text beside it, under the same name and .txt"


class PairsError(Exception):
    """A folder cannot be used for training; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A page and its text. name: the file below its folder, and the page number if it has several."""

    file: Path
    page_index: int
    name: str
    text: str

    @property
    def kind(self) -> Literal["pdf", "image"]:
        return "pdf" if self.file.suffix.lower() == ".pdf" else "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file that is left out of training. reason: what is wrong and what to do."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageImage:
    """A page's pixels, [H, W, 3] uint8 RGB. grid: (columns, rows) of its tiles, as the program decides them."""

    pixels: UInt8Array
    grid: Grid


def find_pairs(folder: Path, truth: Path | None = None) -> tuple[list[Pair], list[LeftOut]]:
    """Returns the pages of a folder that have a text, in order of their names, and the files left out.

    Without `truth`, PAGE.txt is beside PAGE.png (or another image, or a PDF of one page). With it, page N of
    the file FOLDER/PATH has its text in TRUTH/PATH/N.txt, as `ocrbatch eval` expects it.

    Raises: PairsError where there is no such folder, or no page with a text in it.
    """
    for directory in filter(None, (folder, truth)):
        if not directory.is_dir():
            raise PairsError(f"{directory}: no such folder; name one that holds page images and their texts")
    files = [f for f in sorted(folder.rglob("*")) if f.suffix.lower() in IMAGES | {".pdf"} and f.is_file()]
    found = list(_below(folder, files, truth) if truth else _beside(folder, files))
    pairs = [item for item in found if isinstance(item, Pair)]
    left_out = [item for item in found if isinstance(item, LeftOut)]
    if not pairs:
        raise PairsError(
            f"{folder}: no page image or PDF has a text; {_BESIDE}, or name a folder of PATH/1.txt, PATH/2.txt "
            f"with --truth{explain(left_out)}"
        )
    return pairs, left_out


def page_image(pair: Pair) -> PageImage:
    """Returns the page upright on white: PDF pages at the resolution that fills their tiles, images as they are.

    Raises: PairsError where the page cannot be decoded.
    """
    try:
        pixels, grid = _pdf_page(pair) if pair.kind == "pdf" else _image_frame(pair)
    except _UNREADABLE as error:
        raise PairsError(f"cannot be decoded ({error or type(error).__name__}); save it again") from None
    return PageImage(pixels=pixels, grid=grid)


def explain(left_out: Sequence[LeftOut], most: int = 4) -> str:
    """Returns one line for each reason, each starting with a line break: how many files, and which."""
    names = defaultdict(list)
    for item in left_out:
        names[item.reason].append(item.name)
    lines = []
    for reason, count in Counter(item.reason for item in left_out).most_common():
        more = f" and {count - most} more" if count > most else ""
        lines.append(f"\n  left out {count}: {', '.join(names[reason][:most])}{more}: {reason}")
    return "".join(lines)


def _beside(folder: Path, files: Sequence[Path]) -> Iterator[Pair | LeftOut]:
    owners = Counter(file.with_suffix(".txt") for file in files)
    for file in files:
        name, text = file.relative_to(folder).as_posix(), file.with_suffix(".txt")
        if not text.is_file():
            yield LeftOut(name=name, reason=f"no text; {_BESIDE}")
        elif owners[text] > 1:
            yield LeftOut(name=name, reason="several pages share one text; rename so that each has its own")
        elif (pages := _num_pages(file)) > 1:
            reason = "one text for a file of several pages; give every page its own with --truth"
            yield LeftOut(name=name, reason=reason)
        else:
            yield _pair(file, 0, name, text) if pages else _broken(name)
    for text in sorted(folder.rglob("*.txt")):
        if text not in owners:
            yield LeftOut(
                name=text.relative_to(folder).as_posix(), reason="a text without a page of the same name"
            )


def _below(folder: Path, files: Sequence[Path], truth: Path) -> Iterator[Pair | LeftOut]:
    for file in files:
        name = file.relative_to(folder).as_posix()
        texts = {int(t.stem): t for t in (truth / name).glob("*.txt") if t.stem.isdecimal()}
        pages = _num_pages(file)
        if not pages:
            yield _broken(name)
        elif not texts:
            yield LeftOut(name=name, reason="no text; put those of its pages into TRUTH/<file>/<page>.txt")
        for number, text in sorted(texts.items()):
            of_page = name if pages == 1 else f"{name}, page {number}"
            if 1 <= number <= pages:
                yield _pair(file, number - 1, of_page, text)
            elif pages:
                yield LeftOut(name=of_page, reason="the file has no such page; pages are counted from 1")


def _pair(file: Path, index: int, name: str, text: Path) -> Pair | LeftOut:
    try:
        lines = unicodedata.normalize("NFC", text.read_text(encoding="utf-8-sig")).splitlines()
    except (UnicodeDecodeError, OSError):
        return LeftOut(name=name, reason="its text is not UTF-8; save it as UTF-8")
    return Pair(
        file=file, page_index=index, name=name, text="\n".join(line.rstrip() for line in lines).strip("\n")
    )


def _broken(name: str) -> LeftOut:
    return LeftOut(name=name, reason="the file cannot be opened as what its name says; save it again")


def _num_pages(file: Path) -> int:
    """Returns the frames of a TIFF, the pages of a PDF, or 1 for another image; 0 if the file cannot be opened."""
    try:
        with ExitStack() as stack:
            if file.suffix.lower() == ".pdf":
                document = stack.enter_context(pymupdf.open(file, filetype="pdf"))
                return 0 if document.needs_pass else int(document.page_count)
            image = stack.enter_context(Image.open(file))
            return int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1
    except _UNREADABLE:
        return 0


def _pdf_page(pair: Pair) -> tuple[UInt8Array, Grid]:
    with pymupdf.open(pair.file, filetype="pdf") as document:
        page = document.load_page(pair.page_index)
        width_pt, height_pt = page.rect.width, page.rect.height
        # MuPDF rounds a page's edge down to the pixel if it is within a thousandth.
        width_px, height_px = (max(1, ceil(pt * LAYOUT_DPI / 72 - 1e-3)) for pt in (width_pt, height_pt))
        plan = layout(width_px, height_px, MODE, MAX_TILES)
        scale = plan.scale(width_pt, height_pt)
        drawn = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False)
        rows = np.frombuffer(drawn.samples_mv, np.uint8).reshape(drawn.height, drawn.stride)
        return np.array(rows[:, : drawn.width * 3].reshape(drawn.height, drawn.width, 3)), plan.grid


def _image_frame(pair: Pair) -> tuple[UInt8Array, Grid]:
    with Image.open(pair.file) as image:
        image.seek(pair.page_index)
        declared = image.info.get("dpi")
        frame = _squared(_to_rgb(ImageOps.exif_transpose(image)), declared)
    return np.array(frame), layout(frame.width, frame.height, MODE, MAX_TILES).grid


def _to_rgb(image: Any) -> Any:
    """Returns 8-bit RGB: 16-bit greys scaled, transparency put on white."""
    if image.mode.startswith("I"):
        return Image.fromarray((np.asarray(image) / 257.0).clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")
    return image.convert("RGB")


def _squared(image: Any, dpi: Any) -> Any:
    """Returns the image with square pixels: a standard-resolution fax has 204 x 98 dots per inch."""
    x, y = (float(value) for value in dpi) if dpi else (0.0, 0.0)
    if min(x, y) < 10 or not 1.1 < max(x, y) / min(x, y) < 4:
        return image
    size = (round(image.width * max(x, y) / x), round(image.height * max(x, y) / y))
    return image.resize(size, Image.Resampling.BICUBIC)
