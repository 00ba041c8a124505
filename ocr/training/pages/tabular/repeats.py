"""Matter that nearly repeats, where a reader must keep its place and not rely on what came before.

Tables whose columns hold a few values over and over, lists of commands with a common start, program text made of
one line with small changes, and tables of names with long descriptions that wrap in their last cell.
"""

import html
import random
import string

from ocr.training.pages.matter.html_blocks import Block, Writer
from ocr.training.pages.tabular.tables import narrowed, text_grid
from ocr.training.pages.words.naming import COMMANDS, alike, stem
from ocr.training.pages.words.text import random_word

_UNITS = ["cm", "kg", "ms", "pb", "eV", "GeV", "%", "px", "pt", "Hz", "°C", "m s−1", "x = 1.0", "b−1"]
_BASE_UNITS = [
    ("electronvolt", "eV"), ("metre", "m"), ("gram", "g"), ("second", "s"), ("hertz", "Hz"), ("barn", "b"),
    ("pascal", "Pa"), ("volt", "V"), ("ampere", "A"), ("watt", "W"), ("joule", "J"), ("litre", "l"), ("byte", "B"),
    ("tesla", "T"), ("ohm", "Ω"), ("mole", "mol"), ("becquerel", "Bq"), ("farad", "F"), ("newton", "N"),
]  # fmt: skip
_PREFIXES = [
    ("", "", 0), ("femto", "f", -15), ("pico", "p", -12), ("nano", "n", -9), ("micro", "µ", -6), ("milli", "m", -3),
    ("centi", "c", -2), ("deci", "d", -1), ("kilo", "k", 3), ("mega", "M", 6), ("giga", "G", 9), ("tera", "T", 12),
]  # fmt: skip


def _few_values(rng: random.Random) -> list[str]:
    """Returns the values of one column."""
    kind = rng.randrange(4)
    if kind == 0:
        unit = rng.choice(_UNITS)
        return [f"{rng.choice(['1.0', '0', '1', '2.5'])} {unit}" for _ in range(2)]
    if kind == 1:
        return [rng.choice(["yes", "no", "–", "×", "0", "1", "OK", "n/a", "✓"]) for _ in range(2)]
    if kind == 2:
        return [f"{rng.choice(string.ascii_uppercase)}{rng.randint(1, 4)}" for _ in range(rng.randint(2, 6))]
    return [html.escape(random_word(rng)[:10]) for _ in range(rng.randint(1, 3))]


def repeating_table(w: Writer) -> list[Block]:
    """Returns rows that look alike: names that differ little beside values from a small set."""
    rng = w.rng
    columns, rows = rng.randint(2, 6), rng.randint(5, 26)
    values = [_few_values(rng) for _ in range(columns - 1)]
    tag = rng.choice(["code", "code", "b", "span"])
    body = [
        [f"<{tag}>{html.escape(name)}</{tag}>", *(rng.choice(column) for column in values)]
        for name in alike(rng, rows)
    ]
    body.insert(0, [w.words(1, 1) for _ in range(columns)])
    return [text_grid(w, narrowed(w, body), w.chance(0.2))]


def units(w: Writer) -> list[Block]:
    """Returns units with their multiples: rows that differ in a prefix, a letter or an exponent."""
    rng = w.rng
    some = rng.sample(_BASE_UNITS, rng.randint(1, 4))
    slash = rng.choice(["\\", "", ".", "u."])
    rows = []
    for unit, symbol in some:
        dimension = w.words(1, 2)
        for prefix, letter, power in rng.sample(_PREFIXES, rng.randint(3, len(_PREFIXES))):
            row = [
                f"<code>{slash}{prefix}{unit}</code>",
                f"{letter}{symbol}",
                f"10<sup>{power}</sup> {symbol}" if power else f"1 {symbol}",
                dimension,
                f"{slash}{letter}{symbol}{rng.choice(['', 'per', 's', '2'])}",
            ]
            rows.append(row)
    if w.chance(0.3):
        rng.shuffle(rows)
    columns = rng.randint(2, 5)
    rows = [row[:columns] for row in rows[:30]]
    if w.chance(0.6):
        rows.insert(0, ["Name", "Symbol", "Value", "Dimension", "Macro"][:columns])
    return [text_grid(w, narrowed(w, rows), w.chance(0.3))]


def parameters(w: Writer) -> list[Block]:
    """Returns parameters with type, default, range and unit, the same few over and over."""
    rng = w.rng
    kinds = rng.sample(["int", "float", "bool", "str", "double", "length", "list[int]", "enum"], 2)
    unit = rng.choice(_UNITS)
    values = ["0", "1", "0.0", "1.0", "none", "auto", "true", "false", str(rng.randint(2, 999))]

    def row(name: str) -> list[str]:
        low = rng.choice([0, 0, 1, -1])
        return [
            f"<code>{html.escape(name)}</code>",
            rng.choice(kinds),
            rng.choice(values),
            f"{low} … {low + 10 ** rng.randint(0, 3)}",
            rng.choice([unit, unit, "–"]),
        ]

    columns = rng.randint(3, 5)
    rows = [row(name)[:columns] for name in alike(rng, rng.randint(4, 24))]
    rows.insert(0, ["Parameter", "Type", "Default", "Range", "Unit"][:columns])
    return [text_grid(w, narrowed(w, rows), w.chance(0.3))]


def described(w: Writer) -> list[Block]:
    """Names, perhaps a short value, and a description over several lines: read row by row."""
    rng = w.rng
    names = alike(rng, rng.randint(3, 16))
    values = _few_values(rng) if w.chance(0.5) else []
    common = w.words(2, 5) if w.chance(0.4) else ""
    rows = [
        [html.escape(name), *([rng.choice(values)] if values else []), f"{common} {w.words(3, 16)}".strip()]
        for name in names
    ]
    return [text_grid(w, rows, wide=True)]


def repeating_lines(w: Writer) -> list[Block]:
    """Returns program text of lines with one shape, from a template with holes."""
    rng = w.rng
    shapes = [
        [
            rng.choice(COMMANDS) + stem(rng),
            *rng.choices(["(", "{", "[", " = ", "->", " ", ", ", "$", "}"], k=4),
        ]
        for _ in range(rng.randint(1, 4))
    ]
    names = alike(rng, rng.randint(2, 5))

    def line() -> str:
        first, *joints = rng.choice(shapes)
        indent = " " * rng.choice([0, 0, 0, 2, 4])
        return indent + first + "".join(joint + rng.choice([*names, "", "0", "x"]) for joint in joints)

    lines = [line()[: w.fits()].rstrip() for _ in range(rng.randint(4, 28))]
    return [Block(kind="code", html=f"<pre>{html.escape(chr(10).join(lines))}</pre>")]
