"""One training sample: a page's pixels as the encoder will see them, its text, and where each token stands."""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pymupdf
from tokenizers import Tokenizer

from ocr.tiling import choose_grid
from ocr.training.compose import Fonts, compose
from ocr.training.text import TextSource
from ocr.training.truth import Glyphs, Sheet, UnreadableError, cell_map, extract, transform

pymupdf.TOOLS.mupdf_display_errors(False)

TILE_PX, GLOBAL_PX, TOKEN_PX = 640, 1024, 64
MAX_TILES = 6
View = Literal["tile", "page", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One page.

    view: "page" is tiles and a global view, "tile" a single 640 px view, "whole" a 1024 px global view alone.
    pixels: [H, W] uint8 grey canvas: 640*rows x 640*cols, 640x640, or 1024x1024 padded with 127.
    global_px: (width, height) the page takes inside the 1024 px global view (equals the canvas for "tile").
    ids: [T] tokens of the text, no BOS or EOS. token_index: [T] the local (or only) raster's vision token
        in which each token's first character stands, -1 where it leaves no mark.
    cells: [H/16, W/4] character classes on the canvas.
    """

    view: View
    grid: tuple[int, int]
    pixels: npt.NDArray[np.uint8]
    global_px: tuple[int, int]
    ids: npt.NDArray[np.int32]
    token_index: npt.NDArray[np.int32]
    cells: npt.NDArray[np.int16]
    text: str


class Sampler:
    """Draws samples. Every worker process owns one; `folder` is what ocr.training.corpus made."""

    def __init__(
        self, folder: Path, tokenizer: Tokenizer, characters: str, *, split: str, font_split: str
    ) -> None:
        self.source = TextSource(folder / "text", split)
        self.fonts = Fonts(folder / "fonts", font_split)
        self.tokenizer = tokenizer
        self.character_ids = {c: i + 2 for i, c in enumerate(characters)}
        self.folder, self.split = folder, split
        self.indexes: list[Path] = []
        self.documents: list[tuple[Path, list[int]]] = []
        self.draws = 0

    def _look_for_documents(self) -> None:
        """Reads `pdfs*/index.json`. More may arrive while training runs: a large set is slow to copy."""
        indexes = sorted(self.folder.glob("pdfs*/index.json"))
        if indexes != self.indexes:
            self.indexes = indexes
            self.documents = [
                (index.parent / entry["file"], entry["pages"])
                for index in indexes
                for entry in json.loads(index.read_text())
                if entry["split"] == self.split and entry["pages"]
            ]

    def draw(
        self, rng: random.Random, view: View, *, short: bool = False, real: float = 0.0
    ) -> Sample | None:
        """One sample, or None where this draw gave nothing usable (the caller draws again)."""
        if self.draws % 200 == 0:
            self._look_for_documents()
        self.draws += 1
        try:
            if view == "page" and self.documents and rng.random() < real:
                return self._real(rng)
            if view == "page":
                return self._synthetic_page(rng)
            return self._synthetic_small(rng, view, short)
        except (UnreadableError, RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):
            return None

    def _real(self, rng: random.Random) -> Sample | None:
        file, pages = rng.choice(self.documents)
        pymupdf.TOOLS.reset_mupdf_warnings()
        with pymupdf.open(file) as document:
            page = document[rng.choice(pages)]
            page.remove_rotation()
            sample = self._sample(rng, Sheet.of(page), "page")
        # With a font that cannot be read, the page shows other marks than its text layer says.
        return None if "broken file" in pymupdf.TOOLS.mupdf_warnings() else sample

    def _synthetic_page(self, rng: random.Random) -> Sample | None:
        width, height = rng.choices(
            [(595, 842), (612, 792), (842, 595), (420, 595), (720, 405), (500, 500), (330, 900)],
            [10, 8, 1.5, 2, 0.7, 0.7, 0.5],
        )[0]
        columns = rng.choices([1, 2, 3], [0.72, 0.24, 0.04])[0] if width > 400 else 1
        size = float(np.exp(rng.uniform(np.log(7.0 if columns > 1 else 7.5), np.log(13.5))))
        fill = rng.choice([1.2, 1.2, 1.2, 0.7, 0.3, 0.08])
        sheet = compose(
            rng,
            self.source,
            self.fonts,
            width_pt=width,
            height_pt=height,
            size_pt=size,
            columns=columns,
            fill=fill,
        )
        return self._sample(rng, sheet, "page")

    def _synthetic_small(self, rng: random.Random, view: View, short: bool) -> Sample | None:
        canvas = TILE_PX if view == "tile" else GLOBAL_PX
        em_px = float(np.exp(rng.uniform(np.log(15.0), np.log(36.0))))
        width, height = canvas, canvas
        if view == "whole":
            shape = rng.uniform(0.3, 1.0)
            width, height = (
                (canvas, int(canvas * shape)) if rng.random() < 0.6 else (int(canvas * shape), canvas)
            )
            em_px = float(np.exp(rng.uniform(np.log(20.0), np.log(60.0))))
        scale = 2.2
        sheet = compose(
            rng,
            self.source,
            self.fonts,
            width_pt=width / scale,
            height_pt=height / scale,
            size_pt=em_px / scale,
            fill=rng.uniform(0.05, 0.4) if short else 1.2,
            furniture=False,
        )
        return self._sample(rng, sheet, view)

    def _sample(self, rng: random.Random, sheet: Sheet, view: View) -> Sample | None:
        width_pt, height_pt = sheet.width_pt, sheet.height_pt
        grid = choose_grid(round(2 * width_pt), round(2 * height_pt), MAX_TILES) if view == "page" else (1, 1)
        if view == "page" and grid == (1, 1):
            return None
        glyphs = extract(sheet)
        canvas, inner = _canvas(view, grid, width_pt, height_pt)
        matrix = _camera(rng, width_pt, height_pt, inner)
        matrix *= pymupdf.Matrix(1, 0, 0, 1, (canvas[0] - inner[0]) // 2, (canvas[1] - inner[1]) // 2)
        pixels = _render(sheet, matrix, canvas, inner)
        box_px = transform(glyphs, matrix)
        marked = ~np.isnan(box_px[:, 0])
        outside = marked & (
            (box_px[:, 0] < -2)
            | (box_px[:, 1] < -4)
            | (box_px[:, 2] > canvas[0] + 2)
            | (box_px[:, 3] > canvas[1] + 2)
        )
        if outside.any() or not marked.any():
            return None
        ids, index = self._tokens(glyphs, box_px, canvas[0])
        factor = GLOBAL_PX / max(width_pt, height_pt)
        global_px = (round(width_pt * factor), round(height_pt * factor)) if view == "page" else inner
        cells = cell_map(glyphs.text, box_px, canvas, self.character_ids, other=1)
        return Sample(
            view=view,
            grid=grid,
            pixels=pixels,
            global_px=global_px,
            ids=ids,
            token_index=index,
            cells=cells,
            text=glyphs.text,
        )

    def _tokens(
        self, glyphs: Glyphs, box_px: npt.NDArray[np.float32], width_px: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        encoding = self.tokenizer.encode(glyphs.text, add_special_tokens=False)
        starts = np.asarray([s for s, _ in encoding.offsets], int)
        ends = np.asarray([e for _, e in encoding.offsets], int)
        # A token such as " the" begins at a space: its first mark is one further.
        at = np.where(np.isnan(box_px[starts, 0]) & (starts + 1 < ends), starts + 1, starts)
        box, per_row = box_px[at], width_px // TOKEN_PX
        marked = ~np.isnan(box[:, 0])
        middle = np.nan_to_num(box[:, :2] + box[:, 2:]) / 2 / TOKEN_PX
        column, row = np.clip(middle[:, 0].astype(int), 0, per_row - 1), middle[:, 1].astype(int)
        index = np.where(marked, row * (per_row + 1) + column, -1)  # one newline token a row
        return np.asarray(encoding.ids, np.int32), index.astype(np.int32)


def _canvas(
    view: View, grid: tuple[int, int], width_pt: float, height_pt: float
) -> tuple[tuple[int, int], tuple[int, int]]:
    """(canvas size, size of the page on it), both (width, height) in pixels."""
    if view == "page":
        size = (TILE_PX * grid[0], TILE_PX * grid[1])
        return size, size
    side = TILE_PX if view == "tile" else GLOBAL_PX
    factor = side / max(width_pt, height_pt)
    inner = (side, side) if view == "tile" else (round(width_pt * factor), round(height_pt * factor))
    return (side, side), inner


def _camera(rng: random.Random, width_pt: float, height_pt: float, inner: tuple[int, int]) -> pymupdf.Matrix:
    """Page points to canvas pixels, for half of the pages as a scanner would: turned, zoomed and shifted a little."""
    fit = pymupdf.Matrix(inner[0] / width_pt, inner[1] / height_pt)
    if rng.random() < 0.5:
        return fit
    angle = rng.gauss(0, 0.7)
    zoom = rng.uniform(0.94, 1.02)
    centre = pymupdf.Matrix(1, 0, 0, 1, -width_pt / 2, -height_pt / 2)
    moved = pymupdf.Matrix(
        1,
        0,
        0,
        1,
        width_pt * (0.5 + rng.uniform(-0.015, 0.015)),
        height_pt * (0.5 + rng.uniform(-0.015, 0.015)),
    )
    turned = (
        centre
        * pymupdf.Matrix(max(-2.0, min(2.0, angle)))
        * pymupdf.Matrix(zoom, zoom * rng.uniform(0.97, 1.03))
    )
    return turned * moved * fit


def _render(
    sheet: Sheet, matrix: pymupdf.Matrix, canvas: tuple[int, int], inner: tuple[int, int]
) -> npt.NDArray[np.uint8]:
    """[H, W] grey pixels; beyond the page's own frame the global view's padding."""
    x, y = (canvas[0] - inner[0]) // 2, (canvas[1] - inner[1]) // 2
    clip = pymupdf.IRect(x, y, x + inner[0], y + inner[1])
    drawn = sheet.display.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=0, clip=clip * ~matrix)
    pixels = np.full((canvas[1], canvas[0]), 127, np.uint8)
    pixels[y : y + inner[1], x : x + inner[0]] = 255
    found = np.frombuffer(drawn.samples_mv, np.uint8).reshape(drawn.height, drawn.stride)[:, : drawn.width]
    top, left = max(0, drawn.y), max(0, drawn.x)
    found = found[top - drawn.y : canvas[1] - drawn.y, left - drawn.x : canvas[0] - drawn.x]
    pixels[top : top + found.shape[0], left : left + found.shape[1]] = found
    return pixels
