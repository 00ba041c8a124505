"""Styles of a page: typefaces, sizes, spacing, alignment, as CSS for MuPDF's Story."""

import html
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pymupdf

from ocr.training.pages.blocks.block_templates import templates

# Hyphenation patterns that MuPDF brings; for others words stay whole.
HYPHENATED = frozenset({"cs", "da", "de", "es", "fi", "fr", "hu", "it", "nb", "nl", "pt", "ro", "sv"})
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A typeface: file names by style ("regular", "bold", "italic", "bolditalic") in one folder.

    lacks: letters that it has not; where a page has one, MuPDF takes it from another typeface.
    """

    name: str
    kind: str
    styles: dict[str, str]
    lacks: frozenset[str] = frozenset()


class Fonts:
    """The families to train with, from `index.json` next to the font files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        entries = json.loads((folder / "index.json").read_text())
        self.families = [
            Family(name=e["family"], kind=e["class"], styles=e["styles"], lacks=frozenset(e.get("lacks", "")))
            for e in entries
        ]

    def archive(self, pictures: dict[str, bytes]) -> pymupdf.Archive:
        """The files one page's markup refers to: fonts, and its pictures by name."""
        archive = pymupdf.Archive(str(self.folder))
        for name, content in pictures.items():
            archive.add(content, name)
        return archive

    def choose(self, rng: random.Random, *kinds: str, letters: frozenset[str] = frozenset()) -> Family:
        """One family of the kinds wanted that has the letters; of any kind, or without some, where none is."""
        found = [f for f in self.families if f.kind in kinds] or self.families
        return rng.choice([f for f in found if not letters & f.lacks] or found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """css: of the whole page. body, code: families of running text and of typewritten parts, with their sizes.

    language: for hyphenation; None leaves words whole.
    """

    css: str
    body: Family
    size_pt: float
    code: Family
    code_pt: float
    language: str | None

    def measure(self, fonts: Fonts, *, code: bool = False) -> Callable[[str], float]:
        """The width in points of a text (markup is left out) in the regular face of running text, or of code."""
        family, size_pt = (self.code, self.code_pt) if code else (self.body, self.size_pt)
        file = str(fonts.folder / family.styles["regular"])
        known = _advances(file)
        loaded: list[pymupdf.Font] = []

        def width(text: str) -> float:
            shown = html.unescape(_TAG.sub("", text))
            for mark in set(shown) - known.keys():
                if not loaded:
                    loaded.append(pymupdf.Font(fontfile=file))
                known[mark] = float(loaded[0].text_length(mark, 1.0))
            return size_pt * sum(map(known.__getitem__, shown))

        return width


@cache
def _advances(file: str) -> dict[str, float]:
    """The width of each character of a typeface at 1 pt, as far as one was asked for: slow to get from MuPDF."""
    return {}


def choose_style(
    rng: random.Random,
    fonts: Fonts,
    size_pt: float,
    category: str,
    *,
    mono: bool = False,
    tight: bool = False,
    leading: tuple[float, float] = (1.05, 1.5),
    letters: frozenset[str] = frozenset(),
) -> Style:
    """A style drawn at random. mono: all of it typewritten. tight: justified, hyphenated, as in columns.

    leading: the least and largest height of a line, in type sizes. letters: that its typefaces have.
    """
    choose = partial(fonts.choose, rng, letters=letters)
    body = choose(*(["serif"] if rng.random() < 0.5 else ["sans", "display", "serif"]))
    if mono or rng.random() < 0.06:
        body = choose("mono")
    head = body if rng.random() < 0.6 else choose("serif", "sans", "display")
    code = body if mono else choose("mono")
    justify = rng.random() < (0.85 if tight else 0.15 if mono else 0.5)
    hyphens = justify and not mono and rng.random() < (0.85 if tight else 0.6)
    language = category if category in HYPHENATED else "en"
    scale = rng.uniform(0.78, 0.95)
    css = templates.get_template("style.css.jinja").render(
        rng=rng,
        faces={"body": body, "head": head, "mono": code},
        size_pt=size_pt,
        align="justify" if justify else rng.choice(["left", "left", "left", "center"]),
        leading=leading,
        hyphens=hyphens,
        scale=scale,
    )
    spoken = language if hyphens else None
    return Style(css=css, body=body, size_pt=size_pt, code=code, code_pt=scale * size_pt, language=spoken)
