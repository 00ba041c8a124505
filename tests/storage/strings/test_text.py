"""Any file name can be stored, and found again."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr import types
from storage.records.store import Store
from storage.strings.text import Block, content_sha256, real_path, storable, stored_path
from tests.storage.sample_records import a_page, new_run, rows


@given(st.text())
def test_unicode_is_stored_as_it_is(text: str) -> None:
    assert storable(text) == text


@given(
    st.lists(st.sampled_from([b"\\", b"udc", b"e9", b"5c", b"\xe9", b"a", "é".encode()])).map(b"".join)
    | st.binary()
)
def test_any_name_can_be_stored_and_found_again(name: bytes) -> None:
    """A name may be written like an escape: it is not taken for the bytes that an escape stands for."""
    stored = stored_path(os.fsdecode(name))
    stored.encode("utf-8")
    assert os.fsencode(real_path(stored)) == name


TEXTS = st.none() | st.text()
NUMBERS = st.none() | st.integers(0, 9999)
BLOCKS = st.lists(st.tuples(st.text(), NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.text()), max_size=3)
CONTENTS = st.tuples(TEXTS, TEXTS, BLOCKS)


def test_it_is_the_hash_of_json() -> None:
    written = '["Été\\n","# \\"Été\\"",[["title",1,2,3,4,"Été"],["text",null,null,null,null,""]]]'
    blocks: list[Block] = [("title", 1, 2, 3, 4, "Été"), ("text", None, None, None, None, "")]
    assert content_sha256("Été\n", '# "Été"', blocks) == hashlib.sha256(written.encode()).hexdigest()


def test_nothing_has_none_and_an_empty_page_has_one() -> None:
    assert content_sha256(None, None, []) is None
    assert content_sha256("", None, []) is not None


@given(one=CONTENTS, other=CONTENTS)
def test_contents_that_differ_have_different_hashes(
    one: tuple[str | None, str | None, list[Block]], other: tuple[str | None, str | None, list[Block]]
) -> None:
    assert (content_sha256(*one) == content_sha256(*other)) == (one == other)


@pytest.mark.parametrize("confidence", [None, 0.25, 0.7500000001])
def test_what_is_stored_has_the_hash_of_what_the_database_holds(
    store: Store, path: Path, confidence: float | None
) -> None:
    """Names of files reach the texts of no page, but what is no Unicode can; confidences are no content."""
    blocks = (
        types.Block(label="text", text="odd \udcff", box_px=(1, 2, 3, 4), confidence=confidence),
        types.Block(label="text", text="no box"),
    )
    store.record_page(new_run(store), a_page("odd \udcff", blocks=blocks))
    odd = "odd \\udcff"
    stored: list[Block] = [("text", 1, 2, 3, 4, odd), ("text", None, None, None, None, "no box")]
    assert rows(path, "SELECT text, content_sha256 FROM results WHERE page = 1") == [
        (odd, content_sha256(odd, odd, stored))
    ]
