"""Any file name can be stored, and found again."""

import os

from hypothesis import given
from hypothesis import strategies as st

from storage.strings.text import real_path, storable


@given(st.text())
def test_unicode_is_stored_as_it_is(text: str) -> None:
    assert storable(text) == text


@given(st.binary().filter(lambda name: b"\\udc" not in name))
def test_any_name_can_be_stored_and_found_again(name: bytes) -> None:
    path = os.fsdecode(name)
    stored = storable(path)
    stored.encode("utf-8")
    assert os.fsencode(real_path(stored)) == name
