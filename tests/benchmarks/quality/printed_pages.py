"""Prints pages for ocr.training.structure: parts of HTML manuals around their tables, as a browser shows them.

python -m tests.benchmarks.quality.printed_pages CORPUS FOLDER...

Adds printed-train.json.xz and printed-valid.json.xz to a corpus, of the HTML below the folders, such as packages of
documentation unpack to; each is one package, none of those that printed_tables measures. In each document's style,
changed a little now and then. Lines are those of the PDF, their places in tables those of the markup.
"""

import json
import lzma
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path

import pymupdf

from ocr.training.pages.blocks.block_templates import LISTS
from ocr.training.pages.blocks.page_writer import visible
from ocr.training.pages.page_source import USELESS_DRAW
from ocr.training.pages.page_truth import Sheet
from ocr.training.structure.placed_lines import MOST, LinePage
from ocr.training.structure.true_lines import true_lines, true_rules
from tests.benchmarks.quality.printed_tables import printed

_BLOCK = re.compile(
    r"<(table|p|h[1-6]|ul|ol|dl|pre)\b[^>]*>(?:(?!<(?:table|ul|ol|dl|img|svg|math)\b).)*?</\1>", re.S | re.I
)
_HEAD = re.compile(r"<link\b[^>]*stylesheet[^>]*>|<style\b.*?</style>", re.S | re.I)
_UNSAID = re.compile(r"<!--.*?-->|<(script|caption)\b.*?</\1>", re.S | re.I)
_TAG = re.compile(r"<[^>]*>")
_CELL = re.compile(r"<(?!/?(?:table|tr|td|th)\b)[^>]*>", re.I)
_LATIN = re.compile(
    r"[\0-\u024f\u2010-\u2027\u2030-\u2044\u20ac\u2122\u2190-\u2193\u2200-\u22ff\u25a0-\u25ff]*"
)
_WAYS, _HELD = frozenset({"prev", "previous", "next", "home", "up", "contents"}), 50  # pages held out
# Parts of a file and of a print, prints of a package, the largest file in bytes.
_OF_FILE, _AT_ONCE, _PRINTS, _LARGEST = 4, 30, 2, 600_000


def parts(rng: random.Random, text: str) -> Iterator[str]:
    """Yields parts of a document: a table with what stands before and after it."""
    blocks = list(_BLOCK.finditer(text))
    for at, block in enumerate(blocks):
        if block[1].lower() == "table" and _is_usable(block[0]):
            around = blocks[max(0, at - rng.choice([0, 1, 2, 4])) : at + 1 + rng.choice([0, 1, 2, 4])]
            kept = [each[0] for each in around if each[1].lower() != "table" or _is_usable(each[0])]
            if all(_LATIN.fullmatch(_TAG.sub("", each)) for each in kept):
                yield "\n".join(kept)


def _is_usable(table: str) -> bool:
    texts = [_TAG.sub("", cell).strip() for cell in re.split(r"<t[dh]\b[^>]*>", table, flags=re.I)[1:]]
    rows, lower = len(re.findall(r"<tr\b", table, re.I)), table.lower()
    return (
        all(
            lower.count(f"<{tag}>") + lower.count(f"<{tag} ") == lower.count(f"</{tag}>")
            for tag in ("tr", "td", "th")
        )
        and 2 <= rows <= 40
        and len(texts) > rows
        and sum(map(bool, texts)) > 0.5 * len(texts)
        and max(map(len, texts)) < 800  # eight lines of a description
    )


def truth_of(part: str) -> str:
    """Returns the markup that true_lines understands: tables of cells alone, named blocks, no classes."""
    made = ""
    for block in _BLOCK.finditer(part):
        kind, text = block[1].lower(), block[0]
        if kind == "table":
            first = re.split(r"</tr>", text, maxsplit=1, flags=re.I)[0].lower()
            inner = _CELL.sub("", re.sub(r"^<table[^>]*>|</table>$", "", text, flags=re.I))
            kinds = re.findall(r"<(thead|th|td)\b", first)
            # Most of the first row, as lists of names and values have a head in each.
            headed = "thead" in kinds or kinds.count("th") > kinds.count("td")
            made += f"<!--table--><table{'' if headed else ' class=headless'}>{inner}</table>"
        elif kind == "pre":
            made += f"<!--code-->{_TAG.sub('', text)}"
        else:
            made += "<!--paragraph-->" + re.sub(
                r"<(/?)d[td]\b[^>]*>", r"<\1p>", re.sub(r' class="[^"]*"', "", text)
            )
    return made


def print_parts(rng: random.Random, file: Path, head: str, found: Sequence[str]) -> Iterator[LinePage]:
    """Yields the pages of a document's parts, as Chromium prints them, each as far as its first page goes."""
    width, height = rng.choice([(595, 842), (612, 792), (700, 900), (842, 595)])
    style, body = f"@page{{size:{width}pt {height}pt;margin:{rng.randint(20, 60)}pt}}", ""
    for number, part in enumerate(found):
        looks = (look for look in LISTS["looks of printed tables"] if rng.random() < 0.1)
        style += "".join(f".look{number} {look}" for look in looks)
        body += f"<div class=look{number} style='break-before:page'>{part}</div>"
    head = f"<head><meta charset=utf-8>{head}<style>{style}</style></head>"
    pdf, waiting = Path(tempfile.gettempdir()) / f"printed-{rng.random()}.pdf", list(found)
    printed(f"<!doctype html><html>{head}<body>{body}</body></html>", file.with_name("_printed.html"), pdf)
    with pymupdf.open(pdf) as document:
        for page in document:
            begun = "".join(page.get_text().split())[:12]
            starts = ["".join(visible(part).split())[: len(begun) + 20] for part in waiting]
            if not begun or not any(begun in start for start in starts):
                continue  # what goes on from the page before
            waiting = waiting[[begun in start for start in starts].index(True) :]
            drawn, markup = page.get_displaylist(), truth_of(waiting.pop(0))
            try:
                sheet = Sheet(display=drawn, width_pt=width, height_pt=height, markup=markup)
                yield LinePage.of("printed", (width, height), true_lines(sheet)[:MOST], true_rules(sheet))
            except USELESS_DRAW:
                continue
    pdf.unlink()


def is_taught(page: LinePage) -> bool:
    """Returns whether a page has cells, and none of a row that leads to other pages."""
    cells = {line.text.strip("<> »«").lower() for line in page.lines if line.place.table >= 0}
    return len(cells) > 2 and len(cells & _WAYS) < 2


def stored(page: LinePage) -> list[object]:
    """Returns a page as composed_lines reads it."""
    lines = [(line.text, line.words, line.base, line.size, astuple(line.place)) for line in page.lines]
    return json.loads(json.dumps([(page.width_pt, page.height_pt), lines, page.rules]), parse_float=_rounded)


def _rounded(number: str) -> float:
    return round(float(number), 1)


def main() -> None:
    corpus, *folders = map(Path, sys.argv[1:])
    rng, made = random.Random(0), list[LinePage]()
    for folder in folders:
        files = [file for file in folder.rglob("*.htm*") if file.is_file() and file.stat().st_size < _LARGEST]
        found = defaultdict[Path, list[tuple[Path, str, str]]](list)
        for file in rng.sample(sorted(files), min(len(files), 150)):
            text = _UNSAID.sub("", file.read_text(encoding="utf-8", errors="replace"))
            own = list(parts(rng, text)) if len(found[file.parent]) < _AT_ONCE else []
            head = "".join(_HEAD.findall(text))
            found[file.parent] += [(file, head, part) for part in rng.sample(own, min(len(own), _OF_FILE))]
        for group in sorted(found.values(), key=len)[-_PRINTS:]:
            made += print_parts(rng, *group[0][:2], [part for _, _, part in group]) if group else ()
        print(folder, len(made), flush=True)
    for split, pages in (("train", made[_HELD:]), ("valid", made[:_HELD])):
        text = json.dumps([stored(page) for page in pages if is_taught(page)], ensure_ascii=False)
        (corpus / f"printed-{split}.json.xz").write_bytes(lzma.compress(text.encode()))


if __name__ == "__main__":
    main()
