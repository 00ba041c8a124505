"""Real scans as pages to learn from, and the handwriting on them: the corpus part `scans`."""

import json
import random
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from ocr.training.lines.page_lines import HEIGHT_PX, UNKNOWN_TEXT, WIDTH_PX, DrawnPage, Place, is_whole, table

Grey = npt.NDArray[np.uint8]
_KEPT = 24  # pictures of handwriting kept decoded, about a MiB each
_ZOOM = (-0.45, 0.25)  # of a page, as a logarithm: stored as it is, type is 26 px large or smaller
_SQUEEZE = (-0.04, 0.04)  # across only, likewise
_TEXT, _PARTED, _HAND = "text", "parted", "hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A page. lines: place, kind and text of each, as ocr.training.corpus.scan_lines has them."""

    file: Path
    lines: tuple[tuple[Place, str, str], ...]


@dataclass(slots=True)
class Scans:
    """The scans of one split in a corpus; none if it has none. split: "train" or "valid"."""

    folder: Path
    split: str
    printed: list[Scan] = field(init=False)
    handwritten: list[Scan] = field(init=False)

    def __post_init__(self) -> None:
        index = self.folder / "index.json"
        entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
        own = [entry for entry in entries if entry["split"] == self.split]
        self.printed = [self._scan(entry) for entry in own if entry["kind"] == "print"]
        self.handwritten = [self._scan(entry) for entry in own if entry["kind"] == "handwriting"]

    def _scan(self, entry: dict[str, Any]) -> Scan:
        lines = tuple((Place(*line[:5]), line[5], line[6]) for line in entry["lines"])
        return Scan(file=self.folder / entry["file"], lines=lines)

    def draw(self, rng: random.Random, hands: float) -> DrawnPage | None:
        """Returns a window of a page, larger or smaller than stored; None where no line to learn is whole.

        hands: share of handwritten pages.
        """
        scans = self.handwritten if self.handwritten and rng.random() < hands else self.printed
        scan = rng.choice(scans)
        with Image.open(scan.file) as opened:
            image = opened.convert("L")
        down = float(np.exp(rng.uniform(*_ZOOM)))
        across = down * float(np.exp(rng.uniform(*_SQUEEZE)))
        size = round(image.width * across), round(image.height * down)
        image = image.resize(size, Image.Resampling.BILINEAR)
        left = rng.randint(0, max(0, image.width - WIDTH_PX))
        top = rng.randint(0, max(0, image.height - HEIGHT_PX))
        window = np.asarray(image)[top : top + HEIGHT_PX, left : left + WIDTH_PX]
        height, width = window.shape
        pixels = np.full((HEIGHT_PX, WIDTH_PX), int(np.percentile(window[::8, ::8], 80)), np.uint8)
        pixels[:height, :width] = window
        placed = [(place.moved(across, down, left, top), kind, text) for place, kind, text in scan.lines]
        return _page(pixels, placed, width, height)

    def handwriting(self, rng: random.Random) -> tuple[Grey, float, float] | None:
        """Returns how dark a line of real handwriting is, with its baseline's height and type size; None without any.

        [H, W] uint8, 0 is paper.
        """
        if not self.handwritten:
            return None
        scan = rng.choice(self.handwritten)
        x0, x1, baseline, slope, size = rng.choice(scan.lines)[0]
        if x1 - x0 < 2 * size:
            return None
        part = rng.uniform(0.2, 1.0) * (x1 - x0)
        start = rng.uniform(x0, x1 - part)
        level = baseline + slope * (start + part / 2 - x0)
        ink = _ink(scan.file)
        top, bottom = max(0, int(level - 1.2 * size)), min(len(ink), int(level + 0.7 * size))
        return ink[top:bottom, int(start) : int(start + part)], level - top, size


@lru_cache(_KEPT)
def _ink(file: Path) -> Grey:
    """Returns how much darker than the paper around it each pixel of a page is, as far as it is ink."""
    with Image.open(file) as opened:
        grey = opened.convert("L")
    coarse = np.asarray(grey.reduce(8), np.float32)
    # The paper: the light of each spot's surroundings.
    wide = Image.fromarray(coarse).resize((max(1, grey.width // 40), max(1, grey.height // 40)))
    paper = np.asarray(wide.resize(grey.size, Image.Resampling.BILINEAR))
    dark = 1 - np.asarray(grey, np.float32) / paper.clip(min=1)
    strong = max(0.2, float(np.quantile(dark[::4, ::4], 0.985)))
    clear: Grey = (255 * ((dark - 0.35 * strong) / (0.65 * strong)).clip(0, 1)).astype(np.uint8)
    return clear


def _page(pixels: Grey, placed: list[tuple[Place, str, str]], width: int, height: int) -> DrawnPage | None:
    whole: list[tuple[Place, str]] = []
    others: list[Place] = []
    read_only: list[tuple[Place, str]] = []
    for place, kind, text in placed:
        inside = is_whole(place, width, height)
        if kind == _TEXT and inside:
            whole.append((place, text))
        elif inside:
            read_only.append((place, text if kind in (_PARTED, _HAND) else UNKNOWN_TEXT))
        if kind != _HAND and not (kind == _TEXT and inside):
            others.append(place)
    if not whole and all(text == UNKNOWN_TEXT for _, text in read_only):
        return None
    return DrawnPage(
        pixels=pixels,
        places=table([place for place, _ in whole]),
        texts=tuple(text for _, text in whole),
        others=table(others),
        read_only=table([place for place, _ in read_only]),
        read_texts=tuple(text for _, text in read_only),
    )
