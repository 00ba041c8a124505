"""Styles of a page: typefaces, sizes, spacing, alignment, as CSS for MuPDF's Story."""

import html
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pymupdf

# Hyphenation patterns that MuPDF brings; for others words stay whole.
HYPHENATED = frozenset({"cs", "da", "de", "es", "fi", "fr", "hu", "it", "nb", "nl", "pt", "ro", "sv"})
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A typeface: file names by style ("regular", "bold", "italic", "bolditalic") in one folder."""

    name: str
    kind: str
    styles: dict[str, str]


class Fonts:
    """The families to train with, from `index.json` next to the font files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        entries = json.loads((folder / "index.json").read_text())
        self.families = [Family(name=e["family"], kind=e["class"], styles=e["styles"]) for e in entries]

    def archive(self, pictures: dict[str, bytes]) -> pymupdf.Archive:
        """The files one page's markup refers to: fonts, and its pictures by name."""
        archive = pymupdf.Archive(str(self.folder))
        for name, content in pictures.items():
            archive.add(content, name)
        return archive

    def choose(self, rng: random.Random, *kinds: str) -> Family:
        """One family of the kinds wanted; of any kind where none is."""
        return rng.choice([f for f in self.families if f.kind in kinds] or self.families)


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
) -> Style:
    """A style drawn at random. mono: all of it typewritten. tight: justified, hyphenated, as in columns.

    leading: the least and largest height of a line, in type sizes.
    """
    body = fonts.choose(rng, *(["serif"] if rng.random() < 0.5 else ["sans", "display", "serif"]))
    if mono or rng.random() < 0.06:
        body = fonts.choose(rng, "mono")
    head = body if rng.random() < 0.6 else fonts.choose(rng, "serif", "sans", "display")
    code = body if mono else fonts.choose(rng, "mono")
    justify = rng.random() < (0.85 if tight else 0.15 if mono else 0.5)
    hyphens = justify and not mono and rng.random() < (0.85 if tight else 0.6)
    language = category if category in HYPHENATED else "en"
    scale = rng.uniform(0.78, 0.95)
    css = (
        font_face("body", body)
        + font_face("head", head)
        + font_face("mono", code)
        + _text(
            rng, size_pt, "justify" if justify else rng.choice(["left", "left", "left", "center"]), leading
        )
        + ("p{hyphens:auto}" if hyphens else "")
        + _headings(rng)
        + _CLASSES
        + f"pre,code,.mono{{font-size:{scale:.3f}em}}pre code{{font-size:1em}}"
        + _details(rng)
    )
    return Style(
        css=css,
        body=body,
        size_pt=size_pt,
        code=code,
        code_pt=scale * size_pt,
        language=language if hyphens else None,
    )


def _text(rng: random.Random, size_pt: float, align: str, leading: tuple[float, float]) -> str:
    indent = f"text-indent:{rng.choice([1, 1.5, 2])}em;margin:0;" if rng.random() < 0.4 else ""
    slant = "font-style:italic;" if rng.random() < 0.05 else ""
    weight = "font-weight:bold;" if rng.random() < 0.05 else ""
    colour = f"color:#{''.join(rng.choices('01234567', k=6))};" if rng.random() < 0.15 else ""
    return (
        f"body{{margin:0;font-family:body;font-size:{size_pt:.2f}pt;line-height:{rng.uniform(*leading):.2f};"
        f"{slant}{weight}{colour}}}"
        f"p{{text-align:{align};margin:{rng.uniform(0.2, 1.0):.2f}em 0;{indent}}}"
    )


def _headings(rng: random.Random) -> str:
    colour = f"color:#{''.join(rng.choices('01234567', k=6))};" if rng.random() < 0.2 else ""
    align = rng.choice(["left", "left", "center"])
    return (
        f"h1,h2,h3,h4{{font-family:head;text-align:{align};text-indent:0;{colour}}}"
        f"h1{{font-size:{rng.uniform(1.4, 2.6):.2f}em}}h2{{font-size:{rng.uniform(1.2, 1.6):.2f}em}}"
        f"h3{{font-size:1.1em}}h4{{font-size:1em;{rng.choice(['font-style:italic', ''])}}}"
    )


# What the blocks' markup relies on. Lines measured to fit must not be bold or slanted by the page's style.
_CLASSES = (
    "pre,code,.mono{font-family:mono}"
    ".left,.right,.centre,.caption,.small,.term,.meaning,.entry0,.entry1,.line,.item0,.item1,.item2"
    "{text-indent:0;hyphens:manual}"
    ".left,.line,.term{text-align:left}.right{text-align:right}.centre{text-align:center}"
    ".line{margin:0;font-style:normal;font-weight:normal}.line,.plain{white-space:nowrap}"
    ".entry0,.entry1{text-align:left;margin:0}.entry1{margin-left:1.2em}"
    ".hang{margin-left:1.4em;text-indent:-1.4em}"
    ".term{margin-bottom:0}.meaning{margin-top:0;margin-left:2.2em}"
    ".item0,.item1,.item2{text-align:left}"
    ".item0{margin-left:1.2em}.item1{margin-left:2.8em}.item2{margin-left:4.4em}"
    ".plain td{border:0;padding:0}table{text-indent:0}hr{margin:0.5em 0}"
)


def _details(rng: random.Random) -> str:
    between = rng.choice(["0", "0", "0.3em"])
    return (
        f"td,th{{padding:{rng.randint(1, 5)}px}}th{{text-align:left}}"
        f".small{{font-size:{rng.uniform(0.7, 0.85):.2f}em}}"
        f".caption{{font-size:{rng.choice([0.8, 0.9, 1])}em;text-align:{rng.choice(['left', 'center'])}}}"
        f".abstract{{font-size:{rng.choice([0.85, 0.9, 1])}em;margin-left:2em;margin-right:2em}}"
        f".quote{{margin-left:{rng.uniform(1, 4):.1f}em;margin-right:{rng.uniform(0, 3):.1f}em;text-indent:0}}"
        f".item0,.item1,.item2{{text-indent:{rng.choice([0, -1, -1, -1.4])}em}}"
        f".item0,.item1,.item2,li{{margin-top:{between};margin-bottom:{between}}}"
    )


def font_face(alias: str, family: Family) -> str:
    """The CSS that makes a family known as `alias`."""
    rules = []
    for style, file in family.styles.items():
        weight = "bold" if "bold" in style else "normal"
        slant = "italic" if "italic" in style else "normal"
        rules.append(
            f"@font-face{{font-family:{alias};src:url('{file}');font-weight:{weight};font-style:{slant}}}"
        )
    return "".join(rules)
