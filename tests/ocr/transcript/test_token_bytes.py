from hypothesis import given
from hypothesis import strategies as st

from ocr.transcript.token_bytes import TokenBytes
from tests.ocr.speculative.replay import TOKENIZER

BYTES = TokenBytes(TOKENIZER)


@given(st.text())
def test_bytes_of_a_text_are_those_of_its_tokens(text):
    assert b"".join(BYTES[token] for token in BYTES.encode(text)) == text.encode()


def test_every_byte_has_a_token():
    assert {BYTES[token] for token in range(TOKENIZER.get_vocab_size())} >= {
        bytes([byte]) for byte in range(256)
    }


def test_tags_are_notation():
    cell = TOKENIZER.token_to_id("<td>")
    assert BYTES[cell] == b"<td>"
    assert BYTES.is_notation(cell)
    assert not BYTES.is_notation(BYTES.encode("a")[0])


def test_no_token_no_bytes():
    assert BYTES[10**6] == BYTES[-1] == BYTES[1 << 40] == b""
