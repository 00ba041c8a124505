"""What the makers of composed pages share: faces, texts, photographs, and a generator seeded by the page's name."""

import html
import random
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from tests.benchmarks.quality.sets.unseen.composed import faces
from tests.benchmarks.quality.sets.unseen.composed.canvas import Canvas, Colour
from tests.benchmarks.quality.sets.unseen.composed.faces import Face
from tests.benchmarks.quality.sets.unseen.composed.invented import Invented
from tests.benchmarks.quality.sets.unseen.composed.prose import Prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """roots: unpacked packages by name. photographs: files of them."""

    roots: dict[str, Path]
    prose: tuple[Prose, ...]
    photographs: tuple[Path, ...]


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """Everything that one page is made with."""

    rng: random.Random
    material: Material

    @cached_property
    def invented(self) -> Invented:
        return Invented.of(self.rng)

    @cached_property
    def prose(self) -> Prose:
        """The book that this page's running text comes from."""
        return self.rng.choice(self.material.prose)

    @cached_property
    def families(self) -> list[str]:
        """The typefaces used so far."""
        return []

    def canvas(self, width_pt: float, height_pt: float, css: str, **uses: str) -> Canvas:
        """Returns an empty page whose CSS knows a face for each name. uses: name -> what the face is for."""
        known = faces.load()
        chosen = {alias: faces.pick(self.rng, known, use) for alias, use in uses.items()}
        self.families.extend(face.family for face in chosen.values())
        made, archive = faces.stylesheet(self.material.roots, **chosen)
        return Canvas(
            width_pt=width_pt, height_pt=height_pt, css=f"body,div,p{{margin:0}}{made}{css}", archive=archive
        )

    def paragraphs(self, count: int) -> list[str]:
        """Returns running paragraphs of the page's book, as markup."""
        return [html.escape(text, quote=False) for text in self.prose.run(self.rng, count)]

    def headline(self, words: int) -> str:
        text = self.paragraphs(1)[0].split()
        start = self.rng.randrange(max(1, len(text) - words))
        return " ".join(text[start : start + words]).strip(" ,;:.—-“”‘’").capitalize()

    def photograph(self, width: int, height: int, *, grey: bool) -> Image.Image:
        """Returns a part of a photograph in the given shape."""
        with Image.open(self.rng.choice(self.material.photographs)) as whole:
            image = whole.convert("RGB")
        scale = max(width / image.width, height / image.height)
        image = image.resize(
            (max(width, round(image.width * scale)), max(height, round(image.height * scale)))
        )
        left = self.rng.randrange(image.width - width + 1)
        image = image.crop((left, 0, left + width, height))
        return image.convert("L").convert("RGB") if grey else image

    def pen(self, text: str, height: int, colour: Colour = (25, 35, 120)) -> Image.Image:
        """Returns handwriting on white."""
        face = self._face("pen")
        font = ImageFont.truetype(str(self.material.roots[face.package] / face.files["regular"]), height)
        image = Image.new("RGB", (round(font.getlength(text)) + height, round(1.7 * height)), (255, 255, 255))
        ImageDraw.Draw(image).text((height // 3, height // 5), text, font=font, fill=colour)
        return image.rotate(self.rng.uniform(-4, 6), Image.Resampling.BICUBIC, fillcolor=(255, 255, 255))

    def stamp(self, text: str, size: int = 260) -> Image.Image:
        """Returns the slanted print of a rubber stamp in a frame, on white."""
        colour = self.rng.choice([(170, 40, 50), (40, 60, 150), (90, 40, 120)])
        face = self._face("head")
        font = ImageFont.truetype(str(self.material.roots[face.package] / face.files["regular"]), size // 9)
        image = Image.new("RGB", (size, size // 2), (255, 255, 255))
        draw = ImageDraw.Draw(image)
        draw.rectangle((6, 6, size - 7, size // 2 - 7), outline=colour, width=5)
        draw.multiline_text((size // 2, size // 4), text, font=font, fill=colour, anchor="mm", align="center")
        return image.rotate(
            self.rng.uniform(-22, 22), Image.Resampling.BICUBIC, expand=True, fillcolor=(255, 255, 255)
        )

    def _face(self, use: str) -> Face:
        face = faces.pick(self.rng, faces.load(), use)
        self.families.append(face.family)
        return face
