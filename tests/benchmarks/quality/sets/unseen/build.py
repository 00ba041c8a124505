"""Builds the sets of documents that nothing was trained on: born-digital pages, composed pages, and real scans.

DIR/digital, DIR/composed and DIR/scans hold the pictures, DIR/truth/<picture>/1.txt their texts, DIR/manifest.json
where each comes from. Repositories are read from bare git copies: MIRRORS/owner+name/repo.
"""

import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf
import yaml
from PIL import Image

from ocr.training.corpus.packages import Package, download
from ocr.training.pages.page_truth import Sheet, extract
from tests.benchmarks.quality.sets.layout import HANDWRITING, MANIFEST, TRUTH, QualityError
from tests.benchmarks.quality.sets.unseen.composed import faces, prose
from tests.benchmarks.quality.sets.unseen.composed.kinds import KINDS, compose
from tests.benchmarks.quality.sets.unseen.composed.workshop import Material
from tests.benchmarks.quality.sets.unseen.scans import Mirror

DIGITAL, COMPOSED, SCANS = "digital", "composed", "scans"
UNSEEN_SETS = (DIGITAL, COMPOSED, SCANS)
_HERE = Path(__file__).parent
_PHOTOGRAPHS = ("gnome-backgrounds", "mate-backgrounds")
_DPI = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a page comes from. document: within the package or repository, or what composed it.

    source_package: of Debian, which may build several packages. families: typefaces of a composed page.
    """

    document: str
    licence: str
    package: str = ""
    source_package: str = ""
    repository: str = ""
    commit: str = ""
    families: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPage:
    """A page before it is written. suffix: of the picture's file."""

    set_name: str
    category: str
    suffix: str
    picture: bytes
    truth: str
    source: Source


def build(folder: Path, mirrors: Path, cache: Path, sets: tuple[str, ...] = UNSEEN_SETS) -> dict[str, int]:
    """Writes the sets into `folder`, in place of those that are there; returns their numbers of pages.

    cache: where packages are downloaded and unpacked. Raises QualityError for a page or mirror that is missing,
    CorpusError for a package.
    """
    manifest = folder / MANIFEST
    kept = json.loads(manifest.read_text(encoding="utf-8"))["pages"] if manifest.is_file() else {}
    pages: dict[str, Any] = {name: entry for name, entry in kept.items() if entry["set"] not in sets}
    for name in sets:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    makers = {
        DIGITAL: lambda: _digital_pages(cache),
        COMPOSED: lambda: _composed_pages(mirrors, cache),
        SCANS: lambda: _scanned_pages(mirrors),
    }
    for name in sets:
        for number, page in enumerate(makers[name]()):
            stem = f"{page.category}-{number:03}-{_short(page.source)}"
            pages[stem] = _write(page, stem, folder)
    manifest.write_text(json.dumps({"pages": pages}, indent=1, ensure_ascii=False), encoding="utf-8")
    return {name: sum(entry["set"] == name for entry in pages.values()) for name in UNSEEN_SETS}


def packages() -> tuple[str, ...]:
    """Returns the packages that the sets are made of: nothing of them may be trained on, save their `heldout` faces."""
    listed = (package for _, package, _, _ in digital_pages())
    return tuple(sorted({*listed, *_PHOTOGRAPHS, *(face.package for face in faces.load())}))


def digital_pages() -> Iterator[tuple[str, str, str, int]]:
    """Yields kind, package, document below its root, and 1-based number of each digital page."""
    for kind, lines in _table("digital").items():
        for line in lines:
            package, _, rest = line.partition("/")
            path, _, number = rest.rpartition(":")
            yield kind, package, path, int(number)


def material(mirrors: Path, cache: Path) -> Material:
    """Returns what composed pages are made of. Raises QualityError for a mirror, CorpusError for a package."""
    found: dict[str, Package] = download({*_PHOTOGRAPHS, *(face.package for face in faces.load())}, cache)
    roots = {name: package.root for name, package in found.items()}
    books = [_book(entry, mirrors) for entry in _table("composed/prose")]
    return Material(roots=roots, prose=tuple(books), photographs=tuple(_photographs(roots)))


def source_packages(packages: Iterable[str]) -> dict[str, str]:
    """Returns the Debian source packages that build packages; their own names where apt does not know them."""
    named = sorted(name for name in packages if re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name))
    shown = (
        subprocess.run(["apt-cache", "show", *named], capture_output=True, text=True).stdout if named else ""
    )
    built = {name: name for name in named}
    for record in shown.split("\n\n"):
        name = re.search(r"^Package: (\S+)", record, re.MULTILINE)
        source = re.search(r"^Source: (\S+)", record, re.MULTILINE)
        if name and source:
            built[name[1]] = source[1]
    return built


def _digital_pages(cache: Path) -> Iterator[BuiltPage]:
    pymupdf.TOOLS.mupdf_display_errors(False)
    found = download({package for _, package, _, _ in digital_pages()}, cache)
    sources = source_packages(found)
    for kind, package, path, number in digital_pages():
        picture, truth = _pdf_page(document_bytes(found[package].root / path), number)
        yield BuiltPage(
            set_name=DIGITAL,
            category=kind,
            suffix=".png",
            picture=picture,
            truth=truth,
            source=Source(
                document=f"{path}:{number}",
                licence=found[package].licence,
                package=package,
                source_package=sources[package],
            ),
        )


def _pdf_page(content: bytes, number: int) -> tuple[bytes, str]:
    with pymupdf.open(stream=content, filetype="pdf") as document:
        page = document[number - 1]
        pixmap = page.get_pixmap(dpi=_DPI, colorspace=pymupdf.csRGB, alpha=False)
        image = Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)
        return _png(as_grey(image), (_DPI, _DPI)), extract(Sheet.of(page)).text


def _composed_pages(mirrors: Path, cache: Path) -> Iterator[BuiltPage]:
    shared = material(mirrors, cache)
    for kind in KINDS:
        for number in range(kind.count):
            made = compose(kind, number, shared)
            dpi = made.image.info.get("dpi") or (kind.dpi, kind.dpi)
            yield BuiltPage(
                set_name=COMPOSED,
                category=kind.name,
                suffix=".png",
                picture=_png(as_grey(made.image), dpi),
                truth=made.text,
                source=Source(
                    document=f"{kind.name} {number}, text: {made.book}", licence="-", families=made.families
                ),
            )


def _scanned_pages(mirrors: Path) -> Iterator[BuiltPage]:
    table = _table("scans")
    for entry in table["sources"]:
        mirror = _mirror(entry, mirrors)
        for document, most in entry["pages"].items():
            for page in mirror.pages(document, most, rows=entry.get("rows", False)):
                if page.path in table["left_out"]:
                    continue
                yield BuiltPage(
                    set_name=SCANS,
                    category=entry["kind"],
                    suffix=page.suffix,
                    picture=page.picture,
                    truth=page.truth,
                    source=Source(
                        document=page.path,
                        licence=entry["licence"],
                        repository=entry["repository"],
                        commit=entry["commit"],
                    ),
                )


def _write(page: BuiltPage, stem: str, folder: Path) -> dict[str, Any]:
    """Writes picture and truth; returns the manifest's entry. Case is not compared on real scans."""
    name = f"{stem}{page.suffix}"
    (folder / page.set_name / name).write_bytes(page.picture)
    truth = folder / TRUTH / name
    truth.mkdir(parents=True, exist_ok=True)
    (truth / "1.txt").write_text(page.truth, encoding="utf-8")
    return {
        "set": page.set_name,
        "category": page.category,
        "any_case": page.set_name == SCANS,
        "handwriting": page.category == HANDWRITING,
        **asdict(page.source),
        "sha256": hashlib.sha256(page.picture).hexdigest(),
        "truth_sha256": hashlib.sha256(page.truth.encode()).hexdigest(),
    }


def _table(name: str) -> Any:
    return yaml.safe_load((_HERE / f"{name}.yaml").read_text(encoding="utf-8"))


def _mirror(entry: dict[str, Any], mirrors: Path) -> Mirror:
    place = mirrors / entry["repository"].replace("/", "+") / "repo"
    if not place.is_dir():
        raise QualityError(
            f"{place} is missing: git clone --bare https://github.com/{entry['repository']} there"
        )
    return Mirror(place, entry["commit"])


def _book(entry: dict[str, Any], mirrors: Path) -> prose.Prose:
    return prose.read(_mirror(entry, mirrors), entry["title"], entry["prefix"])


def _photographs(roots: dict[str, Path]) -> list[Path]:
    """Returns the larger pictures of the packages of photographs: the small ones are drawings."""
    files = (
        file for name in _PHOTOGRAPHS for file in roots[name].rglob("*") if file.suffix in (".jpg", ".webp")
    )
    return sorted(file for file in files if file.stat().st_size > 60_000)


def document_bytes(file: Path) -> bytes:
    """Returns the content of a package's document, unpacked. Raises QualityError where the file is missing."""
    if not file.is_file():
        raise QualityError(f"{file}: the package has no such file; is it another version?")
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def as_grey(image: Image.Image) -> Image.Image:
    """Returns the picture in grey if no pixel has a colour, else as it is."""
    if image.mode != "RGB":
        return image
    pixels = np.asarray(image)
    return image.convert("L") if (pixels == pixels[..., :1]).all() else image


def _png(image: Image.Image, dpi: tuple[float, float]) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", dpi=dpi, compress_level=6)
    return file.getvalue()


def _short(source: Source) -> str:
    named = source.package or Path(source.document).stem or source.document
    return re.sub(r"[^A-Za-z0-9]+", "-", named)[:32].strip("-")
