"""The character head's reading of another script is no text, which the tokenizer reveals."""

import pytest
from tokenizers import Tokenizer

from ocr.character_head.second_opinion import SecondOpinion, marks
from ocr.character_head.unlike import is_unlike_text, marks_a_token
from ocr.model_files.locate import find_directory, read_tokenizer

ENGLISH = (
    "The agreement enters into force on the day of its signature",
    "by both parties and remains valid until all obligations",
    "have been fulfilled. Each party informs the other within ten days",
)
GERMAN = (
    "Der Vertrag tritt am Tag seiner Unterzeichnung durch beide",
    "Parteien in Kraft und gilt bis zur vollständigen Erfüllung",
    "aller Pflichten. Jede Partei teilt der anderen mit, wenn sich",
)
# As the shipped model's character head named lines in Devanagari, Greek, Hebrew and Arabic.
DEVANAGARI = ("àϑ∂ųqfuµųuRqdqψψ1fųqdq",) * 5
GREEK = ("κkdá0εnηµépatτωvσaúµßβßaanutoypaqńqgnηµé",) * 4
HEBREW = ("w7yτpv1ontwwψ7p’7p70op7nonxx7pyv1",) * 4
ARABIC = ("0utxlj>sutjl9∪>gnla∂8⊗9§",) * 5


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return read_tokenizer(find_directory("small") / "tokenizer.json")


def seen(*lines: str) -> SecondOpinion:
    return SecondOpinion(num_marks=sum(map(len, lines)), lines=lines)


@pytest.mark.parametrize("lines", [ENGLISH, GERMAN])
def test_text_is_text_without_its_spaces(lines: tuple[str, ...], tokenizer: Tokenizer) -> None:
    assert not is_unlike_text(seen(*map(marks, lines)), tokenizer)


@pytest.mark.parametrize("lines", [DEVANAGARI, GREEK, HEBREW, ARABIC])
def test_letters_without_order_are_none(lines: tuple[str, ...], tokenizer: Tokenizer) -> None:
    assert is_unlike_text(seen(*lines), tokenizer)


def test_of_a_few_marks_nothing_is_said(tokenizer: Tokenizer) -> None:
    assert marks_a_token(seen("w7yτpv1ontww"), tokenizer) is None
    assert not is_unlike_text(seen(*["x7"] * 100), tokenizer), "nor of short lines"
