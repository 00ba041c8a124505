import lzma
import random
from collections import Counter
from pathlib import Path
from shutil import copytree

from ocr.training.pages.words.text import TextSource, random_words, sprinkle


def test_splits_share_no_paragraph(corpus: Path) -> None:
    train, valid = TextSource(corpus / "text", "train"), TextSource(corpus / "text", "valid")
    for name in train.paragraphs:
        total = len(train.paragraphs[name]) + len(valid.paragraphs[name])
        assert len(valid.paragraphs[name]) == -(-total // 12)


def test_languages_share_by_their_text_and_have_letters_of_their_own(corpus: Path, tmp_path: Path) -> None:
    copytree(corpus / "text", tmp_path / "text")
    (tmp_path / "text/tr.txt.xz").write_bytes(lzma.compress(b"\n\n".join(["Ilık ağaç.".encode()] * 600)))
    source, rng = TextSource(tmp_path / "text"), random.Random(1)
    drawn = Counter(source.category(rng) for _ in range(1000))
    assert drawn["tr"] > 2 * drawn["de"] > 0
    assert source.letters == {"de": frozenset("ößÄüß"), "tr": frozenset("ığç")}


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


def test_three_paragraphs_in_ten_cannot_be_guessed(corpus: Path) -> None:
    source, rng = TextSource(corpus / "text"), random.Random(5)
    known = {word for paragraphs in source.paragraphs.values() for p in paragraphs for word in p.split()}
    drawn = [source.paragraph(rng, source.category(rng)) for _ in range(2500)]
    unknown = [
        sum(word.strip(",") not in known for word in text.split()) / len(text.split()) for text in drawn
    ]
    assert 0.25 < sum(share > 0.3 for share in unknown) / len(drawn) < 0.38


def test_made_up_text_keeps_to_its_length(corpus: Path) -> None:
    source, rng = TextSource(corpus / "text"), random.Random(6)
    texts = [source.paragraph(rng, "nonce", max_chars=200) for _ in range(60)]
    assert all(0 < len(text) <= 320 for text in texts)
    assert len(set(texts)) == 60
    assert all(source.phrase(rng, "nonce", 3) for _ in range(20))


def test_real_words_are_replaced_by_made_ones_of_the_same_language(corpus: Path) -> None:
    source, rng = TextSource(corpus / "text"), random.Random(7)
    text = " ".join(source.paragraphs["de"][0].split()[:24])
    made = {word for _ in range(200) for word in sprinkle(rng, text, source.nonce("de")).split()}
    plain = {word for _ in range(200) for word in sprinkle(rng, text).split()}
    assert sum(word.isalpha() for word in made) / len(made) > sum(word.isalpha() for word in plain) / len(
        plain
    )
