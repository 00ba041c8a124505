"""Long tables whose rows differ in a character or two: registers, options, versions, faces of values, characters."""

import html
import unicodedata

from ocr.training.pages.matter.html_blocks import Block, Writer
from ocr.training.pages.tabular.tables import captioned, narrowed, text_grid
from ocr.training.pages.words.naming import alike, stem

_MOST_CHARACTERS = 1900  # of a table, so that it fits the answer; with boxes it takes more
_SI = [
    "cm", "nb", "pb", "fb", "MeV", "GeV", "TeV", "mrad", "µm", "kg", "ns", "ps", "Hz", "ml", "mol", "J", "K",
]  # fmt: skip
_ARCHITECTURES = ["amd64", "arm64", "all", "i386", "armhf", "riscv64"]
_LETTERS = [chr(c) for c in (*range(0xC0, 0xD7), *range(0xD8, 0xF7), *range(0xF8, 0x100))]

Rows = list[list[str]]


def long_table(w: Writer) -> list[Block]:
    """Returns up to 60 rows of one kind, as a table or typewritten in columns of spaces."""
    rng = w.rng
    make = rng.choice([_registers, _options, _versions, _faces, _characters])
    rows = make(w, rng.choice([8, 20, 30, 45, 60]))
    head, *body = rows
    kept = [head] if w.chance(0.8) else []
    written = 0
    for row in body:
        written += sum(len(html.unescape(cell)) + 2 for cell in row)
        if written > _MOST_CHARACTERS:
            break
        kept.append(row)
    if make not in (_faces, _options) and w.chance(0.3):
        return _typewritten(w, kept)
    return captioned(w, text_grid(w, narrowed(w, kept), w.chance(0.3)), share=0.1)


def _typewritten(w: Writer, rows: Rows) -> list[Block]:
    plain = [
        [html.unescape(cell.replace("<code>", "").replace("</code>", "")) for cell in row] for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
    joint = w.rng.choice(["  ", "  ", " | ", " "])
    lines = [
        joint.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))[: w.fits()].rstrip()
        for row in plain
    ]
    return [Block(kind="code", html=f"<pre>{html.escape(chr(10).join(lines))}</pre>")]


def _registers(w: Writer, count: int) -> Rows:
    """Returns offset, name, bits, access and reset value of a device's registers."""
    rng = w.rng
    names, base, step = (
        alike(rng, count),
        rng.choice([0, 0, 0x40, 0x1000, 0x4002_0000]),
        rng.choice([1, 2, 4, 4, 8]),
    )
    digits, access = max(2, len(f"{base:X}")), rng.sample(["R/W", "RO", "WO", "R", "RW", "R/W1C"], 2)
    reset = rng.choice([["0x00"], ["0x0000_0000"], ["0", "1"], ["0x0000", "0x0001"], ["00h", "FFh"], ["—"]])
    upper = w.chance(0.6)
    rows = [["Offset", "Register", "Bits", "Access", "Reset"]]
    for number, name in enumerate(names):
        high = rng.choice([7, 15, 31])
        shown = html.escape(name.upper() if upper else name)
        bits = rng.choice([f"[{high}:0]", f"{high}:{high // 2 + 1}", f"{number % 32}"])
        offset = f"0x{base + number * step:0{digits}X}"
        rows.append([offset, f"<code>{shown}</code>", bits, rng.choice(access), rng.choice(reset)])
    return rows


def _options(w: Writer, count: int) -> Rows:
    """Returns options with type, default and a description that changes in one word."""
    rng = w.rng
    dash, kinds = (
        rng.choice(["--", "-", "--no-", "-f", "\\", ""]),
        rng.sample(["int", "str", "bool", "dim", "path"], 2),
    )
    stems, common = [stem(rng) for _ in range(4)], w.words(1, 4)
    values = ["0", "1", "10", "true", "false", "none", "auto"]
    rows = [["Option", "Type", "Default", "Meaning"]]
    for name in (name.strip("-").replace(" ", "") for name in alike(rng, count)):
        option = f"{dash}{rng.choice(stems)}-{name}" if w.chance(0.5) else f"{dash}{name}"
        meaning = f"{common} {rng.choice(stems)}"
        rows.append([f"<code>{html.escape(option)}</code>", rng.choice(kinds), rng.choice(values), meaning])
    return rows


def _versions(w: Writer, count: int) -> Rows:
    """Returns packages with versions, architectures, sizes and dates."""
    rng = w.rng
    numbers = [rng.randint(0, 9), rng.randint(0, 30), rng.randint(0, 9)]
    tail = rng.choice(["", "-1", "-1+b1", "+dfsg-2", "~rc1", "-0ubuntu3"])
    machines = rng.sample(_ARCHITECTURES, rng.randint(1, 3))
    year, same = rng.randint(1998, 2026), w.chance(0.5)
    rows = [["Package", "Version", "Arch", "Size", "Date"]]
    for name in alike(rng, count):
        numbers[-1] += 1 if w.chance(0.6) else 0
        numbers[1] += 1 if w.chance(0.1) else 0
        package = name.strip("\\@ ").replace(" ", "") or "a"
        shown = f"lib{package}-{'dev' if w.chance(0.3) else 'doc'}" if same else package
        date = f"{year}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        version = ".".join(map(str, numbers)) + tail
        rows.append([html.escape(shown), version, rng.choice(machines), f"{w.number(5)}", date])
    return rows


def _faces(w: Writer, count: int) -> Rows:
    """Returns commands and the value each gives, upright, slanted, bold and in a formula."""
    rng = w.rng
    units, slash = rng.sample(_SI, 4), rng.choice(["\\", "\\inv", "\\"])
    rows = [["Command", "Normal", "Italic", "Bold", "Math"]]
    for _ in range(count):
        unit, other = rng.choice(units), rng.choice(["", "", *units])
        power = rng.choice(["", "", "−1", "−2", "2", "3"])
        amount = rng.choice(["1.0", "1.0", "1.0", "1.23 × 10<sup>−4</sup>"])
        raised = f"<sup>{power}</sup>" if power else ""
        value = f"{amount} {unit}{raised}" + (f" {other}<sup>−1</sup>" if other else "")
        word = {"": "", "−1": "inv", "−2": "invsq", "2": "sq", "3": "cb"}[power]
        command = f"{slash}{unit.lower()}{word}{'per' + other.lower() if other else ''}"
        faces = [value, f"<i>{value}</i>", f"<b>{value}</b>", f"<i>x</i> = {value}"]
        rows.append([f"<code>{html.escape(command)}</code>", *faces])
    return rows


def _characters(w: Writer, count: int) -> Rows:
    """Returns letters with accents: code, letter, name."""
    rng = w.rng
    start = rng.randrange(len(_LETTERS) - 8)
    letters = (
        _LETTERS[start : start + count] if w.chance(0.6) else rng.sample(_LETTERS, min(count, len(_LETTERS)))
    )
    small = w.chance(0.4)
    rows = [["Code", "Char", "Dec", "Name"]]
    for letter in letters:
        name = unicodedata.name(letter)
        rows.append([f"U+{ord(letter):04X}", letter, str(ord(letter)), name.lower() if small else name])
    return rows
