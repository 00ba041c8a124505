"""Font families for rendered pages, cut down to the characters that pages of text need."""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pymupdf
import yaml
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

from ocr.training.corpus.dots import dotted
from ocr.training.corpus.packages import CorpusError, Package

CLASSES = ("serif", "sans", "mono", "display")
STYLES = ("regular", "bold", "italic", "bolditalic")
GREEK = "".join(chr(code) for code in (*range(0x391, 0x3A2), *range(0x3A3, 0x3AA), *range(0x3B1, 0x3CA)))
CURRENCY_AND_MATHS = "€£¥±×÷≤≥≠≈∞√∑∫∂→←↔⇒∈°µ−∆∏⋅"
PUNCTUATION = "‐‑‒–—―‘’‚‛“”„‟†‡•…‰′″‹›⁄™©®§¶«»"
LIGATURES = "ﬀﬁﬂﬃﬄ"
RARE = "\u00adŢţĈĉĔĕĜĝĤĥĨĩĬĭĲĳĴĵĸĿŀŉŊŋŎŏŜŝŦŧŨũŬŭŴŵŶŷſ"
LATIN = "".join(chr(code) for code in (*range(0x20, 0x7F), *range(0xA0, 0x180)) if chr(code) not in RARE)
REQUIRED = LATIN + PUNCTUATION + CURRENCY_AND_MATHS + GREEK + LIGATURES + "ȘșȚț"
"""What a page may hold: Latin with accents, punctuation, currency, common maths, Greek letters, ligatures."""


UNKNOWN_TABLES = ("FFTM", "PfEd", "TeX ", "BDF ", "TTFA", "Silf", "Sill", "Glat", "Gloc")
"""Tables of font editors and of Graphite, which the subsetter cannot cut."""


def load_table(path: Path) -> list[dict[str, object]]:
    """Returns the families of a YAML table: family, class, split, packages, files by style, perhaps dots.

    Raises CorpusError for a class, split or style that is not known.
    """
    families: list[dict[str, object]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for entry in families:
        files = entry["files"]
        known = entry["class"] in CLASSES and entry["split"] in ("train", "heldout")
        if not known or not isinstance(files, dict) or not set(files) <= set(STYLES):
            raise CorpusError(f"{path.name}: {entry['family']}: unknown class, split or style")
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


def build_fonts(
    table: Sequence[Mapping[str, object]], packages: Mapping[str, Package], out: Path
) -> list[dict[str, object]]:
    """Writes the subset files under out/train and out/heldout; returns the index entries, one a family.

    Raises CorpusError when a named file is not in its package or does not draw.
    """
    return [_build_family(entry, packages, out) for entry in table]


def _build_family(
    entry: Mapping[str, object], packages: Mapping[str, Package], out: Path
) -> dict[str, object]:
    names, files = entry["packages"], entry["files"]
    assert isinstance(names, list)
    assert isinstance(files, dict)
    styles: dict[str, str] = {}
    for style, file_name in files.items():
        data = _find(file_name, (packages[name] for name in names)).read_bytes()
        name = file_name.replace(" ", "")
        dots = entry.get(
            "dots"
        )  # of a printer that prints them: the pixels of a line, and a dot's radius in them
        if isinstance(dots, dict):
            height_px, radius = int(dots["height_px"]), float(dots["radius"])
            small = dotted(data, REQUIRED, height_px=height_px, radius=radius)
            name = f"{Path(name).stem}-{height_px}-{radius * 100:.0f}.ttf"
        else:
            small = subset_font(data, REQUIRED, ligatures=entry["class"] != "mono")
        relative = Path(str(entry["split"])) / name
        target = out / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(small)
        if not draws(target):
            raise CorpusError(f"{file_name} does not draw 'A': take it out of the font table")
        styles[style] = relative.as_posix()
    licences = dict.fromkeys(packages[name].licence for name in names)
    return {
        "family": entry["family"],
        "class": entry["class"],
        "split": entry["split"],
        "package": " ".join(names),
        "licence": "; ".join(licences),
        "styles": styles,
    }


def _find(file_name: str, packages: Iterable[Package]) -> Path:
    searched = []
    for package in packages:
        searched.append(package.name)
        found = sorted(package.root.rglob(file_name))
        if found:
            return found[0]
    raise CorpusError(f"{file_name} is not in {', '.join(searched)}: correct fonts.yaml")
