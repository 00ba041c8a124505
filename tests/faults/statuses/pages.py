"""What kinds of made pages share: pages with their truth, texts in many languages, faces, and how they are drawn."""

import html
import io
import random
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pymupdf
import yaml
from PIL import Image

from ocr.training.corpus.extract import catalogue
from ocr.training.corpus.packages import download
from tests.sample_documents.wear import fax, photograph, scan

DOUBTFUL = frozenset({"doubtful"})
# Sentences in many languages, and names of countries where there are few.
_SENTENCES, _NAMES = ("libglib2.0-data", "glib20.mo"), ("iso-codes", "iso_3166-1.mo")
_FEW_LETTERS = 1500
_MARKUP = re.compile(r"[%<>_{}\\|\[\]#=*\n/]")
_MOST_ASCII = 0.35  # spaces among them: of a text that is another script's
A5_PT = (420, 595)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePage:
    """A page of a kind. name: its own within the kind. content: of its file, whose name ends in `suffix`.

    statuses: in which it may end. text: what stands on it; where it is given, `ok` holds too if it was read right.
    holds: what its text must hold to the character, unless it is doubtful.
    """

    name: str
    content: bytes
    suffix: str = ".png"
    statuses: frozenset[str] = DOUBTFUL
    text: str = ""
    holds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Where material comes from. packages: a folder of Debian packages, fetched as needed; mirrors: of repositories."""

    packages: Path
    mirrors: Path | None = None

    def file(self, package: str, name: str) -> Path:
        """Returns a file of a package by its name. Raises: CorpusError, StopIteration where there is none."""
        return next(path for path in sorted(self.root(package).rglob(name)) if path.is_file())

    def root(self, package: str) -> Path:
        """Returns a package's unpacked files. Raises: CorpusError."""
        return download([package], self.packages)[package].root

    def phrases(self, language: str) -> Sequence[str]:
        """Returns phrases in a language, named as in /usr/share/locale."""
        return _phrases(self, language)


@cache
def _phrases(shop: Workshop, language: str) -> Sequence[str]:
    """Returns what translators wrote or were given, without what looks like code, in a fixed order."""
    found: list[str] = []
    for package, name in (_SENTENCES, _NAMES):
        path = shop.root(package) / "usr/share/locale" / ("de" if language == "en" else language)
        path = path / "LC_MESSAGES" / name
        if path.exists() and sum(map(len, found)) < _FEW_LETTERS:
            pairs = [
                (original.split("\0")[0].rpartition("\x04")[2], translation.split("\0")[0])
                for original, translation in catalogue(path.read_bytes())
            ]
            said = [pair[language != "en"] for pair in pairs if pair[0] != pair[1]]
            prose = [text for text in said if _is_prose(text)]
            is_latin = sum(map(str.isascii, "".join(prose))) > sum(map(len, prose)) / 2
            found += [
                text for text in prose if is_latin or sum(map(str.isascii, text)) < _MOST_ASCII * len(text)
            ]
    return sorted(set(found))


def _is_prose(text: str) -> bool:
    letters = sum(sign == " " or unicodedata.category(sign)[0] in "LM" for sign in text)
    return len(text) > 3 and not _MARKUP.search(text) and letters > 0.7 * len(text)


def paragraph(rng: random.Random, phrases: Sequence[str], letters: int) -> str:
    """Returns phrases in random order with at least so many letters."""
    found: list[str] = []
    while sum(map(len, found)) < letters:
        found.append(rng.choice(phrases).rstrip(" .:"))
    return ". ".join(found) + "."


def drawn(
    body: str, faces: Mapping[str, Path], *, dpi: int = 150, size_pt: tuple[int, int] = A5_PT, css: str = ""
) -> Image.Image:
    """Returns a grey page of HTML, as much of it as fits. faces: files of typefaces, by their names in the CSS."""
    archive, rules = pymupdf.Archive(), ["p{margin:0 0 8pt 0}"]
    for name, path in faces.items():
        archive.add(path.read_bytes(), name + path.suffix)
        rules.append(f"@font-face{{font-family:{name};src:url('{name}{path.suffix}')}}")
    story = pymupdf.Story(body, user_css="".join(rules) + css, archive=archive)
    width, height = size_pt
    buffer = io.BytesIO()
    writer = pymupdf.DocumentWriter(buffer)
    device = writer.begin_page(pymupdf.Rect(0, 0, width, height))
    story.place(pymupdf.Rect(36, 36, width - 36, height - 36))
    story.draw(device)
    writer.end_page()
    writer.close()
    with pymupdf.open("pdf", buffer.getvalue()) as document:
        pixmap = document[0].get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
        return Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples)


def element(text: str, face: str, size_pt: float, *, right_to_left: bool = False) -> str:
    """Returns a paragraph of HTML."""
    direction = "direction:rtl;text-align:right;" if right_to_left else ""
    style = f"font-family:{face};font-size:{size_pt}pt;line-height:1.4;{direction}"
    return f'<p style="{style}">{html.escape(text, quote=False)}</p>'


def table(name: str) -> Any:
    """Returns the content of NAME.yaml beside this module."""
    return yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))


def pictured(
    name: str, image: Image.Image, *, dpi: int = 150, statuses: frozenset[str] = DOUBTFUL, text: str = ""
) -> MadePage:
    """Returns a picture's page: a PNG file, or a JPEG file as scanners write it of one that is no drawing on white."""
    file = io.BytesIO()
    if is_drawing := _is_drawn(image):
        image.save(file, "PNG", dpi=(dpi, dpi))
    else:
        image.save(file, "JPEG", dpi=(dpi, dpi), quality=65)
    suffix = ".png" if is_drawing else ".jpg"
    return MadePage(name=name, content=file.getvalue(), suffix=suffix, statuses=statuses, text=text)


def _is_drawn(image: Image.Image) -> bool:
    return image.mode == "1" or image.convert("L").histogram()[255] > 0.5 * image.width * image.height


WEAR: Mapping[str, Callable[[Image.Image, int], Image.Image]] = {
    "clean": lambda page, _: page,
    "scan": lambda page, seed: scan(page, (-0.6, -0.3, 0.4, 0.7)[seed % 4], seed),
    "fax": fax,
    "photo": photograph,
}


def worn(image: Image.Image, number: int) -> tuple[str, Image.Image]:
    """Returns every second page as it is, of the others each worn in another way; and the wear's name."""
    names = tuple(WEAR)
    name = names[1 + number // 2 % (len(names) - 1)] if number % 2 else names[0]
    return name, WEAR[name](image, number)
