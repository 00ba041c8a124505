"""Font families for rendered pages, cut down to the characters that pages of text need.

Typefaces of printers that print dots are drawn from a bitmap typeface; those of handwriting come from packages of npm,
named in hands.yaml, of which nothing is installed.
"""

import io
import math
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pymupdf
import yaml
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from PIL import Image, ImageDraw, ImageFont

from ocr.training.corpus.packages import CorpusError, Package

TABLE = Path(__file__).with_name("hands.yaml")
_MEMBER = "package/files/{name}-latin-400-normal.woff"


def build_hands(out: Path, table: Path = TABLE) -> dict[str, dict[str, str]]:
    """Writes out/<family>.ttf; returns version and licence of each package. Raises CorpusError."""
    listed = yaml.safe_load(table.read_text(encoding="utf-8"))
    for name in listed["families"]:
        (out / f"{name}.ttf").write_bytes(plain_font(_downloaded(name, listed["version"]), name))
    return {
        f"@fontsource/{name}": {"version": listed["version"], "licence": "OFL-1.1"}
        for name in listed["families"]
    }


def plain_font(archive: bytes, name: str) -> bytes:
    """Returns the regular Latin font of a package, not compressed. Raises CorpusError if it has none."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        try:
            found = members.extractfile(_MEMBER.format(name=name))
        except KeyError as error:
            raise CorpusError(f"{name} has no {_MEMBER.format(name=name)}: take another family") from error
        assert found
        font = TTFont(io.BytesIO(found.read()))
    font.flavor = None
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()


def _downloaded(name: str, version: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"@fontsource/{name}@{version}"]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise CorpusError(f"{' '.join(command)} failed: {error}") from error
        return next(Path(folder).glob("*.tgz")).read_bytes()


_EM = 1000
_CORNERS = 8  # of a dot


def dotted(data: bytes, characters: str, *, height_px: int, radius: float) -> bytes:
    """Returns a TrueType font: each pixel of the glyphs at `height_px` is a dot of `radius` pixels (0.3 to 0.8).

    data: a monospaced font, sharp at that height: of bitmaps, or of outlines that follow a grid. Characters that it
    lacks are left out. Radii above 0.5 make dots that touch, as a worn ribbon does.
    """
    font = ImageFont.truetype(io.BytesIO(data), height_px)
    ascent, descent = font.getmetrics()
    width = round(font.getlength("0"))
    unit = _EM / (ascent + descent)
    unknown = _mask(font, "\U000f1234", width, ascent + descent)
    glyphs, names = {".notdef": TTGlyphPen(None).glyph(), "space": TTGlyphPen(None).glyph()}, {0x20: "space"}
    for character in characters:
        mask = _mask(font, character, width, ascent + descent)
        if not mask or mask == unknown:
            continue
        name = f"u{ord(character):04X}"
        pen = TTGlyphPen(None)
        for x, y in mask:
            _dot(pen, (x + 0.5) * unit, (ascent - y - 0.5) * unit, radius * unit)
        glyphs[name], names[ord(character)] = pen.glyph(), name
    return _built(glyphs, names, round(width * unit), round(ascent * unit), round(descent * unit))


def _mask(font: ImageFont.FreeTypeFont, character: str, width: int, height: int) -> list[tuple[int, int]]:
    """The pixels (x, y) that are set."""
    image = Image.new("1", (width, height))
    ImageDraw.Draw(image).text((0, 0), character, fill=1, font=font)
    return [(x, y) for y in range(height) for x in range(width) if image.getpixel((x, y))]


def _dot(pen: TTGlyphPen, x: float, y: float, radius: float) -> None:
    for corner in range(_CORNERS):
        angle = -2 * math.pi * (corner + 0.5) / _CORNERS
        point = (round(x + radius * math.cos(angle)), round(y + radius * math.sin(angle)))
        (pen.lineTo if corner else pen.moveTo)(point)
    pen.closePath()


def _built(
    glyphs: dict[str, object], names: dict[int, str], advance: int, ascent: int, descent: int
) -> bytes:
    builder = FontBuilder(_EM, isTTF=True)
    builder.setupGlyphOrder(list(glyphs))
    builder.setupCharacterMap(names)
    builder.setupGlyf(glyphs)
    builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (advance, 0)))
    builder.setupHorizontalHeader(ascent=ascent, descent=-descent)
    builder.setupNameTable({"familyName": "Dots", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=ascent, sTypoDescender=-descent, usWinAscent=ascent, usWinDescent=descent)
    builder.setupPost(isFixedPitch=1)
    out = io.BytesIO()
    builder.save(out)
    return out.getvalue()


CLASSES = ("serif", "sans", "mono", "display")
STYLES = ("regular", "bold", "italic", "bolditalic")
GREEK = "".join(chr(code) for code in (*range(0x391, 0x3A2), *range(0x3A3, 0x3AA), *range(0x3B1, 0x3CA)))
CURRENCY_AND_MATHS = "€£¥±×÷≤≥≠≈∞√∑∫∂→←↔⇒∈°µ−∆∏⋅"
PUNCTUATION = "‐‑‒–—―‘’‚‛“”„‟†‡•…‰′″‹›⁄™©®§¶«»"
LIGATURES = "ﬀﬁﬂﬃﬄ"
RARE = "\u00adŢţĔĕĬĭĲĳĸĿŀŉŊŋŎŏŦŧſ"
LATIN = "".join(chr(code) for code in (*range(0x20, 0x7F), *range(0xA0, 0x180)) if chr(code) not in RARE)
WELSH_AND_VIETNAMESE = "ƠơƯư" + "".join(
    chr(code) for code in (*range(0x1E80, 0x1E86), *range(0x1EA0, 0x1EFA))
)
REQUIRED = LATIN + PUNCTUATION + CURRENCY_AND_MATHS + GREEK + LIGATURES + "ȘșȚț" + WELSH_AND_VIETNAMESE
"""What a page may hold: Latin with accents, punctuation, currency, common maths, Greek letters, ligatures."""


UNKNOWN_TABLES = ("FFTM", "PfEd", "TeX ", "BDF ", "TTFA", "Silf", "Sill", "Glat", "Gloc")
"""Tables of font editors and of Graphite, which the subsetter cannot cut."""


def load_table(path: Path) -> list[dict[str, Any]]:
    """Returns the families of a YAML table: family, class, packages, files by style, perhaps dots.

    Raises CorpusError for a class or style that is not known.
    """
    families: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for entry in families:
        files = entry["files"]
        if entry["class"] not in CLASSES or not isinstance(files, dict) or not set(files) <= set(STYLES):
            raise CorpusError(f"{path.name}: {entry['family']}: unknown class or style")
    return families


def subset_font(data: bytes, characters: str, *, ligatures: bool) -> bytes:
    """Returns the font (TrueType or OpenType, unhinted) with only `characters`, kerning and, if asked, ligatures.

    A monospaced font for code should not have ligatures: `->` would be drawn as an arrow that is no character.
    """
    options = Options()
    options.hinting = False
    options.layout_features = ["kern", "liga"] if ligatures else ["kern"]
    options.name_IDs = [1, 2, 4, 6]
    options.name_languages = [0x409]
    options.notdef_outline = True
    options.drop_tables = [*options.drop_tables, *UNKNOWN_TABLES]
    font = TTFont(io.BytesIO(data), recalcTimestamp=False)
    options.legacy_kern = not _kerns_by_gpos(font)
    cutter = Subsetter(options)
    cutter.populate(text=characters)
    cutter.subset(font)
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()


def _kerns_by_gpos(font: TTFont) -> bool:
    table = font["GPOS"].table if "GPOS" in font else None
    records = table.FeatureList.FeatureRecord if table is not None and table.FeatureList else []
    return any(record.FeatureTag == "kern" for record in records)


def draws(path: Path, character: str = "A") -> bool:
    """Returns whether PyMuPDF opens the font file and inks `character` on a page."""
    font = pymupdf.Font(fontfile=str(path))
    if not font.has_glyph(ord(character)):
        return False
    with pymupdf.open() as document:
        page = document.new_page(width=60, height=60)
        writer = pymupdf.TextWriter(page.rect)
        writer.append((10, 45), character, font=font, fontsize=36)
        writer.write_text(page)
        return bool(min(page.get_pixmap(colorspace=pymupdf.csGRAY).samples) < 128)


def build_family(entry: Mapping[str, Any], packages: Mapping[str, Package], out: Path) -> dict[str, Any]:
    """Writes the subset files of a family; returns its index entry.

    Raises CorpusError when a named file is not in its package or does not draw.
    """
    names, files = entry["packages"], entry["files"]
    styles: dict[str, str] = {}
    for style, file_name in files.items():
        data = _find(file_name, (packages[name] for name in names)).read_bytes()
        name = file_name.replace(" ", "")
        # Dots are of a printer that prints them: the pixels of a line, and a dot's radius in them.
        if dots := entry.get("dots"):
            height_px, radius = int(dots["height_px"]), float(dots["radius"])
            small = dotted(data, REQUIRED, height_px=height_px, radius=radius)
            name = f"{Path(name).stem}-{height_px}-{radius * 100:.0f}.ttf"
        else:
            small = subset_font(data, REQUIRED, ligatures=entry["class"] != "mono")
        target = out / name
        target.write_bytes(small)
        if not draws(target):
            raise CorpusError(f"{file_name} does not draw 'A': take it out of the font table")
        styles[style] = name
    licences = dict.fromkeys(packages[name].licence for name in names)
    return {
        "family": entry["family"],
        "class": entry["class"],
        "package": " ".join(names),
        "licence": "; ".join(licences),
        "styles": styles,
        "lacks": lacking(out / styles["regular"]),
    }


def lacking(path: Path) -> str:
    """Returns the letters of pages that a font file does not have."""
    known = TTFont(path).getBestCmap()
    return "".join(c for c in REQUIRED if c.isalpha() and ord(c) not in known)


def _find(file_name: str, packages: Iterable[Package]) -> Path:
    searched = []
    for package in packages:
        searched.append(package.name)
        found = sorted(package.root.rglob(file_name))
        if found:
            return found[0]
    raise CorpusError(f"{file_name} is not in {', '.join(searched)}: correct fonts.yaml")
