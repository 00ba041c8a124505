"""Draws training samples: a page's pixels as the encoder will see them, its text, and where each token is."""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pymupdf
from tokenizers import Tokenizer

from ocr.imaging.tiling import choose_grid
from ocr.training.pages.camera import GLOBAL_PX, TILE_PX, Size, View, camera, canvas_size, render
from ocr.training.pages.compose import MAX_CHARACTERS, compose, compose_form
from ocr.training.pages.crop_forms import MAX_TILES, draw_part
from ocr.training.pages.fonts import Fonts
from ocr.training.pages.genres import GENRES, MIXED, draw_form
from ocr.training.pages.truth.grounded import answer, regions
from ocr.training.pages.truth.page_bands import cut_band
from ocr.training.pages.truth.page_truth import Sheet, UnreadableError, cell_map, extract, transform
from ocr.training.pages.words.text import TextSource
from ocr.training.pictures.source import Pictures

__all__ = ["GLOBAL_PX", "TILE_PX", "Prompt", "Sample", "Sampler", "View"]
pymupdf.TOOLS.mupdf_display_errors(False)

TOKEN_PX = 64
BANDS = 0.35  # share of real pages that are cut to a crop
PARTS = 0.25  # share of synthetic pages that are drawn as crops
Prompt = Literal["plain", "grounded"]
# What a draw may raise that gave no usable page: the caller draws again.
USELESS_DRAW = (
    UnreadableError,
    RuntimeError,
    ValueError,
    ArithmeticError,
    LookupError,
    pymupdf.mupdf.FzErrorBase,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One training page.

    view: "page" is tiles and a global view, "tile" a single 640 px view, "whole" a 1024 px global view alone.
    pixels: [H, W] uint8 grey canvas: 640*rows x 640*cols, 640x640, or 1024x1024 padded with 127.
    global_px: (width, height) the page takes inside the 1024 px global view (equals the canvas for "tile").
    ids: [T] tokens of the answer to the prompt, no BOS or EOS; T is 0 for a page without text.
    token_index: [T] the local (or only) raster's vision token in which each token's first character stands,
        -1 where it leaves no mark.
    cells: [H/16, W/4] character classes on the canvas.
    """

    view: View
    grid: tuple[int, int]
    pixels: npt.NDArray[np.uint8]
    global_px: Size
    ids: npt.NDArray[np.int32]
    token_index: npt.NDArray[np.int32]
    cells: npt.NDArray[np.int16]
    text: str
    prompt: Prompt = "plain"


class Sampler:
    """Draws samples. Every worker process has its own; `folder` is the output of ocr.training.corpus."""

    def __init__(
        self, folder: Path, tokenizer: Tokenizer, characters: str, *, split: str, font_split: str
    ) -> None:
        self.source = TextSource(folder / "text", split)
        self.fonts = Fonts(folder / "fonts", font_split)
        self.pictures = Pictures(folder / "pictures", split)
        self.tokenizer = tokenizer
        self.character_ids = {c: i + 2 for i, c in enumerate(characters)}
        self.folder, self.split = folder, split
        self.indexes: list[Path] = []
        self.documents: list[tuple[Path, list[int]]] = []
        self.draws = 0

    def look_for_documents(self) -> None:
        """Reads `pdfs*/index.json` before some draws: more may arrive in training, a large set takes long to copy."""
        self.draws += 1
        if self.draws % 200 != 1:
            return
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
        self,
        rng: random.Random,
        view: View,
        *,
        short: bool = False,
        real: float = 0.0,
        empty: float = 0.0,
        prompt: Prompt = "plain",
    ) -> Sample | None:
        """Returns a sample, or None if this draw gave nothing usable (the caller draws again).

        short: little text. real, empty: shares of pages from documents, and of pages without text.
        prompt: what is asked; "grounded" is answered for composed pages only.
        """
        self.look_for_documents()
        try:
            if rng.random() < empty:
                return self._empty(rng, view, prompt)
            if view == "page" and prompt == "plain" and self.documents and rng.random() < real:
                return self._real(rng)
            if view == "page":
                return self._sample(rng, self.synthetic_page(rng, prompt), view, prompt)
            return self._sample(rng, self.synthetic_small(rng, view, short), view)
        except USELESS_DRAW:
            return None

    def _empty(self, rng: random.Random, view: View, prompt: Prompt) -> Sample | None:
        """Returns a page without text: nothing to write, only pixels."""
        form = draw_form(rng)
        grid = choose_grid(round(2 * form.width_pt), round(2 * form.height_pt), MAX_TILES)
        if view != "page":
            grid = (1, 1)
        elif grid == (1, 1):
            return None
        canvas, inner = canvas_size(view, grid, form.width_pt, form.height_pt)
        left, top = (canvas[0] - inner[0]) // 2, (canvas[1] - inner[1]) // 2
        pixels = np.full((canvas[1], canvas[0]), 127, np.uint8)
        pixels[top : top + inner[1], left : left + inner[0]] = self.pictures.page(rng, *inner)
        nothing = np.zeros(0, np.int32)
        return Sample(
            view=view,
            grid=grid,
            pixels=pixels,
            global_px=_global_px(form.width_pt, form.height_pt) if view == "page" else inner,
            ids=nothing,
            token_index=nothing,
            cells=np.zeros((canvas[1] // 16, canvas[0] // 4), np.int16),
            text="",
            prompt=prompt,
        )

    def _real(self, rng: random.Random) -> Sample | None:
        file, pages = rng.choice(self.documents)
        pymupdf.TOOLS.reset_mupdf_warnings()
        with pymupdf.open(file) as document:
            page = document[rng.choice(pages)]
            page.remove_rotation()
            sheet = cut_band(rng, page, MAX_CHARACTERS) if rng.random() < BANDS else Sheet.of(page)
            sample = self._sample(rng, sheet, "page") if sheet else None
        # With a font that cannot be loaded, the page shows other characters than its text layer.
        return None if "broken file" in pymupdf.TOOLS.mupdf_warnings() else sample

    def synthetic_page(self, rng: random.Random, prompt: Prompt) -> Sheet:
        """Returns a composed page or a part of one. Raises: UnreadableError."""
        form = draw_part(rng) if rng.random() < PARTS else draw_form(rng)
        return compose_form(
            rng, self.source, self.fonts, form, pictures=self.pictures, grounded=prompt == "grounded"
        )

    def synthetic_small(self, rng: random.Random, view: View, short: bool) -> Sheet:
        """Returns a composed sheet for a single view, in large type. Raises: UnreadableError."""
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
        return compose(
            rng,
            self.source,
            self.fonts,
            width_pt=width / scale,
            height_pt=height / scale,
            size_pt=em_px / scale,
            fill=rng.uniform(0.05, 0.4) if short else 1.2,
            furniture=False,
            genre=MIXED if rng.random() < 0.6 else rng.choice(GENRES),
            pictures=self.pictures if rng.random() < 0.5 else None,
        )

    def _sample(
        self, rng: random.Random, sheet: Sheet, view: View, prompt: Prompt = "plain"
    ) -> Sample | None:
        width_pt, height_pt = sheet.width_pt, sheet.height_pt
        grid = choose_grid(round(2 * width_pt), round(2 * height_pt), MAX_TILES) if view == "page" else (1, 1)
        if view == "page" and grid == (1, 1):
            return None
        glyphs = extract(sheet)
        canvas, inner = canvas_size(view, grid, width_pt, height_pt)
        matrix = camera(rng, width_pt, height_pt, inner)
        matrix *= pymupdf.Matrix(1, 0, 0, 1, (canvas[0] - inner[0]) // 2, (canvas[1] - inner[1]) // 2)
        pixels = render(sheet, matrix, canvas, inner)
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
        text, text_px = glyphs.text, box_px
        if prompt == "grounded":
            origin = ((canvas[0] - inner[0]) // 2, (canvas[1] - inner[1]) // 2)
            written = answer(regions(sheet, glyphs), matrix, origin, inner)
            text, text_px = written.text, box_px[written.glyph]
            text_px[written.glyph < 0] = np.nan
        ids, index = self._tokens(text, text_px, canvas[0])
        cells = cell_map(glyphs.text, box_px, canvas, self.character_ids, other=1)
        return Sample(
            view=view,
            grid=grid,
            pixels=pixels,
            global_px=_global_px(width_pt, height_pt) if view == "page" else inner,
            ids=ids,
            token_index=index,
            cells=cells,
            text=text,
            prompt=prompt,
        )

    def _tokens(
        self, text: str, box_px: npt.NDArray[np.float32], width_px: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Returns the ids of a text and where they are. box_px: [N, 4] per character, NaN if it leaves no mark."""
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        starts = np.asarray([s for s, _ in encoding.offsets], int)
        ends = np.asarray([e for _, e in encoding.offsets], int)
        # A token such as " the" begins with a space: its first mark is the next character.
        at = np.where(np.isnan(box_px[starts, 0]) & (starts + 1 < ends), starts + 1, starts)
        box, per_row = box_px[at], width_px // TOKEN_PX
        marked = ~np.isnan(box[:, 0])
        middle = np.nan_to_num(box[:, :2] + box[:, 2:]) / 2 / TOKEN_PX
        column, row = np.clip(middle[:, 0].astype(int), 0, per_row - 1), middle[:, 1].astype(int)
        index = np.where(marked, row * (per_row + 1) + column, -1)  # one newline token a row
        return np.asarray(encoding.ids, np.int32), index.astype(np.int32)


def _global_px(width_pt: float, height_pt: float) -> Size:
    factor = GLOBAL_PX / max(width_pt, height_pt)
    return round(width_pt * factor), round(height_pt * factor)
