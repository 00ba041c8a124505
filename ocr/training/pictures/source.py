"""Pictures without letters: clutter for pages of text, and whole pages whose right answer is empty.

Photographs and clip art come from the corpus part `pictures` if it was built; everything else is drawn.
"""

import io
import json
import random
from pathlib import Path

import numpy as np
from PIL import Image

from ocr.training.pictures.drawings import drawing
from ocr.training.pictures.empty_sheets import PRINTED, WEAR, blank
from ocr.training.pictures.textures import Grey, grain, halftone, texture

_FINE_PX = 500_000  # drawings up to this size are drawn twice as large: smooth edges, still fast


class Pictures:
    """Draws pictures; those of `folder` (index.json and JPEG files) among them if it exists."""

    def __init__(self, folder: Path) -> None:
        index = folder / "index.json"
        entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
        self.files = [folder / entry["file"] for entry in entries]

    def png(self, rng: random.Random, width_px: int, height_px: int) -> bytes:
        """Returns an encoded grey picture (PNG or JPEG) of exactly this size, without letters."""
        image = self._picture(rng, width_px, height_px)
        out = io.BytesIO()
        if rng.random() < 0.5:
            image.save(out, "JPEG", quality=rng.randint(35, 92))
        else:
            image.save(out, "PNG", compress_level=1)
        return out.getvalue()

    def page(self, rng: random.Random, width_px: int, height_px: int) -> Grey:
        """Returns a whole page without text, [height_px, width_px] grey; 255 is paper.

        Empty, worn, ruled and gridded sheets, photographs, drawings and textures, full-page or several on a sheet.
        """
        kind = rng.choices(
            ["blank", "printed", "full", "several", "drawing", "texture"], [0.25, 0.2, 0.17, 0.18, 0.12, 0.08]
        )[0]
        if kind in ("full", "texture"):
            make = self._photograph if kind == "full" and self.files else _texture
            image = make(rng, width_px, height_px)
        else:
            image = Image.fromarray(blank(rng, width_px, height_px))
            if kind == "printed":
                rng.choice(PRINTED)(rng, image)
            elif kind == "several":
                self._lay_out(rng, image)
            elif kind == "drawing":
                wide, high = int(width_px * rng.uniform(0.3, 0.95)), int(height_px * rng.uniform(0.2, 0.9))
                corner = rng.randint(0, width_px - wide), rng.randint(0, height_px - high)
                image.paste(drawing(rng, wide, high), corner)
        if rng.random() < (0.6 if kind == "blank" else 0.25):
            for _ in range(rng.randint(1, 3)):
                rng.choice(WEAR)(rng, image)
        return np.array(image, order="C")  # a copy: writable

    def _lay_out(self, rng: random.Random, image: Image.Image) -> None:
        """Pastes pictures into the cells of a coarse grid, some of which stay empty."""
        columns, rows = rng.randint(1, 3), rng.randint(1, 4)
        width, height = image.width // columns, image.height // rows
        fill = rng.uniform(0.4, 1.0)
        for cell in range(columns * rows):
            if rng.random() > fill and cell:
                continue
            size = int(width * rng.uniform(0.4, 0.96)), int(height * rng.uniform(0.3, 0.96))
            x = cell % columns * width + rng.randint(0, width - size[0])
            y = cell // columns * height + rng.randint(0, height - size[1])
            image.paste(self._picture(rng, *size), (x, y))

    def _picture(self, rng: random.Random, width_px: int, height_px: int) -> Image.Image:
        photographs = 0.45 if self.files else 0.0
        draw = rng.random()
        if draw < photographs:
            return self._photograph(rng, width_px, height_px)
        if draw < photographs + 0.2:
            return _texture(rng, width_px, height_px)
        fine = 2 if 4 * width_px * height_px <= _FINE_PX else 1
        return drawing(rng, width_px, height_px, fine=fine)

    def _photograph(self, rng: random.Random, width_px: int, height_px: int) -> Image.Image:
        """Returns a random part of a random file, perhaps mirrored, screened or in another contrast."""
        with Image.open(rng.choice(self.files)) as opened:
            opened.draft("L", None)
            image = opened.convert("L")
        zoom = rng.uniform(0.5, 1.0) * min(image.width / width_px, image.height / height_px)
        wide, high = zoom * width_px, zoom * height_px
        x, y = rng.uniform(0, image.width - wide), rng.uniform(0, image.height - high)
        corner = (x + wide, x) if rng.random() < 0.5 else (x, x + wide)
        image = image.resize((width_px, height_px), Image.Resampling.BILINEAR, (x, y, x + wide, y + high))
        if corner[0] > corner[1]:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return _printed(rng, image)


def _printed(rng: random.Random, image: Image.Image) -> Image.Image:
    """Returns the photograph with another contrast, as halftone dots or grainy, each now and then."""
    if rng.random() < 0.3:
        low, high = rng.randint(0, 90), rng.randint(150, 255)
        image = image.point([low + (high - low) * value // 255 for value in range(256)])
    if rng.random() < 0.3:
        pixels = np.asarray(image)
        screened = halftone(rng, pixels) if rng.random() < 0.5 else grain(rng, pixels, rng.uniform(2, 16))
        image = Image.fromarray(screened)
    return image


def _texture(rng: random.Random, width_px: int, height_px: int) -> Image.Image:
    return Image.fromarray(texture(rng, width_px, height_px))
