"""Counts the pages with text that are called blank by their picture, and the empty sheets that are not.

python -m tests.benchmarks.pages.blank_figures CACHE [--each N] [--most N] [--dpi D ...]

Downloads manuals of Debian into CACHE (with apt, nothing is installed), none of which are in training or in the
evaluation set. Draws up to N pages of each whose text layer has a visible letter or figure, those with the least text
first, as losses are mostly a lone header or page number; in turn at the given resolutions. It checks `is_blank`
and, for pages with little text that are not blank, whether the line reader reads something or says that there is
print. Empty sheets are generated (tests.benchmarks.pages.empty_sheets).
"""

import argparse
import gzip
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pymupdf
from PIL import Image

from encoders.views import UInt8Array
from ocr.training.corpus.packages import download
from pipeline.api.image_reader import ImageReader
from pipeline.documents.blank import is_blank
from pipeline.documents.pdf import shows_text
from tests.benchmarks.pages.empty_sheets import sheets

PACKAGES = (
    "4ti2-doc", "debian-edu-doc-en", "debmake-doc", "dibbler-doc", "docbook-xsl-doc-pdf", "euslisp-doc", "evolver-doc",
    "fasta3-doc", "form-doc", "frobby", "genometools-doc", "geotranz-doc", "glpk-doc", "gmsh-doc", "gputils-doc",
    "libcfitsio-doc", "libmpfr-doc", "mrbayes-doc", "music-doc", "nauty-doc", "pari-doc", "sdcc-doc", "surf-alggeo-doc",
)  # fmt: skip
_DPI = (100, 150, 200, 300)
_LITTLE = 400


def documents(cache: Path) -> Iterator[tuple[str, pymupdf.Document]]:
    """Yields name and document of every PDF, each content once."""
    seen = set[bytes]()
    for name, package in sorted(download(PACKAGES, cache).items()):
        for path in sorted(package.root.rglob("*.pdf*")):
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            if path.is_symlink() or data in seen:
                continue
            seen.add(data)
            yield f"{name}/{path.name}", pymupdf.open(stream=data, filetype="pdf")


def chosen(document: pymupdf.Document, each: int) -> list[tuple[int, int]]:
    """Returns text length and index of the pages with the least visible text."""
    lengths = {
        index: len(text)
        for index in range(len(document))
        if any(map(str.isalnum, text := document[index].get_text())) and shows_text(document, index)
    }
    return sorted((length, index) for index, length in lengths.items())[:each]


def main() -> int:
    """Returns 1 if a page with text is called blank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--each", type=int, default=24)
    parser.add_argument("--most", type=int, default=1200)
    parser.add_argument("--dpi", type=int, nargs="+", default=_DPI)
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    blank_s, reader = 0.0, ImageReader()
    for name, document in documents(args.cache):
        counts["documents"] += counts["pages"] < args.most
        for number, (length, index) in enumerate(chosen(document, args.each)):
            if counts["pages"] == args.most:
                break
            counts["pages"] += 1
            dpi = args.dpi[number % len(args.dpi)]
            pixels = _drawn(document[index], dpi)
            start = time.process_time()
            blank = is_blank(pixels)
            blank_s += time.process_time() - start
            is_print = length > _LITTLE or (not blank and _shows_print(reader, pixels))
            verdict = "blank" if blank else "print" if is_print else "no print seen"
            counts[verdict] += 1
            if verdict != "print":
                print(f"{verdict}: {name}, page {index + 1} at {dpi} dpi")
    cost_ms = 1000 * blank_s / counts["pages"]
    print(f"{counts['pages']} pages of {counts['documents']} documents, {cost_ms:.1f} CPU ms a page")
    print(f"{counts['blank']} blank, {counts['no print seen']} on which no print is seen")
    for kind, found in _empty(reader).items():
        print(f"{kind:14} {found['blank']} blank, {found['no print']} no print, {found['print']} print")
    return int(counts["blank"] > 0)


def _empty(reader: ImageReader) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for dpi in _DPI:
        for seed in range(3):
            for kind, pixels in sheets(dpi, seed).items():
                shows = "print" if _shows_print(reader, pixels) else "no print"
                found.setdefault(kind, Counter())["blank" if is_blank(pixels) else shows] += 1
    return found


def _shows_print(reader: ImageReader, pixels: UInt8Array) -> bool:
    return reader.read(Image.fromarray(pixels)).status != "blank"


def _drawn(page: pymupdf.Page, dpi: int) -> UInt8Array:
    pixmap = page.get_pixmap(dpi=dpi, alpha=False)
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)


if __name__ == "__main__":
    sys.exit(main())
