"""Draws what a run makes of pages: their blocks, what each is called, and the order in which they are read.

python -m tests.benchmarks.quality.drawn_structure OUT.jpg PICTURE...

Side by side, half of the pictures in each of two rows. Blocks are numbered in order, in a colour for each kind; a line
leads from the middle of each to the next one's.
"""

import argparse
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import ocrbatch
from PIL import Image, ImageDraw

_HEIGHT, _BETWEEN = 560, 12
_COLOURS = {
    "title": "#c00000", "sub_title": "#e06000", "text": "#0050c0", "table": "#008040", "figure_caption": "#8000a0",
    "footnote": "#806000", "aside_text": "#806000", "code": "#404040",
}  # fmt: skip
_FURNITURE = "#909090"


def drawn(picture: Image.Image, blocks: Iterable[ocrbatch.Block]) -> Image.Image:
    """Returns a page with its blocks drawn on it. picture: the page as their boxes refer to it."""
    made = Image.blend(picture.convert("RGB"), Image.new("RGB", picture.size, "white"), 0.35)
    draw, width = ImageDraw.Draw(made), max(2, made.height // 400)
    placed = [(block, block.box) for block in blocks if block.box is not None]
    middles = [((x0 + x1) / 2, (y0 + y1) / 2) for _, (x0, y0, x1, y1) in placed]
    for ends in pairwise(middles):
        draw.line(ends, "#d0a000", width)
    for number, (block, box) in enumerate(placed, 1):
        colour = _COLOURS.get(block.label, _FURNITURE)
        draw.rectangle(box, None, colour, width)
        draw.text(box[:2], f"{number} {block.label}", colour, font_size=made.height / 60, anchor="lb")
    return made


def beside(pages: Sequence[Image.Image]) -> Image.Image:
    """Returns pages in two rows, each of one height."""
    small = [page.resize((round(page.width * _HEIGHT / page.height), _HEIGHT)) for page in pages]
    half = (len(small) + 1) // 2
    rows = [row for row in (small[:half], small[half:]) if row]
    wide = max(sum(page.width + _BETWEEN for page in row) for row in rows)
    whole = Image.new("RGB", (wide, len(rows) * (_HEIGHT + _BETWEEN)), "white")
    for number, row in enumerate(rows):
        left = 0
        for page in row:
            whole.paste(page, (left, number * (_HEIGHT + _BETWEEN)))
            left += page.width + _BETWEEN
    return whole


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("pictures", type=Path, nargs="+")
    args = parser.parse_args(given)
    pages = []
    for file in args.pictures:
        [page] = ocrbatch.read(file).pages
        with Image.open(file) as picture:
            upright = picture.convert("L").rotate(-page.rotation_deg, expand=True)
        size = page.width_px or upright.width, page.height_px or upright.height
        pages.append(drawn(upright.resize(size), page.blocks))
    beside(pages).save(args.out, quality=60)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
