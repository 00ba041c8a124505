"""Compares the unseen sets with what was trained on: packages, repositories, typefaces, and the text itself."""

import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymupdf
import yaml

from tests.benchmarks.quality.sets.layout import MANIFEST, TRUTH, QualityError
from tests.benchmarks.quality.sets.unseen.build import source_packages

SHINGLE = 8  # words in a row
MOST_SHARED = 0.1  # of a page's shingles, before its text counts as trained on: licences and headings repeat
_FACES = Path("ocr/training/corpus/fonts.yaml")
_PAGES = Path("ocr/training/corpus/pdfs.yaml")
_TEXTS = Path("ocr/training/corpus/texts.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What was trained on. packages, repositories, families: names. folders: corpora whose texts can be compared."""

    packages: frozenset[str]
    repositories: frozenset[str]
    families: frozenset[str]
    folders: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """What one source of the evaluation shares with the training. shared: pages of much shared text, with the share."""

    source: str
    num_pages: int
    package: bool
    source_package: bool
    families: tuple[str, ...]
    repository: bool
    shared: Mapping[str, float]

    @property
    def bad(self) -> bool:
        """Whether a document may have been seen. A repository may be shared, if its documents are not."""
        return self.package or self.source_package or bool(self.families) or bool(self.shared)


def trained(paths: Iterable[Path]) -> Trained:
    """Returns what the given lists (`training_data.json`) and corpus folders name, and the tree's corpus tables."""
    packages: set[str] = set()
    repositories: set[str] = set()
    families = {face["family"] for face in _yaml(_FACES)}
    packages |= set(_yaml(_PAGES)["packages"])
    for source in _yaml(_TEXTS)["sources"]:
        packages |= {*source.get("packages", ()), *source.get("languages", {}).values()}
    folders = []
    for path in paths:
        if path.is_dir():
            folders.append(path)
            packages |= {str(entry["package"]) for entry in _index(path / "pdfs")}
            families |= {entry["family"] for entry in _index(path / "fonts")}
        elif path.is_file():
            listed = json.loads(path.read_text(encoding="utf-8"))
            for part in ("text", "pdfs", "pictures"):
                packages |= set(listed.get(part, {}))
            repositories |= {
                name for part in ("scans", "text") for name in listed.get(part, {}) if "/" in name
            }
        else:
            raise QualityError(f"{path} is neither a list nor a folder of training data")
    parts = {part for name in packages | repositories for part in re.split(r"[,: ]+", name) if part}
    return Trained(
        packages=frozenset(parts),
        repositories=frozenset(parts | repositories),
        families=frozenset(families),
        folders=tuple(folders),
    )


def compare(folder: Path, known: Trained) -> list[Overlap]:
    """Returns one entry for every package, repository and kind of composed page of the sets in `folder`."""
    pages: dict[str, dict[str, Any]] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["pages"]
    shares = shared_text(folder, pages, known.folders)
    sources = set(source_packages(known.packages).values())
    by_source: dict[str, list[str]] = {}
    for name, page in pages.items():
        title = page["package"] or page["repository"] or f"composed: {page['category']}"
        by_source.setdefault(title, []).append(name)
    return [
        Overlap(
            source=title,
            num_pages=len(names),
            package=pages[names[0]]["package"] in known.packages,
            source_package=pages[names[0]]["source_package"] in sources,
            families=tuple(sorted({f for name in names for f in pages[name]["families"]} & known.families)),
            repository=pages[names[0]]["repository"] in known.repositories,
            shared={name: shares[name] for name in names if shares[name] > MOST_SHARED},
        )
        for title, names in sorted(by_source.items())
    ]


def shared_text(folder: Path, pages: Iterable[str], corpora: Iterable[Path]) -> dict[str, float]:
    """Returns the share of each page's runs of SHINGLE words that stand in the training texts; short pages have 0."""
    own = {name: set(shingles(_truth(folder, name))) for name in pages}
    wanted = {shingle for found in own.values() for shingle in found}
    seen: set[str] = set()
    for corpus in corpora:
        for text in _texts(corpus):
            seen.update(wanted.intersection(shingles(text)))
    return {name: len(found & seen) / len(found) if found else 0.0 for name, found in own.items()}


def shingles(text: str) -> Iterator[str]:
    """Yields every run of SHINGLE words, in lower case, without punctuation."""
    words = re.findall(r"\w+", text.lower())
    for start in range(len(words) - SHINGLE + 1):
        yield " ".join(words[start : start + SHINGLE])


def lines(found: Iterable[Overlap]) -> list[str]:
    """Returns the table as markdown."""
    head = "| source | pages | package | source package | faces | repository | pages with shared text |"
    rows = [head, "|---|---|---|---|---|---|---|"]
    for entry in found:
        text = ", ".join(f"{name} {100 * share:.0f}%" for name, share in entry.shared.items())
        flags = [
            _yes(entry.package),
            _yes(entry.source_package),
            ", ".join(entry.families),
            _yes(entry.repository),
        ]
        mark = "**" if entry.bad else ""
        rows.append(f"| {mark}{entry.source}{mark} | {entry.num_pages} | {' | '.join(flags)} | {text} |")
    return rows


def _texts(corpus: Path) -> Iterator[str]:
    """Yields the texts of a corpus folder: its text files, and the text layers of its documents."""
    for file in sorted((corpus / "text").glob("*.txt*")):
        if file.suffix == ".xz":
            yield lzma.decompress(file.read_bytes()).decode("utf-8", errors="replace")
        else:
            yield file.read_text(encoding="utf-8", errors="replace")
    pymupdf.TOOLS.mupdf_display_errors(False)
    for file in sorted(corpus.rglob("*.pdf")):
        with pymupdf.open(file) as document:
            yield "\n".join(page.get_text() for page in document)


def _truth(folder: Path, name: str) -> str:
    return next((folder / TRUTH).glob(f"{_quoted(name)}.*/1.txt")).read_text(encoding="utf-8")


def _quoted(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _index(folder: Path) -> list[dict[str, Any]]:
    file = folder / "index.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []


def _yes(flag: bool) -> str:
    return "yes" if flag else ""
