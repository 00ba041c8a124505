"""Values of secret keys are masked, others are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.strings.masking import MASK, mask_secrets


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
