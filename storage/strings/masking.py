"""Masks the values of secret keys in a configuration, so that no secret reaches the database."""

import re
from collections.abc import Mapping

MASK = "***"
# The last word of a key decides: hf_token and api_key are secrets, max_tokens is not.
_SECRET_WORDS = frozenset(
    {"token", "password", "passwd", "passphrase", "secret", "secrets", "key", "credential", "credentials"}
)
_URL_USER = re.compile(r"(?<=://)[^/@\s]+@")


def mask_secrets(value: object, key: str = "") -> object:
    """Returns a copy of JSON values: values of secret keys, and user:password in URLs, replaced by ***."""
    if isinstance(value, Mapping):
        return {str(name): mask_secrets(inner, str(name)) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [mask_secrets(inner, key) for inner in value]
    if value is not None and re.split(r"[^a-z]+", key.lower())[-1] in _SECRET_WORDS:
        return MASK
    return _URL_USER.sub(f"{MASK}@", value) if isinstance(value, str) else value
