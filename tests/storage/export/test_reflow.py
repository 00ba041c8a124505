"""Lines that only the page's width ended are joined; lines that somebody ended stay."""

import pytest

from storage.export.reflow import reflowed, words_of

KEPT = {
    "verse": "The sea lies grey before the door\nAnd all the boats are gone\nNor shall I see them any more\n"
    "Who saw them every dawn",
    "address": "Harbour Office of the Lower Town\n14 Quay Street\nNortham\nDevon EX39 1AB",
    "code": "```\nfor boat in boats:\n    if boat.is_home and boat.has_anchor:\n        moor(boat)\n```",
    "table": "Members' fees of the year\t6,120\nCounty grant for the roof\t4,000\nsale of books in May\t1,384",
    "rows": "Heating and light in all rooms 2,950 3,418\nNew books and their binding 4,706 4,883\n"
    "Repairs of the northern roof 310 5,240",
    "bars": "| Parish of the lower valley | Sheep |\n| --- | --- |\n| Stoke and all that is near | 2,940 |",
    "list": "- longer opening hours in the winter\n- a table to talk at, near the stove\n- newer newspapers",
    "breaks": "The harbour office opens at seven in the morning  \nand closes when the last boat is in",
    "short": "one two\nthree",
}


@pytest.mark.parametrize("name", KEPT)
def test_lines_that_somebody_ended_stay(name: str) -> None:
    assert reflowed(KEPT[name], words_of(KEPT[name])) == KEPT[name]


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (
            "Whoever wants a berth for the winter\nshould ask before the end of September,\nor wait a year.\n"
            "Nobody did.",
            "Whoever wants a berth for the winter should ask before the end of September, or wait a year.\n"
            "Nobody did.",
        ),
        (
            "Die Hafenmeisterei öffnet um sieben, und die\nersten Boote sind dann meist schon fort. Wer\n"
            "Ende des Jahres einen "
            "Platz möchte, der muß\nim September fragen.",
            "Die Hafenmeisterei öffnet um sieben, und die ersten Boote sind dann meist schon fort. Wer Ende des Jahres "
            "einen Platz möchte, der muß im September fragen.",
        ),
        (
            "# The office\n\nIt keeps the docu-\nmentation of well-\nknown wrecks, and of the ship-\n"
            "wrecks of the coast.",
            "# The office\n\nIt keeps the documentation of well-known wrecks, and of the shipwrecks of the coast.",
        ),
        (
            "- longer opening hours in the winter months,\n  when the nights are long\n- a table",
            "- longer opening hours in the winter months, when the nights are long\n- a table",
        ),
        (
            "The harbour office opens at seven, says\n"
            "**Ada Lind**, who has [kept](https://x.example/a/b/c) its\n*books* since 1931.",
            "The harbour office opens at seven, says **Ada Lind**, who has [kept](https://x.example/a/b/c) its *books* "
            "since 1931.",
        ),
    ],
)
def test_paragraphs_are_one_line(printed: str, text: str) -> None:
    words = words_of(f"{printed}\n\nA well-known documentation.")
    assert reflowed(printed, words) == text
