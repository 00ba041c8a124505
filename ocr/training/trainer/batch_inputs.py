"""Converts a batch of samples to the model's inputs: views, and one row of tokens and targets per page."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from ocr.training.augment.degrade import degrade
from ocr.training.sampling_pages.loader import Batch
from ocr.training.sampling_pages.samples import GLOBAL_PX, TILE_PX, Prompt
from ocr.training.small import PROMPT

Tensor = torch.Tensor
PROMPTS: dict[Prompt, str] = {
    "plain": PROMPT,
    "grounded": "<image>\n<|grounding|>Convert the document to markdown.",
}
_SIDE = {"tile": TILE_PX, "whole": GLOBAL_PX}


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """The views of a batch. tiles: [N, 3, 640, 640] uint8 or None; globals_: [B, 3, 1024, 1024] uint8 or None.

    cells: [N, 40, 40, 4] (or [B, 64, 64, 4]) int64 character classes of the sharper of the two.
    """

    tiles: Tensor | None
    globals_: Tensor | None
    cells: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Right-padded rows of S positions: BOS, vision tokens, prompt, text, EOS.

    token: [B, S] ids (0 at vision positions). feature: [B, S] row of the feature table, -1 for tokens.
    label: [B, S] the next id, -100 where not part of the text. focus: [B, S] the position that holds
    the next character, -1 where unknown.
    """

    token: Tensor
    feature: Tensor
    label: Tensor
    focus: Tensor
    first: int  # first position that predicts text

    def to(self, device: torch.device) -> "Rows":
        moved = [t.to(device, non_blocking=True) for t in (self.token, self.feature, self.label, self.focus)]
        return Rows(token=moved[0], feature=moved[1], label=moved[2], focus=moved[3], first=self.first)


def prompt_ids(tokenizer: Tokenizer) -> dict[Prompt, list[int]]:
    """Returns the tokens between the page and the answer, by prompt. The page comes first in every prompt."""
    return {
        name: tokenizer.encode(text.removeprefix("<image>"), add_special_tokens=False).ids
        for name, text in PROMPTS.items()
    }


@cache
def raster(columns: int, rows: int, side: int) -> npt.NDArray[np.int64]:
    """Returns the feature index of each position of a raster of views of side x side tokens.

    -1 is the row's newline.
    """
    y, x = np.mgrid[0 : rows * side, 0 : columns * side]
    index = ((y // side) * columns + x // side) * side * side + (y % side) * side + x % side
    return np.concatenate([index, np.full((rows * side, 1), -1)], 1).reshape(-1)


def _to_cells(cells: Tensor, columns: int, rows: int, side: int) -> Tensor:
    """Returns a raster's cells by view: [rows*side, columns*side*4] -> [rows*columns, side, side, 4]."""
    return cells.view(rows, side, columns, side, 4).permute(0, 2, 1, 3, 4).reshape(-1, side, side, 4)


def make_views(batch: Batch, device: torch.device, strength: float) -> Views:
    """Returns the views: canvases degraded as by paper and scanners, cut to tiles and global views as for inference."""
    canvas, cells = (
        batch.canvas.to(device, non_blocking=True),
        batch.cells.to(device, non_blocking=True).long(),
    )
    if batch.view != "page":
        side = _SIDE[batch.view]
        pixels = degrade(canvas.view(-1, 1, side, side), strength)
        tokens = side // 16
        marks = cells.view(-1, tokens, tokens, 4)
        tile = batch.view == "tile"
        return Views(tiles=pixels if tile else None, globals_=None if tile else pixels, cells=marks)
    sizes = [(TILE_PX * c, TILE_PX * r) for c, r in batch.grids]
    pages = torch.split(canvas, [w * h for w, h in sizes])
    maps = torch.split(cells, [w * h // 64 for w, h in sizes])
    tiles: list[Tensor] = [canvas] * len(pages)
    marks_of: list[Tensor] = [cells] * len(pages)
    whole: list[Tensor] = [canvas] * len(pages)
    for grid in sorted(set(batch.grids)):
        columns, rows = grid
        members = [i for i, g in enumerate(batch.grids) if g == grid]
        stack = torch.stack([pages[i].view(1, TILE_PX * rows, TILE_PX * columns) for i in members])
        pixels = degrade(stack, strength)
        cut = pixels.view(-1, 3, rows, TILE_PX, columns, TILE_PX).permute(0, 2, 4, 1, 3, 5)
        for i, page, page_pixels in zip(members, cut, pixels, strict=True):
            tiles[i] = page.reshape(-1, 3, TILE_PX, TILE_PX)
            marks_of[i] = _to_cells(maps[i], columns, rows, 40)
            whole[i] = _global_view(page_pixels, batch.global_px[i])
    return Views(tiles=torch.cat(tiles), globals_=torch.stack(whole), cells=torch.cat(marks_of))


def _global_view(pixels: Tensor, size_px: tuple[int, int]) -> Tensor:
    """Returns [3, 1024, 1024] uint8: the page at (width, height), centred on grey 127."""
    width, height = min(size_px[0], GLOBAL_PX), min(size_px[1], GLOBAL_PX)
    small = F.interpolate(pixels[None].float(), (height, width), mode="bicubic", antialias=True)[0]
    left, top = (GLOBAL_PX - width) // 2, (GLOBAL_PX - height) // 2
    pad = (left, GLOBAL_PX - width - left, top, GLOBAL_PX - height - top)
    return F.pad(small.clamp(0, 255).round(), pad, value=127).to(torch.uint8)


def make_rows(batch: Batch, prompt: list[int], bos: int, eos: int) -> Rows:
    """Returns the rows of a batch.

    Feature table: local tokens, global tokens, newline, separator (the last two rows).
    """
    num_local = sum(c * r * 100 for c, r in batch.grids) if batch.view != "whole" else 0
    side = {"tile": 10, "page": 16, "whole": 16}[batch.view]
    num_global = 0 if batch.view == "tile" else len(batch.grids) * side * side
    newline, separator = num_local + num_global, num_local + num_global + 1
    visions, start_local = [], 0
    for i, (columns, rows) in enumerate(batch.grids):
        parts = []
        if batch.view == "page":
            local = raster(columns, rows, 10)
            parts.append(np.where(local < 0, newline, local + start_local))
            start_local += columns * rows * 100
        start = i * side * side + (num_local if batch.view == "page" else 0)
        last = raster(1, 1, side)
        parts.append(np.where(last < 0, newline, last + start))
        visions.append(np.concatenate([*parts, [separator]]))
    ids, index = batch.ids.numpy(), batch.token_index.numpy()
    lengths = (ids >= 0).sum(1)
    total = max(len(v) + len(prompt) + int(n) for v, n in zip(visions, lengths, strict=True)) + 1
    shape = (len(visions), -(-total // 64) * 64)
    token, feature = np.zeros(shape, np.int64), np.full(shape, -1, np.int64)
    label, focus = np.full(shape, -100, np.int64), np.full(shape, -1, np.int64)
    for i, (vision, length) in enumerate(zip(visions, lengths, strict=True)):
        start = 1 + len(vision) + len(prompt)
        token[i, 0] = bos
        feature[i, 1 : 1 + len(vision)] = vision
        token[i, 1 + len(vision) : start] = prompt
        token[i, start : start + length] = ids[i, :length]
        label[i, start - 1 : start - 1 + length] = ids[i, :length]
        label[i, start - 1 + length] = eos
        known = index[i, :length]
        focus[i, start - 1 : start - 1 + length] = np.where(known >= 0, known + 1, -1)
    return Rows(
        token=torch.from_numpy(token),
        feature=torch.from_numpy(feature),
        label=torch.from_numpy(label),
        focus=torch.from_numpy(focus),
        first=int((label >= 0).argmax(1).min()),
    )
