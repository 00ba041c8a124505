"""Builds the corpus of born-digital documents: their pages, with the text layer as truth, become training pages."""

import gzip
import hashlib
import itertools
import random
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymupdf
import yaml

from ocr.training.corpus.packages import Package

VALID_SHARE = 0.08
_SEED = 20260
_ALLOWED = re.compile(
    "[\t\n\r\x20-\x7e\xa0-\u024f\u0391-\u03c9\u1e00-\u1eff\u2010-\u2027\u2030-\u205e\u2070-\u209f\u20a0-\u20bf"
    "\u2100-\u22ff\u2300-\u23ff\u2500-\u27bf\u27c0-\u2aff\ufb00-\ufb06]"
)
_SPLIT_ACCENT = re.compile("[¨´ˆ˜¸ˇ˘˙˚] ?[A-Za-zı]|[A-Za-z][¨´ˆ˜ˇ˘]")
_WORD = re.compile(r"[^\W\d_]{3,}")
# A file's bytes; of what is kept of it, and of each page of that; pages looked at, and kept; documents of a folder.
_SOURCE_BYTES, _BYTES, _PAGE_BYTES = 12 * 2**20, 1_536_000, 61_440
_LOOKED_AT, _KEPT, _OF_FOLDER = 60, 40, 3
# The fewest characters of a page, and of a document's pages on average; shares of a page's characters and words.
_CHARACTERS, _MEAN_CHARACTERS, _FOREIGN, _KNOWN = 200, 300, 0.02, 0.55


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A document trimmed to its chosen pages. data: the PDF to be written."""

    package: str
    source: str
    split: str
    pages: int
    data: bytes


def load_packages(path: Path) -> dict[str, int]:
    """Returns the packages of a YAML table and how many documents of each may be examined."""
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {str(name): int(count) for name, count in table["packages"].items()}


def foreign_share(text: str) -> float:
    """Returns the share of characters outside Latin, Greek letters, punctuation and common symbols (0 to 1)."""
    return len(_ALLOWED.sub("", text)) / len(text) if text else 0.0


def known_share(text: str, vocabulary: Collection[str]) -> float:
    """Returns the share of words of three letters or more that are in `vocabulary` (lower case); 0 without words.

    A text layer with a wrong encoding has letters, but no words.
    """
    words = _WORD.findall(text.lower().replace("ﬁ", "fi").replace("ﬂ", "fl").replace("ﬀ", "ff"))
    return sum(word in vocabulary for word in words) / len(words) if words else 0.0


def sound(text: str, vocabulary: Collection[str]) -> bool:
    """Returns whether the text layer of one page may serve as truth.

    Refuses too little text, foreign or private-use characters, accents apart from their letters, and unknown words.
    """
    return (
        len(text.strip()) >= _CHARACTERS
        and foreign_share(text) <= _FOREIGN
        and len(_SPLIT_ACCENT.findall(text)) <= 1
        and known_share(text, vocabulary) >= _KNOWN
    )


def build_pdfs(
    packages: Mapping[str, Package],
    looked_at: Mapping[str, int],
    vocabulary: Collection[str],
    out: Path,
    *,
    budget_bytes: int,
) -> list[dict[str, Any]]:
    """Writes trimmed documents under out/train and out/valid until the budget is full; returns the index entries.

    Packages take turns (large ones several a round), so that a small budget still has many sources. Page indices refer
    to the written file.
    """
    streams: list[Iterator[Candidate]] = []
    for name, package in packages.items():
        stream = _candidates(package, looked_at[name], vocabulary)
        streams += [stream] * (1 + looked_at[name] // 50)
    random.Random(_SEED).shuffle(streams)
    index: list[dict[str, Any]] = []
    seen: set[str] = set()
    used = 0
    turns = itertools.chain.from_iterable(itertools.zip_longest(*streams))
    for candidate in (found for found in turns if found is not None):
        digest = _digest(candidate.data)
        if digest in seen or used + len(candidate.data) > budget_bytes:
            continue
        seen.add(digest)
        used += len(candidate.data)
        index.append(_write(candidate, packages[candidate.package], len(index), out))
        if used > budget_bytes - 40_000:
            break
    return index


def _write(candidate: Candidate, package: Package, number: int, out: Path) -> dict[str, Any]:
    stem = re.sub(r"[^A-Za-z0-9]+", "-", Path(candidate.source).name.removesuffix(".gz").removesuffix(".pdf"))
    relative = Path(candidate.split) / f"{number:04d}-{stem[:40]}.pdf"
    (out / relative).parent.mkdir(parents=True, exist_ok=True)
    (out / relative).write_bytes(candidate.data)
    return {
        "file": relative.as_posix(),
        "split": candidate.split,
        "package": candidate.package,
        "licence": package.licence,
        "source": candidate.source,
        "pages": list(range(candidate.pages)),
    }


def _digest(data: bytes) -> str:
    with pymupdf.open(stream=data, filetype="pdf") as document:
        words = re.sub(r"\W+", "", document[0].get_text().lower())
    return hashlib.sha256(words[:600].encode()).hexdigest()


def _candidates(package: Package, most: int, vocabulary: Collection[str]) -> Iterator[Candidate]:
    paths = sorted(
        {path for end in ("pdf", "pdf.gz") for path in package.root.rglob(f"*.{end}") if path.is_file()}
    )
    random.Random(_SEED).shuffle(paths)
    per_folder: dict[Path, int] = {}
    for path in paths[:most]:
        source = f"{package.name}:{path.relative_to(package.root).as_posix()}"
        if per_folder.get(path.parent, 0) >= _OF_FOLDER:
            continue
        if path.is_symlink() or path.stat().st_size > _SOURCE_BYTES:
            continue
        whole = path.read_bytes()
        data, pages = trim(gzip.decompress(whole) if path.suffix == ".gz" else whole, vocabulary)
        if pages:
            per_folder[path.parent] = per_folder.get(path.parent, 0) + 1
            split = _split(f"{package.name}:{path.parent}")
            yield Candidate(package=package.name, source=source, split=split, pages=pages, data=data)


def _split(folder: str) -> str:
    """Returns the split of a folder. All its documents share one, as they often share their text."""
    share = int.from_bytes(hashlib.sha256(folder.encode()).digest()[:4], "big") / 2**32
    return "valid" if share < VALID_SHARE else "train"


def trim(data: bytes, vocabulary: Collection[str]) -> tuple[bytes, int]:
    """Returns the PDF cut down to sound pages and how many those are; no pages when the document is refused.

    Outlines, links, annotations, attachments and metadata are removed; fonts and pictures of the pages stay.
    """
    pymupdf.TOOLS.mupdf_display_errors(False)
    try:
        with pymupdf.open(stream=data, filetype="pdf") as document:
            if document.needs_pass or document.is_encrypted or not len(document):
                return b"", 0
            chosen = _sound_pages(document, vocabulary)
            texts = [document[number].get_text() for number in chosen]
            small = _only(document, chosen) if chosen else b""
        if not _holds(small, texts):
            return b"", 0
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):
        return b"", 0  # a damaged file: there are enough sound ones
    fits = len(small) <= min(_BYTES, _PAGE_BYTES * len(chosen))
    return (small, len(chosen)) if fits else (b"", 0)


def _only(document: pymupdf.Document, pages: list[int]) -> bytes:
    document.set_toc([])
    document.set_metadata({})
    document.del_xml_metadata()
    for name in document.embfile_names():
        document.embfile_del(name)
    document.select(pages)
    for page in document:
        for link in page.get_links():
            page.delete_link(link)
        for annotation in list(page.annots() or ()):
            page.delete_annot(annotation)
    data = document.tobytes(garbage=4, deflate=True, use_objstms=1)
    assert isinstance(data, bytes)
    return data


def _holds(data: bytes, texts: list[str]) -> bool:
    """Returns whether the PDF has exactly pages with these texts: odd page trees do not survive the cut."""
    if not texts:
        return False
    with pymupdf.open(stream=data, filetype="pdf") as document:
        return [page.get_text() for page in document] == texts


def _sound_pages(document: pymupdf.Document, vocabulary: Collection[str]) -> list[int]:
    step = max(1, -(-len(document) // _LOOKED_AT))
    looked_at = range(0, len(document), step)
    texts = {number: document[number].get_text() for number in looked_at}
    if sum(map(len, texts.values())) < _MEAN_CHARACTERS * len(texts):
        return []
    good = [n for n, text in texts.items() if sound(text, vocabulary) and _visible(document[n])]
    if len(good) < 0.3 * len(texts):
        return []
    step = max(1, -(-len(good) // _KEPT))
    return good[::step]


def _visible(page: pymupdf.Page) -> bool:
    """Returns False for pages whose text layer is hidden over a scan (text render mode 3)."""
    return not any(span["type"] == 3 for span in page.get_texttrace())
