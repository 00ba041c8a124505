"""Real handwriting: letters as they are, and under printed letterheads."""

import io
import random
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageChops

from tests.benchmarks.quality.sets.unseen.scans import Mirror
from tests.faults.statuses.pages import MadePage, Workshop, drawn, element, paragraph, pictured, table
from tests.faults.statuses.scripts import LATIN, face_file

_WIDTH_PX = 1240
_A4_PT = (595, 842)


def letters(shop: Workshop) -> Iterator[MadePage]:
    """Yields handwritten letters, a third of them with a letterhead that was printed then. Without mirrors none."""
    for path, _, picture in _pictures(shop):
        yield pictured(Path(path).stem, picture)


def letterheads(shop: Workshop) -> Iterator[MadePage]:
    """Yields those without a letterhead below one of today, of three to nine lines. Without mirrors none."""
    for path, is_printed, picture in _pictures(shop):
        if not is_printed:
            rng = random.Random(f"letterhead {path}")
            yield pictured(Path(path).stem, _headed(shop, rng, picture))


def _headed(shop: Workshop, rng: random.Random, writing: Image.Image) -> Image.Image:
    names, lines = shop.phrases("en"), rng.randint(2, 8)
    body = element(paragraph(rng, names, 12), "own", 20)
    body += "".join(element(paragraph(rng, names, 25), "own", 9) for _ in range(lines))
    head = drawn(body, {"own": face_file(shop, rng.choice(LATIN))}, size_pt=_A4_PT)
    below = 200 + 35 * lines
    sheet = Image.new("L", head.size, 255)
    sheet.paste(writing.crop((0, writing.height // 8, *writing.size)), (0, below))
    return ImageChops.darker(sheet, head)


def _pictures(shop: Workshop) -> Iterator[tuple[str, bool, Image.Image]]:
    """Yields path, whether it has a letterhead, and the page in grey."""
    if shop.mirrors is None:
        return
    for entry in table("handwriting"):
        mirror = Mirror(shop.mirrors / entry["repository"].replace("/", "+") / "repo", entry["commit"])
        for path in (*entry["printed"], *entry["plain"]):
            with Image.open(io.BytesIO(mirror.read(path))) as picture:
                height = round(picture.height * _WIDTH_PX / picture.width)
                yield path, path in entry["printed"], picture.convert("L").resize((_WIDTH_PX, height))
