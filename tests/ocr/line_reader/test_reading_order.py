"""The order of lines: columns one after the other, headlines before them, tables row by row."""

from typing import cast

import numpy as np

from ocr.line_reader.found_lines import Floats, ReadLine, TextLine
from ocr.line_reader.line_features import LineTokens
from ocr.line_reader.reading_order import in_reading_order
from ocr.line_reader.structure_network import ROLES, StructureNetwork

Place = tuple[str, int, int, int]
_PROSE = (
    "it was already late when the last of the carts came down from the hill and nobody at the mill had seen who "
    "drove it for the lamp had gone out near the bridge where the road turns to the river and the old house"
)
_WORDS = _PROSE.split()
_TITLE, _LETTER_PX = "The Mill on the River", 11.0


def order(places: list[Place], size: float = 20.0, slant: float = 0.0) -> list[str]:
    """Returns the names of lines (name, left, right, baseline) row by row, those of a row joined by a bar.

    slant: by how much they sink per pixel, as on a sheet that was scanned askew.
    """
    names: dict[int, str] = {}
    reads = []
    for name, left, right, baseline in places:
        aside = round(slant * baseline)
        sunk = baseline + slant * np.arange(left, right, dtype=np.float32)
        line = TextLine(left=left - aside, right=right - aside, baseline=sunk, size=size)
        reads.append(ReadLine(line=line, text=text_of(name, right - left, len(reads)), confidence=1.0))
        names[id(reads[-1])] = name
    return [
        "|".join(names[id(read)] for read in row) for unit in in_reading_order(reads) for row in unit.rows
    ]


def text_of(name: str, width: int, number: int) -> str:
    """Returns as much prose as a line holds, or what its name says."""
    if name.startswith("price") or name.isdigit():
        return "12.50" if name.startswith("price") else name
    if name.startswith("item"):
        return f"{('Rye bread', 'Butter', 'Oat flakes', 'Green tea')[number % 4]} {10 * (number % 90)} g"
    if name == "title" or name == "middle":
        return _TITLE
    at = 7 * number % len(_WORDS)
    prose = " ".join([*_WORDS[at:], *_WORDS, *_WORDS])[: max(2, int(width / _LETTER_PX))]
    return prose.rsplit(" ", 1)[0] if " " in prose else prose


def column(name: str, left: int, top: int, number: int, width: int = 400) -> list[Place]:
    return [(f"{name}{n}", left, left + width, top + 26 * n) for n in range(number)]


def test_columns_follow_each_other_below_their_headline() -> None:
    places = [*column("b", 500, 100, 9), *column("a", 50, 100, 9), ("title", 50, 900, 40)]
    assert order(places) == ["title", *(f"a{n}" for n in range(9)), *(f"b{n}" for n in range(9))]


def test_a_headline_across_columns_divides_them() -> None:
    places = [
        *column("a", 50, 100, 8), *column("b", 500, 100, 8), ("middle", 50, 900, 350),
        *column("c", 50, 410, 8), *column("d", 500, 410, 8),
    ]  # fmt: skip
    above, below = ([f"{name}{n}" for name in names for n in range(8)] for names in ("ab", "cd"))
    assert order(places) == [*above, "middle", *below]


def test_a_table_is_read_row_by_row() -> None:
    cells = [(f"{x}{y}", 60 + 250 * x, 140 + 250 * x, 100 + 30 * y) for x in range(3) for y in range(4)]
    assert order(cells) == [f"0{y}|1{y}|2{y}" for y in range(4)]


def test_lines_of_a_receipt_keep_their_prices() -> None:
    items = [(f"item{n}", 40, 200, 50 + 30 * n) for n in range(5)]
    prices = [(f"price{n}", 420, 480, 52 + 30 * n) for n in range(5)]
    assert order([*prices, *items]) == [f"item{n}|price{n}" for n in range(5)]


def test_an_amount_follows_its_name_where_it_is_larger_than_the_sums_above() -> None:
    """As drawn and found on an invoice, whose sums stand below its table."""
    drawn = [
        ("Musterbau GmbH", 101, 425, 125, 35), ("Lindenweg 4, 50667 Köln", 101, 341, 188, 21),
        ("Köln, 12.03.2024", 831, 993, 188, 21), ("Rechnung Nr. 2024-118", 101, 407, 271, 27),
        ("Betrag", 1052, 1125, 333, 21), ("Menge", 681, 754, 333, 21), ("Pos. Beschreibung", 101, 329, 333, 21),
        ("Preis", 843, 897, 333, 21), ("2.444,40", 1040, 1131, 370, 21), ("42", 699, 730, 370, 21),
        ("1", 101, 120, 371, 21), ("58,20", 837, 897, 371, 21), ("Fliesen grau 30 x 60", 185, 377, 371, 21),
        ("558,00", 1058, 1131, 408, 21), ("Kleber 25 kg", 185, 305, 408, 21), ("18", 699, 730, 408, 21),
        ("31,00", 843, 897, 408, 21), ("2", 101, 120, 408, 21), ("3", 101, 120, 446, 21),
        ("1.559,04", 1040, 1125, 446, 21), ("Verlegung", 185, 288, 446, 21), ("42", 699, 730, 446, 21),
        ("37,12", 843, 897, 446, 21), ("4.561,44 €", 1022, 1131, 503, 21), ("Zwischensumme", 101, 276, 504, 21),
        ("866,67 €", 1040, 1131, 540, 22), ("Umsatzsteuer 19%", 101, 293, 540, 22),
        ("5.431,16 €", 980, 1131, 575, 28), ("Rechnungsbetrag", 101, 353, 575, 28),
        ("Zahlbar innerhalb von 14 Tagen auf das Konto DE12 3456 7890.", 101, 720, 642, 21),
    ]  # fmt: skip
    reads = []
    for text, left, right, base, size in drawn:
        line = TextLine(
            left=left, right=right, baseline=np.full(right - left, base, np.float32), size=float(size)
        )
        reads.append(ReadLine(line=line, text=text, confidence=1.0))
    rows = [
        [read.text for read in row] for unit in in_reading_order(reads, (1240, 1754)) for row in unit.rows
    ]
    sums = (
        ("Zwischensumme", "4.561,44 €"),
        ("Umsatzsteuer 19%", "866,67 €"),
        ("Rechnungsbetrag", "5.431,16 €"),
    )
    assert [row for row in rows if row[0] in dict(sums)] == [list(pair) for pair in sums]


class _ByColumns:
    """Says that lines are read column by column, each a block."""

    def logits(self, tokens: LineTokens) -> tuple[Floats, Floats]:
        x, y = tokens.places[:, 0], tokens.places[:, 2]
        before = (x[:, None] < x - 1) | ((abs(x[:, None] - x) <= 1) & (y[:, None] < y))
        pairs = np.full((4, len(x), len(x)), -9.0, np.float32)
        pairs[0] = np.where(before, 9.0, -9.0)
        return np.zeros((len(x), len(ROLES)), np.float32), pairs


def test_short_lines_of_a_narrow_page_are_read_across() -> None:
    said = cast(StructureNetwork, _ByColumns())  # which would read column by column
    names, amounts = ("Rye bread", "Butter", "Balance due"), ("31.", "4. 20", "£3:")
    for wide, is_across in ((460, True), (700, False)):
        reads = []
        for n, pair in enumerate(zip(names, amounts, strict=True)):
            for (left, right), text in zip(((40, 160), (wide - 9 * len(pair[1]), wide)), pair, strict=True):
                level = np.full(right - left, 50.0 + 30 * n, np.float32)
                line = TextLine(left=left, right=right, baseline=level, size=20.0)
                reads.append(ReadLine(line=line, text=text, confidence=1.0))
        units = in_reading_order(reads, (wide + 40, 300), said)
        rows = [[read.text for read in row] for unit in units for row in unit.rows]
        assert (["Butter", "4. 20"] in rows) == is_across


def test_narrow_columns_of_running_text_are_no_rows() -> None:
    places = [*column("a", 20, 60, 9, 230), *column("b", 280, 60, 9, 230)]  # 24 type sizes, as of a clipping
    assert order(places) == [*(f"a{n}" for n in range(9)), *(f"b{n}" for n in range(9))]


def test_a_spread_is_read_page_by_page() -> None:
    left, right = column("l", 50, 60, 12), column("r", 700, 60, 12)
    places = [("8", 200, 230, 400), *left, ("9", 900, 930, 400), *right]
    assert order(places)[:12] == [f"l{n}" for n in range(12)]
    assert order(places)[-12:] != order(places)[:12]


def test_columns_on_a_sheet_that_lies_askew_are_whole() -> None:
    """The last lines of the right column begin to the left of where the first ones of the left column end."""
    found = order([*column("a", 300, 300, 60), *column("b", 720, 300, 60)], slant=0.025)
    assert found == [f"{name}{n}" for name in "ab" for n in range(60)]


def test_pieces_of_a_torn_line_stay_in_its_row() -> None:
    """Those beside a line of running text, and those beside such a piece; not what stands a column apart."""
    text = column("a", 50, 100, 6, 500)
    torn = [("me", 50, 80, 256), ("the", 95, 140, 256), ("rest", 155, 400, 256)]
    found = order([*text, *torn, ("note", 640, 760, 152)])
    assert found == ["a0", "a1", "a2", "a3", "a4", "a5", "me|the|rest", "note"]


def test_a_wide_space_that_the_next_lines_run_over_parts_no_row() -> None:
    text = [line for line in column("a", 50, 100, 6, 500) if line[0] != "a3"]
    torn = [("short.", 50, 130, 178), ("The next", 190, 550, 178)]
    assert order([*text, *torn]) == ["a0", "a1", "a2", "short.|The next", "a4", "a5"]


def test_rows_that_were_cut_at_spaces_one_below_the_other_are_whole() -> None:
    """Each side is several lines of running text; the rows above and below run over the white."""
    cut = [("l0", 50, 300, 178), ("r0", 322, 550, 178), ("l1", 50, 310, 204), ("r1", 332, 550, 204)]
    above, below = column("a", 50, 100, 3, 500), column("b", 50, 230, 4, 500)
    rows = ["a0", "a1", "a2", "l0|r0", "l1|r1", "b0", "b1", "b2", "b3"]
    assert order([*above, *cut, *below]) == rows


def test_a_sheet_of_many_lines_is_read_column_by_column() -> None:
    """More than are put in order at once: the sheet is parted at its widest white, here below the headline first."""
    columns = [
        [
            (name, left + 20 * (row % 7 == 0), left + 400 - 150 * (row % 7 == 6), top)
            for row, (name, left, _, top) in enumerate(column(f"{name}:", 50 + 450 * at, 200 + 9 * at, 150))
        ]
        for at, name in enumerate("abcdef")
    ]
    found = order([*(line for own in reversed(columns) for line in own), ("title", 50, 2700, 60)])
    assert found[0] == "title"
    assert [name[0] for name in found[1:]] == [name for name in "abcdef" for _ in range(150)]


def test_a_long_receipt_keeps_its_prices() -> None:
    places = [(f"item{n}", 40, 240, 50 + 30 * n) for n in range(400)]
    places += [(f"price{n}", 420, 480, 50 + 30 * n) for n in range(400)]
    assert order(places) == [f"item{n}|price{n}" for n in range(400)]


def test_no_lines_have_no_order() -> None:
    assert in_reading_order([]) == []


def test_boxes_of_a_form_are_read_one_after_the_other() -> None:
    """Labels stand above what was filled in; without the rules between, lines in a row would follow each other."""
    reads, rules = [], []
    for box in range(6):
        left, top = 40 + 320 * (box % 2), 100 + 80 * (box // 2)
        rules += [(left, top, left + 320, top), (left, top + 80, left + 320, top + 80)]
        rules += [(left, top, left, top + 80), (left + 320, top, left + 320, top + 80)]
        for row, text in enumerate((f"{box + 1}. Name of the firm", f"Halberd and Finch {box}")):
            base = np.full(200, top + 28.0 + 34 * row, np.float32)
            line = TextLine(left=left + 12, right=left + 212, baseline=base, size=20.0)
            reads.append(ReadLine(line=line, text=text, confidence=1.0))
    found = in_reading_order(reads[::-1], (720, 900), rules=rules)
    assert [read.text for unit in found for row in unit.rows for read in row] == [read.text for read in reads]
