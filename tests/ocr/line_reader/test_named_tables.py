"""Cells of tables whose lines a network names: columns by white and names, rows by names."""

from collections.abc import Sequence
from dataclasses import replace

from ocr.line_reader.named_tables import NamedRow, aligned_runs, aligned_white, has_value, named_table
from ocr.paragraphs.line_tables import Table
from ocr.paragraphs.text_lines import Line

Part = tuple[float, float]
SIZE = 20.0


def row(number: int, base: float, parts: Sequence[Part], columns: Sequence[int] = ()) -> NamedRow:
    """Returns lines with these parts. columns: the network's; none are a column each."""
    line = Line(text="words", spans=(parts[0], parts[-1]), parts=tuple(parts), base=base, size=SIZE)
    return NamedRow(line=line, rows=frozenset({number}), columns=columns or range(len(parts)))


def shape(table: Table) -> list[tuple[int, int, int]]:
    return [(cell.row, cell.column, cell.num_columns) for cell in table]


def whole(rows: int, columns: int) -> list[tuple[int, int, int]]:
    return [(n, at, 1) for n in range(rows) for at in range(columns)]


def test_columns_meet_in_the_white_that_all_rows_leave() -> None:
    rows = [row(n, 100 + 30 * n, [(50, 90 + 9 * n), (200, 260), (400, 430)]) for n in range(4)]
    table = named_table(rows)
    assert shape(table) == whole(4, 3)
    assert [cell.box[0] for cell in table[:3]] == [50, (117 + 200) / 2, (260 + 400) / 2]


def test_narrow_white_parts_columns_where_the_network_does() -> None:
    parts = [(50.0, 90.0), (95.0, 130.0)]
    assert shape(named_table([row(n, 100 + 30 * n, parts) for n in range(4)])) == whole(4, 2)
    assert named_table([row(n, 100 + 30 * n, parts, [1, 1]) for n in range(4)]) == ()


Words = list[list[tuple[Part, str]]]


def placed(rows: Sequence[str], stops: Sequence[float]) -> tuple[list[Line], Words]:
    """Returns rows as lines, and their words, which begin at 50 and behind a bar at the next stop."""
    words: Words = []
    for text in rows:
        words.append(own := [])
        for cell, at in zip(text.split("|"), (50.0, *stops), strict=False):
            for word in cell.split():
                own.append(((at, at + 10.0 * len(word)), word))
                at += 10.0 * len(word) + 6.0
    spans = ([own[0][0], own[-1][0]] for own in words)
    lines = [row(n, 100 + 30 * n, parts).line for n, parts in enumerate(spans)]
    return [replace(line, text=text.replace("|", " ")) for line, text in zip(lines, rows, strict=True)], words


def aligned(rows: Sequence[str], stops: Sequence[float]) -> list[float]:
    return aligned_white(*placed(rows, stops))


def test_a_blank_parts_columns_where_words_begin_in_one_place() -> None:
    rows = ["Debian|armel wheezy", "Ubuntu|i386 lucid", "Fedora|x86 any", "SuSE|noarch one of them"]
    assert aligned(rows, [116.0]) == [113.0]
    assert aligned([*rows, "an overlong|cell"], [116.0]) == [113.0]  # crossed by one of five
    assert aligned(rows[:3], [116.0]) == []  # so many rows may be alike by chance
    ragged = ["a list of|words", "of any|length", "that do not|end", "where|others do"]
    assert aligned([text.replace("|", " ") for text in ragged], []) == []


def test_three_rows_tell_columns_where_white_is_wider_than_a_blank() -> None:
    rows = ["text|The string to search in", "to_search|The substring", "to|The replacement for it"]
    assert aligned(rows, [146.0]) == [143.0]


def test_words_that_are_the_same_in_all_rows_are_cells_where_white_is_wide() -> None:
    rows = [
        "flags in Header|Header",
        "a longer one in Header|Header",
        "type in Header|Header",
        "x in Header|Header",
    ]
    assert aligned(rows, [286.0]) == [270.0]
    names = ["Figure|1", "Figure|2", "Figure|3", "Figure|4"]
    assert aligned(names, [116.0]) == []


def test_types_that_end_in_one_place_are_no_names_with_numbers_though_most_are_alike() -> None:
    types = ["gboolean", "gint32", "gboolean", "gboolean", "gint"]
    words = [[((150 - 10.0 * len(it), 150.0), it), ((156.0, 250.0), f"load_{it}")] for it in types]
    lines = [row(n, 100 + 30 * n, [own[0][0], own[1][0]]).line for n, own in enumerate(words)]
    assert aligned_white(lines, words) == [153.0]
    level = [
        [((70.0, 150.0), it), ((156.0, 250.0), name)] for it, (_, (_, name)) in zip(types, words, strict=True)
    ]
    lines = [row(n, 100 + 30 * n, [(70, 150), (156, 250)]).line for n in range(5)]
    assert aligned_white(lines, level) == []


def test_a_mark_that_stands_in_all_rows_is_no_column() -> None:
    types = ("char", "struct list", "int", "bool")
    words: Words = [
        [((221.0 - 10 * len(it), 221.0), it), ((227.0, 234.0), "*"), ((255.0, 299.0), f"of_{it}")]
        for it in types
    ]
    lines = [row(n, 100 + 30 * n, [own[0][0], own[2][0]]).line for n, own in enumerate(words)]
    assert aligned_white(lines, words) == []  # wide white tells the columns by itself


def test_a_title_in_larger_type_does_not_narrow_the_white_below() -> None:
    lines, words = placed(
        ["Data Fi", "Debian|armel", "Ubuntu|i386", "Fedora|x86 any", "Gentoo|of them"], [118.0]
    )
    assert aligned_white([replace(lines[0], size=30.0), *lines[1:]], words) == [(110 + 118) / 2]


def test_no_columns_are_parted_within_a_unit_or_a_number() -> None:
    units = ["one|Read / Write", "two|Read / Write", "six|Read / Write", "ten|Read / Write"]
    assert aligned(units, [86.0]) == [83.0]
    lots = ["Lot 1|one", "Lot 4|two", "Lot 7|six", "Lot 8|ten"]
    assert aligned(lots, [106.0]) == [101.0]
    weights = ["one|12 kg", "two|13 kg", "six|99 kg", "ten|45 kg"]
    assert aligned(weights, [86.0]) == [83.0]
    sums = ["one|12 500", "two|13 650", "six|99 120", "ten|45 999"]
    assert aligned(sums, [86.0]) == [83.0]
    assert aligned([f"{row},50" for row in sums], [86.0]) == [83.0]


def test_lines_of_one_row_are_one_row() -> None:
    rows = [
        row(0, 100, [(50, 90), (200, 300)]),
        row(0, 130, [(200, 280)], [1]),
        row(1, 160, [(50, 99), (200, 290)]),
    ]
    assert shape(named_table(rows)) == whole(2, 2)


def test_names_with_a_value_each_are_rows_of_their_own_though_the_network_sees_one() -> None:
    """Not so where a line has no value of its own, as of cells that run over several lines."""
    parts = [(50.0, 90.0), (200.0, 300.0)]
    above, *three = [row(n > 1, 100 + 24 * n + 40 * (n > 1), parts) for n in range(2, 6)]
    rows = [
        row(0, 100, parts),
        replace(above, has_value=True),
        *(replace(it, has_value=True) for it in three),
    ]
    assert shape(named_table(rows)) == whole(5, 2)
    assert shape(named_table([*rows[:-1], three[-1]])) == whole(2, 2)
    assert shape(named_table([*rows[:-1], replace(rows[-1], line=row(1, 284, parts[1:]).line)])) == whole(
        2, 2
    )


def test_lines_that_fill_three_columns_each_are_rows_of_their_own_though_the_network_sees_one() -> None:
    """Not so two of them, as of cells that run over several lines."""
    parts = [(50.0, 90.0), (200.0, 300.0), (400.0, 480.0)]
    title = [row(0, 100, parts), row(1, 150, parts[:1])]
    lines = [row(2, 200 + 24 * n, parts) for n in range(3)]
    assert shape(named_table([*title, *lines]))[-9:] == [(n, at, 1) for n in (2, 3, 4) for at in range(3)]
    assert shape(named_table([*title, *lines[:2]]))[-3:] == [(2, at, 1) for at in range(3)]


def test_a_colon_between_parts_or_an_amount_at_the_end_tells_a_value() -> None:
    lines, words = placed(
        ["Your ref.|: Miller", "Buyer:|Miller", "VAT|19.50", "VAT: 3|none", "Price|per unit"], [200]
    )
    parted = [replace(line, parts=((50, 150), (200, 300))) for line in lines]
    assert list(map(has_value, parted, words)) == [True, True, True, False, False]


def test_a_row_over_all_columns_is_one_cell() -> None:
    rows = [row(n, 100 + 30 * n, [(50, 90), (200, 260)]) for n in range(6)]
    rows.insert(2, row(9, 145, [(50, 240)]))
    assert shape(named_table(rows))[4] == (2, 0, 2)


def test_a_row_over_all_columns_may_be_one_of_few() -> None:
    rows = [row(n, 100 + 30 * n, [(50, 90), (200, 260)]) for n in range(1, 3)]
    assert shape(named_table([row(0, 100, [(50, 240)]), *rows])) == [(0, 0, 2), *whole(3, 2)[2:]]


def test_a_title_and_a_note_may_run_over_two_columns() -> None:
    rows = [row(n, 100 + 30 * n, [(50, 90), (200, 260)]) for n in range(1, 3)]
    table = named_table([row(0, 100, [(50, 240)]), *rows, row(3, 190, [(50, 250)])])
    assert shape(table) == [(0, 0, 2), *whole(3, 2)[2:], (3, 0, 2)]


def test_cells_in_the_middle_of_their_rows_are_beside_what_runs_over_lines() -> None:
    names = [(number, 100 + 50 * number) for number in range(3)]
    lines = [row(n, base + down, [(50, 120)], [0]) for n, base in names for down in (0, 24)]
    means = [row(n, base + 12, [(200, 300)], [1]) for n, base in names]
    assert shape(named_table([*lines, *means])) == whole(3, 2)
    others = [replace(it, rows=frozenset({9})) for it in means]
    assert named_table([*lines, *others]) == ()  # what the network sees in other rows stands beside nothing


def test_a_formula_with_one_row_of_several_parts_is_no_table() -> None:
    assert named_table([row(0, 100, [(50, 90), (200, 260)]), row(1, 130, [(50, 240)])]) == ()


def test_one_row_of_two_columns_is_a_table_under_a_title() -> None:
    title, one = row(0, 100, [(50, 160)]), row(1, 130, [(60, 90), (110, 180)])
    assert shape(named_table([title, one])) == [(0, 0, 2), (1, 0, 1), (1, 1, 1)]
    assert shape(named_table([title, one, row(2, 170, [(110, 300)])]))[3:] == [(2, 0, 1), (2, 1, 1)]
    assert named_table([title, one, row(2, 170, [(60, 300)])]) == ()  # what does not go on in the second
    assert named_table([title, row(1, 130, [(60, 90), (180, 240)])]) == ()  # both ends of a line
    assert named_table([title, row(1, 130, [(60, 90), (102, 180)])]) == ()  # words of one
    assert named_table([one]) == ()
    over, last = row(3, 200, [(50, 150)]), row(4, 230, [(60, 90), (110, 180)])
    rows = [title, row(2, 170, [(110, 300)]), over, last]
    assert shape(named_table(rows)) == [(0, 0, 2), (1, 0, 1), (1, 1, 1), (2, 0, 2), (3, 0, 1), (3, 1, 1)]
    assert named_table([title, over, last]) == ()  # text may run over its white by chance


def test_what_stands_far_behind_one_of_two_rows_is_no_column() -> None:
    rows = [row(0, 100, [(50, 90), (110, 200), (220, 230)], [0, 1, 1]), row(1, 130, [(50, 90), (110, 190)])]
    assert shape(named_table(rows)) == whole(2, 2)


def test_a_title_in_the_first_column_is_one_of_all() -> None:
    rows = [row(n, 100 + 30 * n, [(50, 90), (200, 260)]) for n in range(1, 4)]
    assert shape(named_table([row(0, 100, [(50, 80)]), *rows])) == [(0, 0, 2), *whole(4, 2)[2:]]
    assert shape(named_table([row(0, 100, [(200, 240)]), *rows])) == whole(4, 2)  # the head of a column


NAMES = [
    "Syntax|NWSSLTrustedCerts filename",
    "Context|server config",
    "Status|Base",
    "Module|mod_nw_ssl",
    "|and others",
]


def test_names_and_what_they_mean_are_a_table_though_the_network_does_not_say_so() -> None:
    lines, words = placed(["These are the directives of this module", *NAMES, "Default|none"], [150.0])
    assert list(aligned_runs(lines, words)) == [(1, 7)]
    assert list(aligned_runs(lines[:5], words[:5])) == []  # so few may be alike by chance


def test_three_names_and_what_they_mean_are_a_table_where_they_stand_apart() -> None:
    lines, words = placed(
        ["What they offer", "Gold|snapshots", "Silver|some of it", "Bronze|thin shares", "and more"], [130.0]
    )
    assert list(aligned_runs(lines, words)) == []  # as far apart as lines of text
    apart = [replace(line, base=line.base + 40 * ((n > 0) + (n > 3))) for n, line in enumerate(lines)]
    assert list(aligned_runs(apart, words)) == [(1, 4)]
    equations, marks = placed(["a + b|(1)", "a + b + c|(2)", "d|(3)"], [190.0])
    assert list(aligned_runs(equations, marks)) == []


def test_types_that_end_in_one_place_before_names_are_a_table_of_three_rows() -> None:
    types = ("int", "static void", "const char")
    words: Words = [[((232.0 - 10 * len(text), 232.0), text), ((250.0, 310.0), "name")] for text in types]
    lines = [row(n, 100 + 30 * n, [own[0][0], own[1][0]]).line for n, own in enumerate(words)]
    assert list(aligned_runs(lines, words)) == [(0, 3)]


def test_text_lists_and_equations_are_no_table() -> None:
    even = ["of all that|is read there", "and if they|are not told", "one may see|what is here"] * 2
    assert list(aligned_runs(*placed(even, [166.0]))) == []  # blanks as elsewhere
    items = ["1.|the first of them", "2.|the second", "3.|a third", "10.|more", "11.|again", "12.|at last"]
    assert list(aligned_runs(*placed(items, [100.0]))) == []
    equations = ["f x|= 2 x", "zip a b|= c", "h|= f x + 1", "map f|= g", "k x y|= 3"]
    assert list(aligned_runs(*placed(equations, [150.0]))) == []
