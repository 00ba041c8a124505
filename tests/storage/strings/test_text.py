"""Any file name can be stored, and found again."""

import os

from hypothesis import given
from hypothesis import strategies as st

from storage.strings.text import real_path, storable, stored_path


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
