"""Pages of lines with their truth, composed and not drawn."""

import base64
import json
import lzma
import random
from collections.abc import Collection
from functools import cache
from pathlib import Path

from ocr.training.pages.genres import GENRES, draw_form
from ocr.training.pages.page_source import USELESS_DRAW, PageSource
from ocr.training.pictures.source import Pictures
from ocr.training.structure.form_pages import boxes, screen
from ocr.training.structure.line_noise import found
from ocr.training.structure.manual_pages import explained
from ocr.training.structure.nested_pages import articles, nested, noted, spreads
from ocr.training.structure.page_parts import single
from ocr.training.structure.placed_lines import MOST, LinePage
from ocr.training.structure.table_pages import entries, reference, tight
from ocr.training.structure.true_lines import Place, TrueLine


def printed(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a page of the corpus that a browser printed. Raises LookupError where it has none."""
    return rng.choice(_printed(source.printed))


@cache
def _printed(file: Path) -> list[LinePage]:
    made = list[LinePage]()
    for size, lines, rules in json.loads(lzma.decompress(file.read_bytes())) if file.is_file() else ():
        own = list[TrueLine]()
        for text, words, base, type_size, (block, role, table, rows, columns) in lines:
            place = Place(block, role, table, tuple(rows), tuple(columns))
            ends = {"words": tuple(map(tuple, words)), "x0": words[0][0], "x1": words[-1][1]}
            own.append(TrueLine(text=text, base=base, size=type_size, place=place, order=len(own), **ends))
        made.append(LinePage.of("printed", size, own, map(tuple, rules)))
    return made


# Makers of pages that are composed here, with their shares; the rest is of one genre each.
_MAKERS = {
    nested: 0.04, screen: 0.03, spreads: 0.05, noted: 0.015, explained: 0.03, boxes: 0.055, articles: 0.03,
    entries: 0.08, reference: 0.05, tight: 0.085, printed: 0.115,
}  # fmt: skip
NAMES = frozenset({genre.name for genre in GENRES} | {maker.__name__ for maker in _MAKERS})
_FEWEST = 2  # lines of a page
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buVgAAAABJRU5ErkJggg=="
)


class _Blank(Pictures):
    def png(self, rng: random.Random, width_px: int, height_px: int) -> bytes:
        return _PIXEL  # the markup says how large it is


def line_source(folder: Path, split: str = "train") -> PageSource:
    """Returns a split of a corpus, whose pictures are blank."""
    source = PageSource(folder, split)
    source.pictures = _Blank(folder / "pictures")
    return source


def line_pages(
    rng: random.Random, source: PageSource, *, uses: int = 1, genres: Collection[str] = NAMES
) -> list[LinePage]:
    """Returns one page as found several times, each time otherwise; none where it cannot be used.

    genres: the names of those that may come, of NAMES; one at least of GENRES.
    """
    try:
        page = composed_page(rng, source, genres)
    except USELESS_DRAW:
        return []
    return [each for _ in range(uses) if _FEWEST <= len((each := found(rng, page)).lines) <= MOST]


def composed_page(rng: random.Random, source: PageSource, genres: Collection[str] = NAMES) -> LinePage:
    """Returns a page's lines as typeset. Raises what USELESS_DRAW names."""
    shares = [share if maker.__name__ in genres else 0.0 for maker, share in _MAKERS.items()]
    [make] = rng.choices((*_MAKERS, None), (*shares, 1 - sum(_MAKERS.values())))
    if make:
        return make(rng, source)
    form = draw_form(rng)
    while form.genre.name not in genres or (form.genre.lined < 1 and rng.random() > form.genre.lined):
        form = draw_form(rng)
    return single(rng, source, form)
