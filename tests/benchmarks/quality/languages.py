"""How well each language is read: lines of Firefox's translations, which no corpus has, in typefaces that none has.

python -m tests.benchmarks.quality.languages PACKAGES
python -m tests.benchmarks.quality.languages PACKAGES tr vi --lines OTHER_WEIGHTS

Prints wrong characters and right words of four pages of each, 8 to 12 points at 200 dpi, as drawn and worn, how many of
the eight pages are in doubt, and which letters are taken for others. PACKAGES keeps packages of Debian 12.
"""

import argparse
import random
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

import numpy as np
import pymupdf
import torch
from rapidfuzz.distance import Levenshtein

from encoders.views import UInt8Array
from ocr.line_reader.language import is_in_doubt, strange_lines
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.model_files.locate import LINES, SHIPPED, find_directory
from ocr.training.augment.degrade import degrade
from ocr.training.corpus.packages import download

LANGUAGES = (
    "ca", "cs", "cy", "de", "eo", "et", "eu", "fi", "fr", "ga-ie", "gl", "hr", "hu", "is", "lt", "lv", "nl", "pl", "ro",
    "sk", "sl", "sq", "sv-se", "tr", "vi",
)  # fmt: skip
_PACKAGES = (
    "fonts-cardo", "fonts-clear-sans", "fonts-crosextra-caladea", "fonts-karla", "fonts-lato", "fonts-vollkorn",
    "fonts-yrsa-rasa",
)  # fmt: skip
_TYPEFACES = (
    "Caladea-Regular.ttf", "Caladea-Italic.ttf", "Cardo104s.ttf", "ClearSans-Regular.ttf", "Karla-Regular.otf",
    "Lato-Regular.ttf", "Lato-Italic.ttf", "Vollkorn-Regular.ttf", "Vollkorn-Bold.ttf", "Yrsa-Regular.ttf",
    "Yrsa-Bold.ttf",
)  # fmt: skip
_SIZES_PT, _DPI = (10, 8, 12, 9), 200
_SHEET_PT, _MARGIN_PT, _LEADING = (414, 592), 40, 1.3
_MESSAGE = re.compile(r"^(?:[\w-]+|\s+\.[\w-]+) = ?(.*(?:\n    +[^.\s\[*}{].*)*)", re.MULTILINE)
_SHORTEST, _MARKUP = 25, re.compile(r"[{}<>%\\&\[\]|]")
_TOLD = 6  # confusions


@dataclass(slots=True)
class Figures:
    """Sums over pages."""

    edits: int = 0
    characters: int = 0
    right: int = 0
    words: int = 0
    doubtful: int = 0
    taken: Counter[str] = field(default_factory=Counter)

    def add(self, read: str, truth: str) -> None:
        """Adds a page's text. Ellipses count as three dots, as the reader writes them."""
        read, truth = (" ".join(text.replace("…", "...").split()) for text in (read, truth))
        changes = [op for op in Levenshtein.opcodes(read, truth) if op.tag == "replace"]
        self.taken.update(
            f"{truth[op.dest_start : op.dest_end]}→{read[op.src_start : op.src_end]}" for op in changes
        )
        self.edits += Levenshtein.distance(read, truth)
        self.characters += len(truth)
        words = Counter(truth.split())
        self.right += (words & Counter(read.split())).total()
        self.words += words.total()

    def __str__(self) -> str:
        return f"{self.edits / self.characters:.2%} | {self.right / self.words:.1%}"


def sentences(root: Path) -> list[str]:
    """Returns the messages of an unpacked translation that are long enough, without markup and variables."""
    [bundle] = root.rglob("*.xpi")
    with zipfile.ZipFile(bundle) as files:
        texts = [files.read(name).decode() for name in sorted(files.namelist()) if name.endswith(".ftl")]
    found = (" ".join(message.split()) for text in texts for message in _MESSAGE.findall(text))
    kept = (unicodedata.normalize("NFC", message) for message in found if not _MARKUP.search(message))
    return list(dict.fromkeys(message for message in kept if len(message) >= _SHORTEST))


def drawn(messages: Iterator[str], font: pymupdf.Font, size_pt: float) -> tuple[UInt8Array, list[str]]:
    """Returns a page of those messages that the typeface has all letters of, [H, W] grey, and its lines."""
    width, height = _SHEET_PT
    with pymupdf.open() as document:
        page = document.new_page(width=width, height=height)
        writer, lines, line = pymupdf.TextWriter(page.rect), list[str](), ""
        shown = (message for message in messages if all(font.has_glyph(ord(c)) for c in message))
        for word in (word for message in shown for word in message.split()):
            if line and font.text_length(f"{line} {word}", size_pt) > width - 2 * _MARGIN_PT:
                writer.append((_MARGIN_PT, _MARGIN_PT + len(lines) * _LEADING * size_pt), line, font, size_pt)
                lines.append(line)
                line = ""
                if _MARGIN_PT + len(lines) * _LEADING * size_pt > height - _MARGIN_PT:
                    break
            line = f"{line} {word}".strip()
        writer.write_text(page)
        pixmap = page.get_pixmap(dpi=_DPI, colorspace=pymupdf.csGRAY)
    pixels = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width)
    return pixels[: pixmap.height // 16 * 16, : pixmap.width // 16 * 16], lines


def worn(pixels: UInt8Array, seed: int) -> UInt8Array:
    """Returns a page worn as in training, always in the same way. pixels: [H, W], both multiples of 16."""
    torch.manual_seed(seed)
    random.seed(seed)
    return degrade(torch.from_numpy(pixels.copy())[None, None], 1.0)[0, 0].byte().numpy()


def measured(messages: Iterator[str], fonts: Sequence[Path], reader: LineReader) -> Iterator[Figures]:
    """Yields the figures of a language's pages as drawn, and worn."""
    plain, rubbed = Figures(), Figures()
    for seed, (size_pt, path) in enumerate(zip(_SIZES_PT, fonts, strict=False)):
        pixels, lines = drawn(messages, pymupdf.Font(fontfile=str(path)), size_pt)
        top, step = (at * _DPI / 72 for at in (_MARGIN_PT, _LEADING * size_pt))
        for figures, page in ((plain, pixels), (rubbed, worn(pixels, seed))):
            darkness = darkness_of(page)
            read = reader.read(darkness, reader.find(darkness))
            rows = (
                (round((float(np.median(row.line.baseline)) - top) / step), row.line.left, row)
                for row in read
            )
            figures.add(" ".join(row.text for *_, row in sorted(rows, key=itemgetter(0, 1))), " ".join(lines))
            figures.doubtful += is_in_doubt(strange_lines(read), read)
    yield from (plain, rubbed)


def having(letters: Iterable[str], paths: Iterable[Path]) -> list[Path]:
    """Returns the typefaces that have the letters."""
    fonts = ((path, pymupdf.Font(fontfile=str(path))) for path in paths)
    return [path for path, font in fonts if all(font.has_glyph(ord(c)) for c in letters)]


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.quality.languages", description=__doc__)
    parser.add_argument("packages", type=Path)
    parser.add_argument("languages", nargs="*", default=LANGUAGES)
    parser.add_argument(
        "--lines", type=Path, default=find_directory(SHIPPED) / LINES, help="weights of a line reader"
    )
    args = parser.parse_args(given)
    reader = LineReader.load(args.lines)
    found = download(_PACKAGES, args.packages).values()
    paths = [next(p for package in found for p in package.root.rglob(name)) for name in _TYPEFACES]
    print(
        "| | wrong | words right | worn | words right | doubtful of 8 | taken for others |\n"
        + "|---" * 7
        + "|"
    )
    for language in args.languages:
        [package] = download([f"firefox-esr-l10n-{language}"], args.packages).values()
        messages, rng = sentences(package.root), random.Random(language)
        rng.shuffle(messages)
        counts = Counter(c for message in messages for c in set(message) if c.isalpha())
        fonts = having((c for c, count in counts.items() if count > len(messages) / 400), paths)
        plain, rubbed = measured(iter(messages), rng.sample(fonts * 4, len(_SIZES_PT)), reader)
        taken = " ".join(f"{pair} {count}" for pair, count in plain.taken.most_common(_TOLD))
        print(
            f"| {language} | {plain} | {rubbed} | {plain.doubtful + rubbed.doubtful} | {taken} |", flush=True
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
