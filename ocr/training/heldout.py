"""Writes pages of unseen text as PDFs with their truth, to be read by the program itself:

python -m ocr.training.heldout DATA OUT --fonts heldout
ocrbatch run OUT/pages --db held.db; ocrbatch eval --truth OUT/truth --db held.db

With `--prompt grounded`, pages of every kind with pictures, and their blocks beside the texts, for
`python -m tests.benchmarks.layout.boxes held.db OUT/truth`.
"""

import argparse
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pymupdf

from ocr.training.pages.compose import compose, compose_form
from ocr.training.pages.fonts import Fonts
from ocr.training.pages.genres import draw_form
from ocr.training.pages.truth.grounded import regions, to_thousandths
from ocr.training.pages.truth.page_truth import Glyphs, Sheet, UnreadableError, extract
from ocr.training.pages.words.text import TextSource
from ocr.training.pictures.source import Pictures

RENDER_DPI = 200
Prompt = Literal["plain", "grounded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The texts, fonts and pictures that pages are made of."""

    text: TextSource
    fonts: Fonts
    pictures: Pictures


def plain_page(rng: random.Random, sources: Sources) -> tuple[str, Sheet]:
    """Returns a name for the kind of text, and an A4 or Letter page of it in one column, without pictures."""
    width, height = rng.choice([(595, 842), (612, 792)])
    category = sources.text.category(rng)
    sheet = compose(
        rng,
        sources.text,
        sources.fonts,
        width_pt=width,
        height_pt=height,
        size_pt=rng.uniform(8.5, 13.0),
        fill=1.2,
        category=category,
    )
    return category, sheet


def any_page(rng: random.Random, sources: Sources) -> tuple[str, Sheet]:
    """Returns a name for the kind of page, and a page as training draws them, with pictures."""
    form = draw_form(rng)
    sheet = compose_form(rng, sources.text, sources.fonts, form, pictures=sources.pictures)
    return form.genre.name, sheet


def blocks(sheet: Sheet, glyphs: Glyphs) -> list[dict[str, object]]:
    """Returns the page's blocks: kind, box from 0 to 999, text as markdown. Raises UnreadableError."""
    found = regions(sheet, glyphs)
    size = (sheet.width_pt, sheet.height_pt)
    boxes = to_thousandths(found, pymupdf.Matrix(1, 1), (0, 0), size)
    return [
        {"kind": region.kind, "box": box, "text": region.text}
        for region, box in zip(found, boxes, strict=True)
    ]


def write_page(
    rng: random.Random, sources: Sources, out: Path, number: int, characters: tuple[int, int], prompt: Prompt
) -> bool:
    """Writes one page of (lowest, highest) characters; returns False if this draw gave no such page."""
    low, high = characters
    try:
        kind, sheet = (any_page if prompt == "grounded" else plain_page)(rng, sources)
        glyphs = extract(sheet)
        found = blocks(sheet, glyphs) if prompt == "grounded" else []
    except UnreadableError:
        return False
    if not low <= len(glyphs.text) <= high:
        return False
    name = f"{kind}-{number:03}.pdf"
    _write_picture(sheet, out / "pages" / name)
    truth = out / "truth" / name
    truth.mkdir(parents=True, exist_ok=True)
    (truth / "1.txt").write_text(glyphs.text)
    if prompt == "grounded":
        (truth / "1.json").write_text(json.dumps(found, ensure_ascii=False, indent=1))
    return True


def _write_picture(sheet: Sheet, file: Path) -> None:
    """Writes the page as a picture only: nothing but the pixels can be read from it."""
    scale = RENDER_DPI / 72
    image = sheet.display.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csGRAY)
    with pymupdf.open() as scanned:
        page = scanned.new_page(width=sheet.width_pt, height=sheet.height_pt)
        page.insert_image(page.rect, pixmap=image)
        file.parent.mkdir(parents=True, exist_ok=True)
        scanned.save(file, deflate=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ocr.training.heldout", description=__doc__)
    parser.add_argument("data", type=Path, help="what ocr.training.corpus made")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", type=int, default=48)
    parser.add_argument("--fonts", choices=["train", "heldout"], default="train")
    parser.add_argument("--prompt", choices=["plain", "grounded"], default="plain")
    parser.add_argument(
        "--characters",
        type=int,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="of a page; 1500 2600, or 20 2600 with --prompt grounded",
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    sources = Sources(
        text=TextSource(args.data / "text", "valid"),
        fonts=Fonts(args.data / "fonts", args.fonts),
        pictures=Pictures(args.data / "pictures", "valid"),
    )
    default = (20, 2600) if args.prompt == "grounded" else (1500, 2600)
    low, high = args.characters or default
    written = 0
    while written < args.pages:
        written += write_page(rng, sources, args.out, written, (low, high), args.prompt)


if __name__ == "__main__":
    main()
