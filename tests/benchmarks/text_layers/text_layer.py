"""Writes truth for born-digital PDFs from their own text layer, as `ocrbatch eval` expects it:

python -m tests.benchmarks.text_layers.text_layer DOCS TRUTH
"""

import argparse
from pathlib import Path

import pymupdf

from ocr.training.pages.page_truth import Sheet, UnreadableError, extract


def write_truth(document: Path, folder: Path) -> tuple[int, int]:
    """Writes folder/<page>.txt for every page with a usable text layer; returns (written, left out)."""
    written = left_out = 0
    with pymupdf.open(document) as pages:
        for number, page in enumerate(pages, start=1):
            try:
                text = extract(Sheet.of(page)).text
            except UnreadableError:
                left_out += 1
                continue
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.txt").write_text(text, encoding="utf-8")
            written += 1
    return written, left_out


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.text_layers.text_layer", description=__doc__
    )
    parser.add_argument("docs", type=Path, help="folder of PDFs")
    parser.add_argument("truth", type=Path)
    args = parser.parse_args()
    for document in sorted(args.docs.rglob("*.pdf")):
        written, left_out = write_truth(document, args.truth / document.relative_to(args.docs))
        print(f"{document}: {written} pages, {left_out} without a usable text layer")


if __name__ == "__main__":
    main()
