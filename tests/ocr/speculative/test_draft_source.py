import pytest

from ocr.speculative.draft_source import CELL, GAP, LINE, START, WORD, Source
from ocr.transcript.token_bytes import TokenBytes
from tests.ocr.speculative.replay import TOKENIZER, encode

BYTES = TokenBytes(TOKENIZER)


def test_words_and_what_parts_them():
    source = Source("  One two\n three\tfour\n\n\nfive ", BYTES)
    assert source.breaks == [START, WORD, LINE, CELL, GAP]
    assert source.marks == b"Onetwothreefourfive"
    assert source.written == b"One two\nthree four\n\nfive"
    assert source.tokens == encode("One two\nthree four\n\nfive")


def test_places_in_marks_and_in_the_written_text():
    source = Source("One two\n\nthree", BYTES)
    assert [source.mark_at(byte) for byte in (0, 3, 4, 7, 8, 9, 14)] == [0, 3, 3, 6, 6, 6, 11]
    assert [source.byte_at(6, between) for between in (b"", b"\n", b"\n\n", b" ")] == [7, 8, 9, 9]
    assert [source.byte_at(mark) for mark in (1, 11)] == [1, 14]
    assert [source.begins_word(mark) for mark in (0, 1, 3, 6, 11)] == [True, False, True, True, False]


def test_tokens_from_within_a_word():
    source = Source("strawberries and cream", BYTES)
    end, following = source.tokens_from(5)
    assert (
        TOKENIZER.decode(end) == "berries"[: len(TOKENIZER.decode(end))] or TOKENIZER.decode(end) == "berries"
    )
    assert TOKENIZER.decode([*end, *source.tokens[following:]]) == "berries and cream"


def test_a_break_is_learnt_when_it_was_seen_twice_in_a_row():
    source = Source("a\nb\nc\nd", BYTES)
    assert not source.saw_break(1, b" ")
    assert source.saw_break(2, b" ")
    assert source.written == b"a b c d"
    assert not source.saw_break(3, b" ")


@pytest.mark.parametrize("text", ["", " \n\t ", "\ud800"])
def test_no_text_no_tokens(text):
    assert not Source(text, BYTES)
