"""Writes page images with their truth, to fit and test confidence on: pages that no training has seen.

python -m ocr.training.calibrate.validation DATA [DATA...] OUT --pages 100

About 40% real pages at 150 to 200 dpi, 30% composed ones, 22% of both kinds degraded, 8% without any text.
"""

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pymupdf
import torch
from PIL import Image

from ocr.training.augment.degrade import degrade
from ocr.training.corpus.packages import CorpusError, refuse_excluded
from ocr.training.heldout import Sources, any_page
from ocr.training.pages.fonts import Fonts
from ocr.training.pages.truth.page_truth import Sheet, UnreadableError, extract
from ocr.training.pages.words.text import TextSource
from ocr.training.pictures.source import Pictures

pymupdf.TOOLS.mupdf_display_errors(False)

Grey = npt.NDArray[np.uint8]
KINDS = {"real": 0.40, "composed": 0.30, "degraded": 0.22, "empty": 0.08}
_CHARACTERS = range(20, 4500)
_TRIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePicture:
    """A page image and its truth. pixels: [H, W] grey. text: empty for a page without any."""

    pixels: Grey
    text: str
    dpi: float


class Pages:
    """Draws pages of the folders' "valid" split; texts, fonts and pictures are the first folder's."""

    def __init__(self, folders: list[Path], rng: random.Random) -> None:
        self._rng = rng
        self._documents = [entry for folder in folders for entry in _documents(folder)]
        self._drawn: set[tuple[Path, int]] = set()
        first = folders[0]
        text, self._pictures = TextSource(first / "text", "valid"), Pictures(first / "pictures", "valid")
        fonts = [Fonts(first / "fonts", split) for split in ("train", "heldout")]
        self._sources = [
            Sources(text=text, fonts=found, pictures=self._pictures) for found in fonts if found.families
        ]

    def draw(self, kind: str) -> PagePicture:
        """Returns a page of this kind. Raises CorpusError if no draw gives a usable page."""
        if kind == "empty":
            size = self._rng.choice([(1240, 1754), (1275, 1650), (1600, 1200), (900, 900)])
            return PagePicture(pixels=self._pictures.page(self._rng, *size), text="", dpi=150.0)
        if kind == "degraded":
            clean = self.draw(self._rng.choice(["real", "composed"]))
            return PagePicture(pixels=_degrade(clean.pixels, self._rng), text=clean.text, dpi=clean.dpi)
        draw = self._real if kind == "real" and self._documents else self._composed
        for _ in range(_TRIES):
            try:
                page = draw()
            except (UnreadableError, RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):
                continue
            if page is not None and len(page.text) in _CHARACTERS:
                return page
        raise CorpusError(f"no page of kind {kind!r} in {_TRIES} draws; is the corpus complete?")

    def _real(self) -> PagePicture | None:
        file, pages = self._rng.choice(self._documents)
        number = self._rng.choice(pages)
        if (file, number) in self._drawn:
            return None
        self._drawn.add((file, number))
        pymupdf.TOOLS.reset_mupdf_warnings()
        with pymupdf.open(file) as document:
            page = document[number]
            page.remove_rotation()
            picture = _rasterise(Sheet.of(page), self._rng.choice([150, 175, 200]))
        # With a font that cannot be loaded, the page shows other characters than its text layer.
        return None if "broken file" in pymupdf.TOOLS.mupdf_warnings() else picture

    def _composed(self) -> PagePicture:
        _, sheet = any_page(self._rng, self._rng.choice(self._sources))
        return _rasterise(sheet, self._rng.choice([150, 200]))


def _documents(folder: Path) -> Iterator[tuple[Path, list[int]]]:
    """Yields (file, page indices) of the held-out documents, without the evaluation set's."""
    for index in sorted(folder.glob("pdfs*/index.json")):
        for entry in json.loads(index.read_text(encoding="utf-8")):
            try:
                refuse_excluded([entry["package"]])
            except CorpusError:
                continue
            if entry["split"] == "valid" and entry["pages"]:
                yield index.parent / entry["file"], entry["pages"]


def _rasterise(sheet: Sheet, dpi: float) -> PagePicture:
    text = extract(sheet).text
    matrix = pymupdf.Matrix(dpi / 72, dpi / 72)
    drawn = sheet.display.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=0)
    pixels = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.stride)[:, : drawn.width]
    return PagePicture(pixels=pixels, text=text, dpi=dpi)


def _degrade(pixels: Grey, rng: random.Random) -> Grey:
    """Returns the page degraded by ocr.training.augment.degrade, at random strength.

    Sides are padded to multiples of 8.
    """
    height, width = pixels.shape
    padded = np.pad(pixels, ((0, -height % 8), (0, -width % 8)), mode="edge")
    torch.manual_seed(rng.randrange(2**31))
    worn = degrade(torch.from_numpy(padded)[None, None], strength=rng.uniform(1.0, 3.0))
    grey = worn[0].float().mean(0)[:height, :width].round().to(torch.uint8)
    return np.ascontiguousarray(grey.numpy())


def write(pages: Pages, out: Path, count: int) -> None:
    """Writes out/pages/<kind>-<number>.png and out/truth/<the same name>/1.txt, as `ocrbatch eval` expects them."""
    kinds = [kind for kind, share in KINDS.items() for _ in range(max(1, round(share * count)))]
    (out / "pages").mkdir(parents=True, exist_ok=True)
    for number, kind in enumerate(kinds):
        page, name = pages.draw(kind), f"{kind}-{number:03}.png"
        Image.fromarray(page.pixels).save(out / "pages" / name, dpi=(page.dpi, page.dpi))
        (out / "truth" / name).mkdir(parents=True, exist_ok=True)
        (out / "truth" / name / "1.txt").write_text(page.text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ocr.training.calibrate.validation", description=__doc__)
    parser.add_argument(
        "data", type=Path, nargs="+", help="what ocr.training.corpus made; texts of the first"
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    write(Pages(args.data, random.Random(args.seed)), args.out, args.pages)


if __name__ == "__main__":
    main()
