"""Measures how well tables of real documents are read, as a browser prints them:

python -m tests.benchmarks.quality.printed_tables make HTML_DIR OUT --count 90
python -m tests.benchmarks.quality.printed_tables measure OUT

make: takes tables of HTML files (such as packages of documentation unpack to), each with the paragraphs around it
and its document's style, and has Chromium print them (`apt-get install chromium`). measure: draws these pages at 100
to 200 dpi, reads them with the line reader and tells how like their tables are to the true ones, as
`quality.structure tables` does.
"""

import argparse
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pymupdf

from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.page_text import lines_of_text, page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.model_files.locate import LINES, find_directory
from tests.benchmarks.quality.scoring.table_scores import Rows, best_likenesses, tables_in

_TABLE = re.compile(r"<table\b(?:(?!<table\b).)*?</table>", re.DOTALL | re.IGNORECASE)
_PARAGRAPH = re.compile(r"<p\b[^>]*>(?:(?!</?p\b|<table).)*</p>", re.DOTALL | re.IGNORECASE)
_HEAD = re.compile(r"<head\b.*?</head>", re.DOTALL | re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL | re.IGNORECASE)
_NO_TEXT = re.compile(r"<(?:img|pre|math|svg|ul|ol|dl)\b", re.IGNORECASE)
_LATIN = re.compile(r"[\0-\u024f–—‘’“”…•→≤≥×−\u2010\u2011\u200b]*")
_LARGEST_FILE, _OF_FOLDER = 400_000, 7  # bytes; tables taken of one package


def main(given: Sequence[str] | None = None) -> int:
    args = _arguments(given)
    if args.command == "make":
        print(f"{make(args.folder, args.out, args.count, args.seed)} tables")
    else:
        print(*measured(args.folder), sep="\n")
    return 0


def make(folder: Path, out: Path, count: int, seed: int = 0) -> int:
    """Writes NAME.html (a table) and NAME.pdf (the page it is printed on) for so many tables; returns their number."""
    out.mkdir(parents=True, exist_ok=True)
    rng, used, made = random.Random(seed), defaultdict[str, int](int), 0
    found = (file for file in sorted(folder.rglob("*.htm*")) if file.is_file())  # folders are called so, too
    files = [file for file in found if file.stat().st_size < _LARGEST_FILE]
    rng.shuffle(files)
    for file in files:
        if made >= count:
            break
        package = "-".join(file.relative_to(folder).parts[3:4])
        text = file.read_text(encoding="utf-8", errors="replace")
        usable = [found for found in _TABLE.finditer(text) if is_usable(found.group())]
        if used[package] >= _OF_FOLDER or not usable:
            continue
        table = rng.choice(usable)
        around = [
            *_PARAGRAPH.findall(text[: table.start()])[-1:],
            table.group(),
            *_PARAGRAPH.findall(text[table.end() :])[:1],
        ]
        page = "".join(
            ("<!doctype html><html>", *_HEAD.findall(text)[:1], "<body>", *around, "</body></html>")
        )
        name = out / f"{made:03}-{package}"
        pdf = name.with_suffix(".pdf")
        printed(_SCRIPT.sub("", page), file.with_name("_printed.html"), pdf)
        if pdf.is_file():
            name.with_suffix(".html").write_text(table.group(), encoding="utf-8")
            used[package], made = used[package] + 1, made + 1
    return made


def printed(markup: str, shown: Path, pdf: Path) -> None:
    """Prints a page that stands in this file for as long, beside what it names."""
    shown.write_text(markup, encoding="utf-8")
    command = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer")
    subprocess.run((*command, f"--print-to-pdf={pdf}", shown.as_uri()), capture_output=True, timeout=60)
    shown.unlink()


def is_usable(markup: str) -> bool:
    """Returns whether a table is one of text in Latin script, of a size that stands on one page."""
    rows = [row for table in tables_in(markup)[:1] for row in table if row]
    texts = [cell.text for row in rows for cell in row]
    columns = max((sum(cell.columns for cell in row) for row in rows), default=0)
    return (
        3 <= len(rows) <= 22
        and 2 <= columns <= 9
        and sum(map(bool, texts)) >= 0.6 * len(texts)
        and max(map(len, texts)) <= 160
        and sum(map(len, texts)) >= 60
        and not _NO_TEXT.search(markup)
        and all(map(_LATIN.fullmatch, texts))
    )


def measured(folder: Path) -> Iterator[str]:
    """Yields how like the tables of a folder are to what is read: those with heads, those without, all."""
    reader = LineReader.load(find_directory("small") / LINES)
    scores = defaultdict[str, list[float]](list)
    for file in sorted(folder.glob("*.pdf")):
        with pymupdf.open(file) as document:
            if len(document) != 1:
                continue
            dpi = int(random.Random(file.name).uniform(100, 200))
            drawn = document[0].get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
        grey = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.width)
        darkness, ink = darkness_of(grey), PageInk.of(grey)
        lines = lines_of_text(reader.read(darkness, reader.find(darkness)))
        read = page_text(lines, (), ink.rules, ink.uprights, grey.shape[::-1])
        markup = file.with_suffix(".html").read_text(encoding="utf-8")
        true, found = ([_plain(table) for table in tables_in(text)] for text in (markup, read.markdown))
        [likeness] = best_likenesses(true[:1], found)
        for group in ("with heads" if "<th" in markup.lower() else "without heads", "all"):
            scores[group].append(likeness)
    for group, own in sorted(scores.items()):
        shares = f"{np.mean(own):.3f} alike, {np.mean(np.array(own) > 0.9):.3f} over 0.9"
        yield f"{group:14} {len(own):4} tables, {shares}, {np.mean(np.array(own) == 0):.3f} not found"


def _plain(rows: Rows) -> Rows:
    return [[replace(cell, text=" ".join(cell.text.split())) for cell in row] for row in rows if row]


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.quality.printed_tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="print tables of HTML files")
    making.add_argument("folder", type=Path)
    making.add_argument("out", type=Path)
    making.add_argument("--count", type=int, default=90)
    making.add_argument("--seed", type=int, default=0)
    commands.add_parser("measure", help="read them").add_argument("folder", type=Path)
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
