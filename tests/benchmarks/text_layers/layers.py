"""Measures how well good text layers are told from bad ones.

python -m tests.benchmarks.text_layers.layers PACKAGES [--pages N]

PACKAGES: where packages are kept, as of `python -m tests.benchmarks.quality build-unseen`. The good layers are those of
its born-digital pages, which are the truth of that set; each is spoilt in every way of layer_spoils.
"""

import argparse
import random
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pymupdf

from ocr.training.corpus.packages import download
from pipeline.text_layer.page import judged
from tests.benchmarks.quality.sets.unseen.build import digital_pages, document_bytes
from tests.benchmarks.text_layers.layer_spoils import SPOILS

_DPI = 144


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.text_layers.layers", description=__doc__
    )
    parser.add_argument("packages", type=Path)
    parser.add_argument("--pages", type=int, default=None, help="only so many of the good pages")
    args = parser.parse_args()
    pages = [(package, path, number) for _, package, path, number in digital_pages()]
    random.Random(1).shuffle(pages)
    roots = {name: found.root for name, found in download({page[0] for page in pages}, args.packages).items()}
    counts: dict[str, Counter[str]] = {}
    for package, path, number in pages[: args.pages]:
        name, content = f"{package}/{path}:{number}", document_bytes(roots[package] / path)
        _count(counts, "good", _single(content, number), name)
        for spoil in SPOILS:
            rng = random.Random(zlib.crc32(name.encode()))
            try:
                spoilt = spoil(_single(content, number), rng)
            except Exception as error:  # a document that MuPDF cannot take apart
                counts.setdefault(spoil.__name__, Counter())["not made"] += 1
                print(f"{name}: {spoil.__name__}: {type(error).__name__}: {error}")
                continue
            if spoilt is not None:
                _count(counts, spoil.__name__, spoilt, name)
    for kind, found in counts.items():
        print(f"{kind:20} {dict(found)}")
    spoilt = sum((found for kind, found in counts.items() if kind != "good"), Counter[str]())
    print(f"good layers accepted: {counts['good']['accepted']} of {counts['good'].total()}")
    print(
        f"bad layers accepted: {spoilt['accepted']} of {spoilt.total()}; for fallback {spoilt['accepted for fallback']}"
    )


def _count(counts: dict[str, Counter[str]], kind: str, document: Any, page: str) -> None:
    layer = judged(document, 0, _DPI)
    found = counts.setdefault(kind, Counter())
    found["none" if layer is None else "accepted" if layer.is_trustworthy else "turned down"] += 1
    if layer is not None and layer.is_trustworthy == (kind != "good"):
        print(f"{page}: {kind}: {layer.reason or 'accepted: ' + repr(layer.text[:70])}", flush=True)
    unread = judged(document, 0, _DPI, last=True)
    if kind != "good" and unread is not None and unread.is_trustworthy:
        found["accepted for fallback"] += 1


def _single(content: bytes, number: int) -> Any:
    """Returns a page alone, as a document of its own."""
    with pymupdf.open("pdf", content) as document:
        document.select([number - 1])
        return pymupdf.open("pdf", document.tobytes(garbage=3))


if __name__ == "__main__":
    main()
