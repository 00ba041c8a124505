"""Builds the evaluation set: pictures of the chosen pages at 150 and 200 dpi, worn copies, and their truth.

DIR/200dpi/<name>.png, DIR/150dpi/..., DIR/degraded/..., DIR/truth/<name>.png/1.txt and DIR/manifest.json.
"""

import gzip
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pymupdf
from PIL import Image

from ocr.training.corpus.packages import Package, download
from ocr.training.pages.page_truth import Sheet, UnreadableError, extract
from tests.benchmarks.quality.sets import empty, wear
from tests.benchmarks.quality.sets.selection import EmptyPage, QualityError, Selection, TextPage

DPIS = (200, 150)
DEGRADED = "degraded"
SETS = (*(f"{dpi}dpi" for dpi in DPIS), DEGRADED)
TRUTH = "truth"
MANIFEST = "manifest.json"


def build(selection: Selection, folder: Path, cache: Path) -> int:
    """Writes the set into `folder` (replacing one that is there) and returns its number of pages.

    cache: where the packages are downloaded and unpacked.
    Raises QualityError for a page that is missing or has no sound text layer, CorpusError for a package.
    """
    pymupdf.TOOLS.mupdf_display_errors(False)  # films and forms that it cannot draw; the pages were inspected
    packages = download(selection.packages, cache)
    roots = {name: package.root for name, package in packages.items()}
    for part in (*SETS, TRUTH):
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / part).mkdir(parents=True)
    for text_page in selection.text:
        _write_text_page(text_page, roots[text_page.package], folder)
    for empty_page in selection.empty:
        _write_truth(folder, empty_page.name, "")
        for dpi in DPIS:
            _save(empty.render(empty_page, dpi, roots), folder / f"{dpi}dpi", empty_page.name, dpi)
    kinds = _write_degraded([page.name for page in selection.pages], folder)
    _write_manifest(selection.pages, kinds, packages, folder)
    return len(kinds)


def _write_text_page(page: TextPage, root: Path, folder: Path) -> None:
    with pymupdf.open(stream=document_bytes(root / page.document), filetype="pdf") as document:
        if not 1 <= page.page <= len(document):
            raise QualityError(f"{page.document} has {len(document)} pages: no page {page.page}")
        sheet = document[page.page - 1]
        try:
            truth = extract(Sheet.of(sheet)).text
        except UnreadableError as error:
            raise QualityError(f"{page.name}: {error}") from error
        _write_truth(folder, page.name, truth)
        for dpi in DPIS:
            pixmap = document[page.page - 1].get_pixmap(dpi=dpi, colorspace=pymupdf.csRGB, alpha=False)
            image = Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)
            _save(image, folder / f"{dpi}dpi", page.name, dpi)


def document_bytes(file: Path) -> bytes:
    """Returns the content of a package's document, unpacked. Raises QualityError where the file is missing."""
    if not file.is_file():
        raise QualityError(f"{file}: the package has no such file; is it another version?")
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def _write_truth(folder: Path, name: str, text: str) -> None:
    place = folder / TRUTH / f"{name}.png"
    place.mkdir()
    (place / "1.txt").write_text(text, encoding="utf-8")


def _save(image: Image.Image, folder: Path, name: str, dpi: int) -> None:
    """Saves the picture, in grey if no pixel has a colour."""
    as_grey(image).save(folder / f"{name}.png", dpi=(dpi, dpi), compress_level=4)


def as_grey(image: Image.Image) -> Image.Image:
    """Returns the picture in grey if no pixel has a colour, else as it is."""
    if image.mode != "RGB":
        return image
    pixels = np.asarray(image)
    return image.convert("L") if (pixels == pixels[..., :1]).all() else image


def _write_degraded(names: list[str], folder: Path) -> dict[str, tuple[str, ...]]:
    """Writes worn copies of the 200 dpi pages; the previous page bleeds through. Returns the kinds by name."""
    kinds: dict[str, tuple[str, ...]] = {}
    for index, name in enumerate(names):
        kinds[name] = wear.kinds_of(index, name)
        back_of = folder / "200dpi" / f"{names[index - 1]}.png"
        with Image.open(folder / "200dpi" / f"{name}.png") as page, Image.open(back_of) as back:
            _save(wear.degrade(page, back, kinds[name], name), folder / DEGRADED, name, 200)
    return kinds


def _write_manifest(
    pages: list[TextPage | EmptyPage],
    kinds: dict[str, tuple[str, ...]],
    packages: dict[str, Package],
    folder: Path,
) -> None:
    manifest = {
        "packages": {name: package.version for name, package in sorted(packages.items())},
        "pages": {
            page.name: {**asdict(page), "category": page.category, "degraded": kinds[page.name]}
            for page in pages
        },
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
