"""Maps the tokens of a byte-level BPE to bytes: faster than decoding, and exact for parts of characters."""

from functools import lru_cache

from tokenizers import Tokenizer


@lru_cache(maxsize=1)
def _byte_of() -> dict[str, int]:
    """Returns the byte that each character of a byte-level vocabulary stands for. Source: openai/gpt-2, encoder.py."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + nth): byte for nth, byte in enumerate(others)}


class TokenBytes:
    """Maps token ids to bytes. Shared by the pages of a run, as results are cached."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[int, bytes] = {}
        # Table tags, grounding tags and the end of the text: none is printed on the page.
        self._added = {token: added.content for token, added in tokenizer.get_added_tokens_decoder().items()}

    def __getitem__(self, token: int) -> bytes:
        """Returns a token's bytes, empty for an id that is no token."""
        known = self._known.get(token)
        if known is None:
            known = self._known[token] = self._look_up(token)
        return known

    def _look_up(self, token: int) -> bytes:
        if (content := self._added.get(token)) is not None:
            return content.encode()
        letters = self._tokenizer.id_to_token(token) if 0 <= token < 1 << 31 else None
        byte_of = _byte_of()
        try:
            return bytes([byte_of[letter] for letter in letters or ""])
        except KeyError:  # not of a byte-level vocabulary
            return (letters or "").encode()


@lru_cache(maxsize=2)
def token_bytes(tokenizer: Tokenizer) -> TokenBytes:
    """Returns the mapping of a tokenizer, the same one for every page of a model."""
    return TokenBytes(tokenizer)
