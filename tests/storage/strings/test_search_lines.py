"""Only lines with cut words, or with scripts that put no spaces between words, are made anew for the index."""

import pytest

from storage.strings.search_lines import apart, as_read, search_lines


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The vicar's memo-\nrandum of May", "The vicar's memorandum of May"),
        ("first\nthe memo- \n  randum\nlast", "the memorandum"),
        ("GOVERN-\nMENT PRINT-\nING OFFICE", "GOVERNMENT PRINTING OFFICE"),
        ("über die Fluß\u00ac\nschiffahrt", "über die Flußschiffahrt"),
        ("ends in a col-\n\numn", "ends in a column"),
        ("cut-\nting\na line between\nand pas-\nting", "cutting\n\u3164\nand pasting"),
        ("see 東京 today", "see 東\u200b京 today"),
        ("built in 1843¹² and\nlater", "built in 1843\u200b¹² and"),
        ("水道\n料金", "水\u200b道\n料\u200b金"),
    ],
)
def test_lines(text: str, found: str) -> None:
    assert search_lines(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "state-of-the-art\nwords",
        "¹ Some say 1844",
        "1914-\n1918",
        "a list:\n- one\n- two",
        "costs -\nnothing",
        "the end of one-\n\nAnother",
        "Éléonore s'en va-t-en guerre",
    ],
)
def test_no_lines(text: str) -> None:
    assert search_lines(text) is None


def test_a_snippet_is_as_people_read_it() -> None:
    assert as_read(f"[{apart('水道料金')}] and\n\u3164\nmore") == "[水道料金] and\n…\nmore"
    assert apart("JR東日本 ok") == "JR\u200b東\u200b日\u200b本 ok"
