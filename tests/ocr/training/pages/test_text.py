import random
from pathlib import Path

from ocr.training.pages.text import TextSource, random_words, sprinkle


def test_splits_share_no_paragraph(corpus: Path) -> None:
    train, valid = TextSource(corpus / "text", "train"), TextSource(corpus / "text", "valid")
    for name in train.paragraphs:
        total = len(train.paragraphs[name]) + len(valid.paragraphs[name])
        assert len(valid.paragraphs[name]) == -(-total // 12)


def test_long_paragraphs_are_cut_at_words(corpus: Path) -> None:
    source, rng = TextSource(corpus / "text"), random.Random(1)
    for _ in range(50):
        text = source.paragraph(rng, "en_prose", max_chars=60)
        assert len(text) <= 80


def test_sprinkling_keeps_the_number_of_words() -> None:
    rng = random.Random(0)
    text = "a b c d e f g h i j k l m n"
    for _ in range(20):
        changed = sprinkle(rng, text)
        assert changed != text


def test_random_words_vary() -> None:
    words = random_words(random.Random(3), 400).split()
    assert len(set(words)) > 300
    assert any(word.isdigit() for word in words)
    assert any("@" in word for word in words)
