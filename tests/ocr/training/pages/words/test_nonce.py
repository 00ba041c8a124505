import random
import re

from ocr.training.pages.words.nonce import Nonce
from tests.ocr.training.sources import SENTENCE

GERMAN = "Größe und Maß der Straße. Ärger übt sich über schöne Bäume und große Häuser. " * 3


def test_words_look_like_the_language_and_are_not_from_it() -> None:
    nonce, rng = Nonce.of(GERMAN + SENTENCE), random.Random(0)
    words = [nonce.word(rng) for _ in range(400)]
    assert all(2 <= len(word) <= 14 for word in words)
    known = set((GERMAN + SENTENCE).lower().replace(".", "").replace(",", "").split())
    pairs = {f" {word} "[i : i + 3] for word in known for i in range(len(word))}
    made = set(words) - known
    assert len(made) > 10
    assert {f" {word} "[i : i + 3] for word in made for i in range(len(word) - 1)} <= pairs
    assert any(set(word) & set("äöüß") for word in made)


def test_paragraphs_are_sentences_of_about_the_length_asked_for() -> None:
    nonce, rng = Nonce.of(SENTENCE), random.Random(1)
    texts = [nonce.paragraph(rng, 300) for _ in range(40)]
    assert all(0 < len(text) <= 300 for text in texts)
    assert max(map(len, texts)) > 200
    assert all(text[0].isupper() for text in texts)
    assert any(". " in text for text in texts)


def test_a_disguise_keeps_capitals_short_words_and_punctuation() -> None:
    rng = random.Random(2)
    nonce = Nonce.of(SENTENCE)
    text = "The Council of NATO (in Brussels) said: it is closed, for 12 days."
    for _ in range(20):
        made = nonce.disguise(rng, text, share=1.0)
        shape = re.fullmatch(r"The (\w+) of (\w+) \(in (\w+)\) (\w+): it is (\w+), for 12 (\w+)\.", made)
        assert shape
        council, nato, brussels, said, *_ = shape.groups()
        assert council.istitle()
        assert brussels.istitle()
        assert nato.isupper()
        assert said.islower()
        assert {"Council", "NATO", "Brussels"}.isdisjoint(shape.groups())
