"""Kinds of columns in tables: the values of each are of one form, many of them nearly alike."""

import html
import string
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from ocr.training.pages.blocks.block_templates import LISTS, macro
from ocr.training.pages.blocks.page_writer import Writer
from ocr.training.pages.words.nonce import alike

Cell = Callable[[int], str]
"""Returns the n-th cell of a column, escaped."""

_LETTERS = [chr(c) for c in (*range(0x21, 0x7F), *range(0xC0, 0xD7), *range(0xD8, 0xF7), *range(0xF8, 0x100))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnKind:
    """share: of columns. heads: what stands above, words of the text if none. number: mostly set flush right."""

    make: Callable[[Writer], Cell]
    share: float
    heads: tuple[str, ...] = ()
    number: bool = False


def _names(w: Writer) -> Cell:
    names, face = alike(w.rng, 60), w.rng.choice(["code", "code", "b", "span"])
    return lambda n: f"<{face}>{html.escape(names[n % len(names)])}</{face}>"


def _words(w: Writer) -> Cell:
    most = w.rng.choice([1, 2, 3])
    return lambda _: w.words(1, most)


def _values(w: Writer) -> Cell:
    return lambda _: macro("formula")(w) if w.chance(0.02) else w.value()[:18]


def _few(w: Writer) -> Cell:
    made = [w.words(1, 2), w.value()[:10], f"{w.rng.choice(string.ascii_uppercase)}{w.number(1)}"]
    values = w.rng.sample([*LISTS["few values"], *made], w.rng.randint(2, 4))
    return lambda _: w.rng.choice(values)


def _figures(w: Writer) -> Cell:
    form = w.rng.choice(["{:.0f}", "{:.1f}", "{:.2f}", "{:.3f}", "{:,.0f}"])
    scale = 10 ** w.rng.randint(1, 4)
    return lambda _: form.format(w.rng.uniform(-0.1, 1) * scale)


def _sequence(w: Writer) -> Cell:
    """Numbers that go up: of lines, offsets of registers, code points."""
    form, start = w.rng.choice(LISTS["sequences"]), w.rng.randrange(9000)
    step = w.rng.choice([1, 1, 1, 2, 4, 8, 16])
    return lambda n: form.format(start + n * step)


def _quantities(w: Writer) -> Cell:
    """Values with units and powers, upright, slanted or bold."""
    rng, units, tag = w.rng, w.rng.sample(LISTS["units"], 3), w.rng.choice(["span", "span", "i", "b"])
    amounts = ["1.0", "0", "2.5", "1.23 × 10<sup>−4</sup>", f"10<sup>{rng.randint(-15, 12)}</sup>"]

    def cell(_: int) -> str:
        power = rng.choice(["", "", "<sup>−1</sup>", "<sup>2</sup>", f" {rng.choice(units)}<sup>−1</sup>"])
        return f"<{tag}>{rng.choice(amounts)} {rng.choice(units)}{power}</{tag}>"

    return cell


def _symbols(w: Writer) -> Cell:
    """Units with their prefixes, as they are or as commands."""
    before = w.rng.choice(["", "", "\\"])
    return lambda _: before + w.rng.choice(LISTS["prefixes"]) + w.rng.choice(LISTS["base units"])


def _versions(w: Writer) -> Cell:
    numbers = [w.rng.randint(0, 9), w.rng.randint(0, 30), w.rng.randint(0, 9)]
    tail = w.rng.choice(["", "-1", "-1+b1", "+dfsg-2", "~rc1", "-0ubuntu3"])

    def cell(_: int) -> str:
        numbers[w.rng.choice([1, 2, 2])] += w.rng.choice([0, 1])
        return ".".join(map(str, numbers)) + tail

    return cell


def _dates(w: Writer) -> Cell:
    year, mark = w.rng.randint(1900, 2030), w.rng.choice(["-", ".", "/"])

    def cell(_: int) -> str:
        parts = (str(year), f"{w.rng.randint(1, 12):02}", f"{w.rng.randint(1, 28):02}")
        return mark.join(parts if mark == "-" else parts[::-1])

    return cell


def _ranges(w: Writer) -> Cell:
    joint = w.rng.choice([" … ", "–", ":", " to "])
    return lambda _: f"{(low := w.rng.choice([0, 0, 1, -1]))}{joint}{low + w.number(4)}"


def _characters(w: Writer, shown: Callable[[str], str] = html.escape) -> Cell:
    start = w.rng.randrange(len(_LETTERS))
    return lambda n: shown(_LETTERS[(start + n) % len(_LETTERS)])


def _character_names(w: Writer) -> Cell:
    return _characters(w, unicodedata.name)


KINDS = (
    ColumnKind(make=_words, share=6),
    ColumnKind(make=_figures, share=5, number=True),
    ColumnKind(make=_values, share=4, number=True),
    ColumnKind(make=_names, share=3, heads=("Name", "Parameter", "Option", "Register", "Package", "Command")),
    ColumnKind(make=_few, share=3, heads=("Type", "Default", "Access", "Arch", "Unit")),
    ColumnKind(make=_sequence, share=2, heads=("No.", "Offset", "Code", "Dec", "Bits"), number=True),
    ColumnKind(make=_quantities, share=1.5, heads=("Value", "Normal", "Math")),
    ColumnKind(make=_symbols, share=1, heads=("Symbol", "Unit", "Macro")),
    ColumnKind(make=_versions, share=1, heads=("Version",)),
    ColumnKind(make=_dates, share=1, heads=("Date", "Datum")),
    ColumnKind(make=_ranges, share=1, heads=("Range", "Bits")),
    ColumnKind(make=_characters, share=0.5, heads=("Char",)),
    ColumnKind(make=_character_names, share=0.3, heads=("Name", "Meaning")),
)
