"""Writes pages that no training has seen, with their truth, to score a reader or to fit its confidence on:

python -m ocr.training.heldout DATA OUT --pages 100
ocrbatch run OUT/pages --db held.db; ocrbatch eval --truth OUT/truth --db held.db

About 40% are real pages at 150 to 200 dpi, 30% composed ones, 22% of both kinds degraded, 8% without any text; `--kind`
writes one kind alone. OUT/truth/NAME/1.txt is a page's text.
"""

import argparse
import random
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from ocr.training.augment.degrade import degraded_page
from ocr.training.corpus.packages import CorpusError, is_excluded
from ocr.training.pages.compose import composed
from ocr.training.pages.page_source import USELESS_DRAW, PageSource
from ocr.training.pages.page_truth import Sheet, extract

Grey = npt.NDArray[np.uint8]
KINDS = {"real": 0.40, "composed": 0.30, "degraded": 0.22, "empty": 0.08}
_EMPTY_PX = ((1240, 1754), (1275, 1650), (1600, 1200), (900, 900))
_TRIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePicture:
    """A page image and its truth. pixels: [H, W] grey. text: empty for a page without any."""

    pixels: Grey
    text: str
    dpi: float


class Pages:
    """Draws pages of the "valid" split, none of a document twice and none of the evaluation set's documents.

    fonts: the splits of typefaces to choose from. characters: the fewest and the most of a page with text.
    """

    def __init__(
        self,
        folder: Path,
        rng: random.Random,
        *,
        fonts: tuple[str, ...] = ("train", "heldout"),
        characters: tuple[int, int] = (20, 4500),
    ) -> None:
        self._rng, self._characters = rng, characters
        made = [PageSource(folder, split="valid", fonts=split, leave_out=is_excluded) for split in fonts]
        self._sources = [source for source in made if source.fonts.families]
        self._drawn: set[tuple[Path, int]] = set()

    def draw(self, kind: str) -> PagePicture:
        """Returns a page of this kind. Raises CorpusError if no draw gives a usable page."""
        source, (low, high) = self._sources[0], self._characters
        if kind == "empty":
            pixels = source.pictures.page(self._rng, *self._rng.choice(_EMPTY_PX))
            return PagePicture(pixels=pixels, text="", dpi=150.0)
        if kind == "degraded":
            clean = self.draw(self._rng.choice(["real", "composed"]))
            torch.manual_seed(self._rng.randrange(2**31))
            return replace(clean, pixels=degraded_page(clean.pixels, self._rng.uniform(1.0, 3.0)))
        for _ in range(_TRIES):
            try:
                if kind == "real" and source.documents:
                    page = self._real()
                else:
                    sheet = composed(self._rng, self._rng.choice(self._sources))
                    page = _rasterised(sheet, self._rng.choice([150, 200]))
            except USELESS_DRAW:
                continue
            if page is not None and low <= len(page.text) <= high:
                return page
        raise CorpusError(f"no page of kind {kind!r} in {_TRIES} draws; is the corpus complete?")

    def _real(self) -> PagePicture | None:
        with self._sources[0].real(self._rng) as (sheet, name):
            if name in self._drawn:
                return None
            self._drawn.add(name)
            return _rasterised(sheet, self._rng.choice([150, 175, 200]))


def _rasterised(sheet: Sheet, dpi: float) -> PagePicture:
    return PagePicture(pixels=sheet.grey(dpi / 72), text=extract(sheet).text, dpi=dpi)


def write(pages: Pages, out: Path, kinds: list[str]) -> None:
    """Writes out/pages/<kind>-<number>.png and out/truth/<the same name>/1.txt, as `ocrbatch eval` expects them."""
    (out / "pages").mkdir(parents=True, exist_ok=True)
    for number, kind in enumerate(kinds):
        page, name = pages.draw(kind), f"{kind}-{number:03}.png"
        Image.fromarray(page.pixels).save(out / "pages" / name, dpi=(page.dpi, page.dpi))
        truth = out / "truth" / name
        truth.mkdir(parents=True, exist_ok=True)
        (truth / "1.txt").write_text(page.text, encoding="utf-8")


def kinds_of(count: int) -> list[str]:
    """Returns the kinds of about so many pages, at least one of each."""
    return [kind for kind, share in KINDS.items() for _ in range(max(1, round(share * count)))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ocr.training.heldout", description=__doc__)
    parser.add_argument("data", type=Path, help="what ocr.training.corpus made")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--kind", choices=KINDS, help="of all pages")
    parser.add_argument(
        "--fonts", choices=["train", "heldout"], help="the typefaces of composed pages (both)"
    )
    parser.add_argument(
        "--characters", type=int, nargs=2, metavar=("LOW", "HIGH"), default=(20, 4500), help="of a page"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    fonts = (args.fonts,) if args.fonts else ("train", "heldout")
    pages = Pages(args.data, random.Random(args.seed), fonts=fonts, characters=tuple(args.characters))
    write(pages, args.out, [args.kind] * args.pages if args.kind else kinds_of(args.pages))


if __name__ == "__main__":
    main()
