"""Reports how photographs without print end, alone and on scanned sheets, read with the line reader as they are.

python -m tests.benchmarks.pages.photographs CACHE [--dpi N] [--each N]

Downloads the Debian packages that hold them into CACHE (with apt, nothing is installed). All pictures were inspected:
none has legible lettering. Some are blank at once; on the others mostly nothing is read, and then they are blank too,
unless something on them looks like print: those are doubtful.
"""

import argparse
import io
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image

from ocr.training.corpus.packages import download
from pipeline.api.image_reader import ImageReader
from pipeline.documents.blank import is_blank
from tests.benchmarks.pages.empty_sheets import black_edges, paper, punched, skewed_edges

# Plasma's and Stellarium's others are drawn, or hold catalogue numbers.
_FILES = {
    "mate-backgrounds": ("usr/share/backgrounds/mate/nature/*.jpg",),
    "plasma-workspace-wallpapers": tuple(
        f"usr/share/wallpapers/{name}/contents/images/2560x1600.jpg"
        for name in (
            "BytheWater", "ColdRipple", "ColorfulCups", "DarkestHour", "EveningGlow", "FallenLeaf", "Grey", "Kite",
            "OneStandsOut", "Path", "summer_1am",
        )
    ),
    "python3-skimage": tuple(
        f"usr/lib/python3/dist-packages/skimage/data/{name}"
        for name in (
            "brick.png", "camera.png", "chelsea.png", "coffee.png", "coins.png", "grass.png", "gravel.png",
            "hubble_deep_field.jpg", "ihc.png", "moon.png", "retina.jpg", "rocket.jpg",
        )
    ),
}  # fmt: skip
# Qt's resource files hold pictures back to back.
_ARCHIVES = tuple(f"explore_{name}.rcc" for name in ("farm_animals", "monuments", "world_animals"))
_PICTURE = re.compile(rb"RIFF(.{4})WEBP|\xff\xd8\xff[\xe0\xe1]", re.DOTALL)
_LEAST_PX = 200
_SHARE = 0.75  # of a sheet's width or height that a photograph takes
_SHEETS: tuple[Callable[[float, np.random.Generator], Image.Image], ...] = (
    paper,
    black_edges,
    skewed_edges,
    punched,
)


def photographs(cache: Path) -> Iterator[tuple[str, Image.Image]]:
    """Yields name and picture of each, in RGB. Raises CorpusError for a package it cannot get."""
    packages = download((*_FILES, "gcompris-qt-data"), cache)
    for package, patterns in _FILES.items():
        for pattern in patterns:
            for path in sorted(packages[package].root.glob(pattern)):
                stem = path.parts[-4] if path.stem == "2560x1600" else path.stem
                yield f"{package.split('-')[0]}-{stem}", Image.open(path).convert("RGB")
    for name in _ARCHIVES:
        data = (packages["gcompris-qt-data"].root / "usr/share/gcompris-qt/rcc" / name).read_bytes()
        for number, picture in enumerate(held(data)):
            yield f"{Path(name).stem}-{number}", picture


def held(data: bytes) -> Iterator[Image.Image]:
    """Yields the WebP and JPEG pictures among other bytes, in RGB, except small ones."""
    for found in _PICTURE.finditer(data):
        end = found.start() + 8 + int.from_bytes(found[1], "little") if found[1] else None
        try:
            picture = Image.open(io.BytesIO(data[found.start() : end])).convert("RGB")
        except OSError:  # bytes that only look like a picture
            continue
        if min(picture.size) >= _LEAST_PX:
            yield picture


def pages(cache: Path, dpi: float, each: int) -> Iterator[tuple[str, Image.Image]]:
    """Yields name and picture of every `each`-th photograph, by itself and on a scanned A4 sheet of every kind."""
    for number, (name, photo) in islice(enumerate(photographs(cache)), 0, None, each):
        yield f"alone-{name}", photo
        for kind in _SHEETS:
            sheet = kind(dpi, np.random.default_rng(number)).convert("RGB")
            yield f"{kind.__name__}-{name}", on_sheet(sheet, photo)


def on_sheet(sheet: Image.Image, photo: Image.Image) -> Image.Image:
    """Returns the sheet with a photograph in its middle; paints on the sheet given."""
    factor = _SHARE * min(sheet.width / photo.width, sheet.height / photo.height)
    fitted = photo.resize(
        (round(factor * photo.width), round(factor * photo.height)), Image.Resampling.LANCZOS
    )
    sheet.paste(fitted, ((sheet.width - fitted.width) // 2, (sheet.height - fitted.height) // 2))
    return sheet


def seen(reader: ImageReader, picture: Image.Image) -> str:
    return "blank at once" if is_blank(np.asarray(picture)) else reader.read(picture).status


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.pages.photographs", description=__doc__)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--dpi", type=float, default=150, help="of the sheets (default: 150)")
    parser.add_argument("--each", type=int, default=1, metavar="N", help="every N-th photograph only")
    args = parser.parse_args()
    reader, table = ImageReader(), defaultdict[str, Counter[str]](Counter)
    for name, picture in pages(args.cache, args.dpi, args.each):
        table[name.split("-")[0]][seen(reader, picture)] += 1
    for kind, counts in table.items():
        print(f"{kind:14}", ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
