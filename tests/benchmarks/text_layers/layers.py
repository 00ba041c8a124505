"""Measures how well good text layers are told from bad ones.

python -m tests.benchmarks.text_layers.layers CACHE [--pages N] [--more FOLDER ...]

CACHE: the package cache of `python -m tests.benchmarks.quality build`. The good layers are the 101 pages whose layer
was compared with the picture when the evaluation set was chosen; each is spoilt in every way of layer_spoils. --more:
reports the verdicts on a page of each of N documents of other folders, which nobody has compared.
"""

import argparse
import gzip
import random
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pymupdf

from pipeline.text_layer.page import judged
from tests.benchmarks.quality.sets.selection import TextPage, load
from tests.benchmarks.text_layers.layer_spoils import SPOILS

_DPI = 144


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.text_layers.layers", description=__doc__
    )
    parser.add_argument("cache", type=Path)
    parser.add_argument("--pages", type=int, default=None, help="only so many of the good pages")
    parser.add_argument("--more", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    measure(args.cache, args.pages)
    for folder in args.more:
        survey(folder, args.pages or 200)


def measure(cache: Path, limit: int | None) -> None:
    pages = list(load().text)
    random.Random(1).shuffle(pages)
    counts: dict[str, Counter[str]] = {}
    for page in pages[:limit]:
        good = _single(cache, page)
        _count(counts, "good", good, page.name)
        for spoil in SPOILS:
            rng = random.Random(zlib.crc32(page.name.encode()))
            try:
                spoilt = spoil(_single(cache, page), rng)
            except Exception as error:  # a document that MuPDF cannot take apart
                counts.setdefault(spoil.__name__, Counter())["not made"] += 1
                print(f"{page.name}: {spoil.__name__}: {type(error).__name__}: {error}")
                continue
            if spoilt is not None:
                _count(counts, spoil.__name__, spoilt, page.name)
    for name, found in counts.items():
        print(f"{name:20} {dict(found)}")
    spoilt = sum((found for name, found in counts.items() if name != "good"), Counter[str]())
    print(f"good layers accepted: {counts['good']['accepted']} of {counts['good'].total()}")
    print(
        f"bad layers accepted: {spoilt['accepted']} of {spoilt.total()}; for fallback {spoilt['accepted for fallback']}"
    )


def survey(folder: Path, num: int) -> None:
    """Prints the verdict on one page of each of `num` documents."""
    files = sorted(folder.rglob("*.pdf"))
    rng = random.Random(1)
    reasons: Counter[str] = Counter()
    for file in rng.sample(files, min(num, len(files))):
        with pymupdf.open(file) as document:
            layer = judged(document, rng.randrange(len(document)), _DPI)
        reason = (
            "no layer" if layer is None else "".join(c for c in layer.reason if not c.isdigit()) or "accepted"
        )
        reasons[reason] += 1
    for reason, count in reasons.most_common():
        print(f"{count:4} {reason}")


def _count(counts: dict[str, Counter[str]], name: str, document: Any, page: str) -> None:
    layer = judged(document, 0, _DPI)
    found = counts.setdefault(name, Counter())
    found["none" if layer is None else "accepted" if layer.is_trustworthy else "turned down"] += 1
    if layer is not None and layer.is_trustworthy == (name != "good"):
        print(f"{page}: {name}: {layer.reason or 'accepted: ' + repr(layer.text[:70])}", flush=True)
    unread = judged(document, 0, _DPI, last=True)
    if name != "good" and unread is not None and unread.is_trustworthy:
        found["accepted for fallback"] += 1


def _single(cache: Path, page: TextPage) -> Any:
    """Returns the page alone, as a document of its own."""
    file = cache / "pkg" / page.package / page.document
    data = file.read_bytes()
    with pymupdf.open("pdf", gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data) as document:
        document.select([page.page - 1])
        return pymupdf.open("pdf", document.tobytes(garbage=3))


if __name__ == "__main__":
    main()
