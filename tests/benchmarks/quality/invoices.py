"""Measures how well the items of invoices are read: python -m tests.benchmarks.quality.invoices PDFS

The invoices carry their facts as XML (ZUGFeRD, Factur-X): such are in the repositories ZUGFeRD/corpus, ZUGFeRD-csharp
and mustangproject (Apache 2.0), horstoeko/zugferd (MIT) and akretion/factur-x (BSD). Each is read by its text layer and
as a picture. An item's facts are its name, and those of quantity, unit price and total that are printed beside each
other. They are in one row where a row of a table has them; a table is found where it has the numbers of half the items.
An address is a heading where one has its street, or its postcode and town. A program gives all its invoices one look:
three of each are read, none with another's items.
"""

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pymupdf
from rapidfuzz.fuzz import partial_ratio

from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.page_text import lines_of_text, page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.model_files.locate import LINES, find_directory
from pipeline.documents.settings import RenderSettings
from pipeline.text_layer.page import taken
from tests.benchmarks.quality.scoring.table_scores import tables_in

_FACTS = ("Quantity",), ("NetPriceProductTradePrice", "ChargeAmount"), ("LineTotalAmount",)
_OF_EACH, _LEVEL, _ALIKE, _DPI = 3, 0.5, 85, 150  # of a program; of its height; of 100; as pictures
_NONE = ElementTree.Element("")
Item = tuple[str, frozenset[float]]  # its name, and the numbers beside each other


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    parser.add_argument("folder", type=Path)
    files = chosen(parser.parse_args(given).folder)
    print(f"text layers of {len(files)} invoices: {measured(files, by_layer)}")
    reader = LineReader.load(find_directory("small") / LINES)
    print(f"pictures of them: {measured(files, lambda page: as_picture(reader, page))}")
    return 0


def chosen(folder: Path) -> list[Path]:
    """Returns the invoices that are read."""
    files, seen, used = sorted(folder.glob("*.pdf")), set[str](), Counter[str]()
    random.Random(0).shuffle(files)
    for file in files:
        program, items = "", list[Item]()
        try:
            with pymupdf.open(file) as document:
                program = "{creator} {producer}".format(**document.metadata)
                items = [item for item in facts_of(document)[0] if len(item[1]) > 1]
        except (RuntimeError, ValueError, ElementTree.ParseError) as error:
            print(f"{file.name} is left out: {error}", file=sys.stderr)
        used[program] += (is_new := bool(items) and str(items) not in seen and used[program] < _OF_EACH)
        seen |= {str(items)}
        files = [other for other in files if is_new or other != file]
    return files


def facts_of(document: Any) -> tuple[list[Item], list[str]]:
    """Returns a PDF's items and lines of addresses, as its XML tells. Source: UN/CEFACT Cross Industry Invoice."""
    names = [name for name in document.embfile_names() if name.endswith(".xml")]
    found = [it for name in names for it in ElementTree.fromstring(document.embfile_get(name)).iter()]
    printed = letters("".join(page.get_text() for page in document))
    rows, items = [row for page in document for row in _number_rows(page)], list[Item]()
    for own in (it for it in found if it.tag.endswith("}IncludedSupplyChainTradeLineItem")):
        numbers = {abs(round(float(told), 2)) for way in _FACTS if (told := _text(own, *way))}
        name, beside = _text(own, "Product", "Name"), max([numbers & row for row in rows] or [set()], key=len)
        items.append((name if letters(name) in printed else "", frozenset(beside)))
    parties = [it for it in found if it.tag.endswith("}PostalTradeAddress")]
    towns = [f"{_text(own, 'PostcodeCode')} {_text(own, 'CityName')}" for own in parties]
    return items, [line for line in [*towns, *(_text(own, "LineOne") for own in parties)] if len(line) > 5]


def _text(element: Any, *way: str) -> str:
    """Returns the text of the first element below one whose tag ends like that, and so on."""
    for tag in way:
        element = next((it for it in list(element.iter())[1:] if it.tag.endswith(tag)), _NONE)
    return " ".join((element.text or "").split())


def letters(text: str) -> str:
    """Returns the letters and digits of a text, in small letters."""
    return "".join(filter(str.isalnum, text.casefold()))


def _numbers(text: str) -> set[float]:
    """Returns the numbers in a text; what its last mark parts may be decimals or thousands."""
    parted = [it.replace(",", ".").strip(".").rpartition(".") for it in re.findall(r"\d[\d.,]*", text)]
    found = [(a.replace(".", "") or "0", end) for a, _, end in parted]
    return {round(float(f"{a}.{end}"), 2) for a, end in found} | {float(a + end) for a, end in found}


def _number_rows(page: Any) -> Iterator[set[float]]:
    """Yields for each word of a page the numbers beside it."""
    words = page.get_text("words")
    for _, top, _, foot, *_ in words:
        beside = (it[4] for it in words if abs(it[1] + it[3] - top - foot) < 2 * _LEVEL * (foot - top))
        yield {number for word in beside for number in _numbers(word)}


def by_layer(page: Any) -> str:
    """Returns a page's markdown by its text layer."""
    layer, _ = taken(page.parent, page.number, RenderSettings(), partly=True)
    return "\n\n".join(layer.parts) if layer else ""


def as_picture(reader: LineReader, page: Any) -> str:
    """Returns a page's markdown as the line reader reads it drawn."""
    drawn = page.get_pixmap(dpi=_DPI, colorspace=pymupdf.csGRAY)
    grey = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.width)
    darkness, ink = darkness_of(grey), PageInk.of(grey)
    lines = lines_of_text(reader.read(darkness, reader.find(darkness)))
    return page_text(lines, (), ink.rules, ink.uprights, grey.shape[::-1]).markdown


def measured(files: Sequence[Path], read: Callable[[Any], str]) -> str:
    """Returns how well the invoices are read. read: a page -> its markdown."""
    counts = defaultdict[str, list[bool]](list)
    for file in files:
        with pymupdf.open(file) as document:
            (items, addresses), text = facts_of(document), "\n".join(map(read, document))
        tables = [[" ".join(cell.text for cell in row) for row in table] for table in tables_in(text)]
        heads = [letters(line) for line in text.splitlines() if line.startswith("#")]
        told, own = _numbers(text), [item for item in items if len(item[1]) > 1]
        held = [sum(any(it[1] <= _numbers(row) for row in table) for it in own) for table in tables]
        counts["tables found"].append(2 * max(held, default=0) >= len(own))
        rows = [row for table in tables for row in table]
        counts["items in one row"] += [any(_has(row, *item) for row in rows) for item in own]
        counts["numbers read"] += [number in told for _, numbers in items for number in numbers]
        counts["addresses in headings"] += [any(letters(it) in head for head in heads) for it in addresses]
    return ", ".join(f"{name} {np.mean(own):.3f} of {len(own)}" for name, own in counts.items())


def _has(row: str, name: str, numbers: frozenset[float]) -> bool:
    return numbers <= _numbers(row) and partial_ratio(letters(name), letters(row)) > _ALIKE


if __name__ == "__main__":
    sys.exit(main())
