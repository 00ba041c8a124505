"""Write pages of unseen text as PDFs with their truth, to be read by the program itself:

python -m ocr.training.heldout DATA OUT --fonts heldout
ocrbatch run OUT/pages --db held.db; ocrbatch eval --truth OUT/truth --db held.db
"""

import argparse
import random
from pathlib import Path

import pymupdf

from ocr.training.compose import Fonts, compose
from ocr.training.text import TextSource
from ocr.training.truth import UnreadableError, extract


def write_page(
    rng: random.Random, source: TextSource, fonts: Fonts, out: Path, number: int, low: int, high: int
) -> bool:
    """One A4 or Letter page of low to high characters, named after its kind of text.

    False where this draw gave another length.
    """
    width, height = rng.choice([(595, 842), (612, 792)])
    size = rng.uniform(8.5, 13.0)
    category = source.category(rng)
    name = f"{category}-{number:03}"
    sheet = compose(
        rng, source, fonts, width_pt=width, height_pt=height, size_pt=size, fill=1.2, category=category
    )
    try:
        text = extract(sheet).text
    except UnreadableError:
        return False
    if not low <= len(text) <= high:
        return False
    # The page as a picture only: nothing but the pixels can be read from it.
    image = sheet.display.get_pixmap(matrix=pymupdf.Matrix(200 / 72, 200 / 72), colorspace=pymupdf.csGRAY)
    with pymupdf.open() as scanned:
        scanned.new_page(width=width, height=height).insert_image((0, 0, width, height), pixmap=image)
        (out / "pages").mkdir(parents=True, exist_ok=True)
        scanned.save(out / "pages" / f"{name}.pdf", deflate=True)
    truth = out / "truth" / f"{name}.pdf"
    truth.mkdir(parents=True, exist_ok=True)
    (truth / "1.txt").write_text(text)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ocr.training.heldout", description=__doc__)
    parser.add_argument("data", type=Path, help="what ocr.training.corpus made")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", type=int, default=48)
    parser.add_argument("--fonts", choices=["train", "heldout"], default="train")
    parser.add_argument("--characters", type=int, nargs=2, default=(1500, 2600), metavar=("LOW", "HIGH"))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    source, fonts = TextSource(args.data / "text", "valid"), Fonts(args.data / "fonts", args.fonts)
    written = 0
    while written < args.pages:
        written += write_page(rng, source, fonts, args.out, written, *args.characters)


if __name__ == "__main__":
    main()
