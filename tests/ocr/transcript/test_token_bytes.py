from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from ocr.transcript.token_bytes import TokenBytes

WEIGHTS = Path(__file__).parents[3] / "ocr" / "weights" / "small"
TOKENIZER = Tokenizer.from_file(str(WEIGHTS / "tokenizer.json"))
BYTES = TokenBytes(TOKENIZER)


@given(st.text())
def test_bytes_of_a_text_are_those_of_its_tokens(text):
    tokens = TOKENIZER.encode(text, add_special_tokens=False).ids
    assert b"".join(BYTES[token] for token in tokens) == text.encode()


def test_every_byte_has_a_token():
    assert {BYTES[token] for token in range(TOKENIZER.get_vocab_size())} >= {
        bytes([byte]) for byte in range(256)
    }


def test_tags_are_written_out():
    assert BYTES[TOKENIZER.token_to_id("<td>")] == b"<td>"


def test_no_token_no_bytes():
    assert BYTES[10**6] == BYTES[-1] == BYTES[1 << 40] == b""
