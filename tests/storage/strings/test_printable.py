"""Foreign text cannot command a terminal, and is unchanged where nothing is dangerous."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.strings.printable import MASK, mask_secrets, on_screen, one_line, shown


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\tc\x1b.pdf", "a\\nb\\tc\\x1b.pdf"),
        ("\x1b]0;title\x07\x1b[2J", "\\x1b]0;title\\x07\\x1b[2J"),
        ("\x9b31m \x7f\x85", "\\u009b31m \\u007f\\u0085"),
        ("invoice\u202efdp.exe\u2066", "invoice\\u202efdp.exe\\u2066"),
        ("\u2028\u2029\r", "\\u2028\\u2029\\r"),
        ("\udcff.pdf", "\\udcff.pdf"),
        ("\U000e0041", "\\udb40\\udc41"),
    ],
)
def test_controls_are_escapes(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize(
    "text", ["naïve 漢字.pdf", "a\u00a0b\u3000c", "שלום", "👩\u200d🔬", "100 % {0} %s", "\\n"]
)
def test_what_is_harmless_stays(text: str) -> None:
    assert one_line(text) == shown(text) == text


def test_lines_stay_lines_in_a_text() -> None:
    assert shown("a\n\tb\r\n\x1b[1m") == "a\n\tb\\r\n\\x1b[1m"


def test_json_on_a_screen_stays_json() -> None:
    stream = io.StringIO()
    value = {"text": "".join(map(chr, range(0x2070))) + "\udcff\U000e0001é"}
    print(json.dumps(value, ensure_ascii=False), file=on_screen(stream, always=True))
    assert json.loads(stream.getvalue()) == value
    assert not set(stream.getvalue()) & set("\x1b\x7f\x9b\u202e")


def test_a_file_is_written_to_as_it_is() -> None:
    stream = io.StringIO()
    assert on_screen(stream) is stream


@pytest.mark.parametrize(
    "key", ["token", "hf_token", "HF-TOKEN", "password", "api_key", "client_secret", "pdf_passphrase"]
)
def test_secret_keys_are_masked_at_any_depth(key: str) -> None:
    masked = {"a": [{key: MASK}], key: [MASK, MASK]}
    assert mask_secrets({"a": [{key: "x"}], key: ["x", 7]}) == masked
    assert mask_secrets({key: None}) == {key: None}


@pytest.mark.parametrize("key", ["max_tokens", "num_tokens", "keyboard", "monkey", "tokenizer"])
def test_other_keys_are_kept(key: str) -> None:
    assert mask_secrets({key: "x"}) == {key: "x"}


def test_users_in_urls_are_masked() -> None:
    assert mask_secrets({"endpoint": "https://me:pw@host/x"}) == {"endpoint": f"https://{MASK}@host/x"}
    assert mask_secrets({"endpoint": "https://host/a@b"}) == {"endpoint": "https://host/a@b"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abc/@", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner),
)


@given(VALUES)
def test_what_holds_no_secret_is_unchanged(value: object) -> None:
    assert mask_secrets(value) == value
