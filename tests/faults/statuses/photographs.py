"""Photographs without print, alone and on scanned sheets: nothing is to be read on them."""

import io
import re
from collections.abc import Iterator

import numpy as np
from PIL import Image

from tests.benchmarks.pages.empty_sheets import black_edges, paper, punched, skewed_edges
from tests.faults.statuses.pages import MadePage, Workshop, pictured

_NOTHING = frozenset({"blank", "doubtful"})
# All pictures were inspected: none has legible lettering. Plasma's others are drawn.
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
_LEAST_PX, _DPI = 200, 150
_SHARE = 0.75  # of a sheet's width or height that a photograph takes
_EACH = 6  # every so manieth is taken


def photographs(shop: Workshop) -> Iterator[MadePage]:
    """Yields each by itself and on a sheet of every kind."""
    for number, (name, photo) in enumerate(_pictures(shop)):
        if number % _EACH:
            continue
        yield pictured(f"{name}-alone", photo, dpi=_DPI, statuses=_NOTHING)
        for sheet in (paper, black_edges, skewed_edges, punched):
            page = sheet(_DPI, np.random.default_rng(number)).convert("RGB")
            yield pictured(f"{name}-{sheet.__name__}", on_sheet(page, photo), dpi=_DPI, statuses=_NOTHING)


def _pictures(shop: Workshop) -> Iterator[tuple[str, Image.Image]]:
    for package, patterns in _FILES.items():
        for pattern in patterns:
            for path in sorted(shop.root(package).glob(pattern)):
                stem = path.parts[-4] if path.stem == "2560x1600" else path.stem
                yield f"{package.split('-')[0]}-{stem}", Image.open(path).convert("RGB")
    for name in _ARCHIVES:
        data = (shop.root("gcompris-qt-data") / "usr/share/gcompris-qt/rcc" / name).read_bytes()
        for number, picture in enumerate(held(data)):
            yield f"{name.removesuffix('.rcc')}-{number}", picture


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


def on_sheet(sheet: Image.Image, photo: Image.Image) -> Image.Image:
    """Returns the sheet with a photograph in its middle; paints on the sheet given."""
    factor = _SHARE * min(sheet.width / photo.width, sheet.height / photo.height)
    size = round(factor * photo.width), round(factor * photo.height)
    fitted = photo.resize(size, Image.Resampling.LANCZOS)
    sheet.paste(fitted, ((sheet.width - fitted.width) // 2, (sheet.height - fitted.height) // 2))
    return sheet
