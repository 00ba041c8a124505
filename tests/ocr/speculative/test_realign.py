import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr.speculative.realign import realigned


def rest(text: str, written: str, mark: int = 0) -> tuple[str, bool]:
    """Returns the rest of a text that is still to come, and whether that is certain."""
    place, certain = realigned(text.encode(), mark, written.encode())
    return text.encode()[place:].decode(), certain


@pytest.mark.parametrize(
    ("text", "written", "left"),
    [
        ("profleofit", "profile", "ofit"),  # one left out
        ("plllantsand", "plant", "sand"),  # too many
        ("theo1dmill", "theold", "mill"),  # misread
        ("cometothe", "comm", "etothe"),  # one read for two
    ],
)
def test_small_differences(text, written, left):
    assert rest(text, written)[0] == left


def test_certain_where_what_follows_fits():
    assert rest("fflterrule", "filter") == ("rule", True)
    assert rest("theold", "thex") == ("ld", False)
    assert not rest("completelyother", "zwxyvkqj")[1]


def test_a_character_of_two_bytes_is_one():
    assert rest("'ó','ò'", "'6")[0] == "','ò'"
    assert rest("'6','7'", "'ó")[0] == "','7'"


@given(st.binary(max_size=40), st.integers(0, 45), st.binary(min_size=1, max_size=20))
def test_never_beyond_the_text(marks, mark, written):
    mark = min(mark, len(marks))
    place, _ = realigned(marks, mark, written)
    assert mark <= place <= len(marks)
