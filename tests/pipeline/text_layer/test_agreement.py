import random

import pytest

from pipeline.text_layer.agreement import agreement

TEXT = (
    "The harbour lay quiet in the early light, and the boats that had come in during the night were still heavy "
    "with their catch. Nobody spoke much. An old man mended his nets on the wall, as he had done for forty years."
)


def test_the_same_text_agrees() -> None:
    assert agreement(TEXT, TEXT) == 1.0
    assert agreement("", " \n") == 1.0
    assert agreement(TEXT, "") == 0.0


def test_another_order_costs_nothing() -> None:
    words = TEXT.split()
    random.Random(0).shuffle(words)
    assert agreement(" ".join(words), TEXT) == 1.0


def test_line_breaks_hyphens_capitals_and_marks_cost_nothing() -> None:
    broken = TEXT.replace("harbour", "har-\nbour").replace(" ", "\n").replace(",", ";").upper()
    assert agreement(broken, TEXT) == 1.0


def test_misread_letters_cost_what_they_are() -> None:
    misread = TEXT.replace("boats", "hoats").replace("quiet", "quict")
    assert 0.98 < agreement(misread, TEXT) < 1.0


def test_half_a_page_agrees_by_two_thirds() -> None:
    half = TEXT[: len(TEXT) // 2]
    assert agreement(half, TEXT) == pytest.approx(2 / 3, abs=0.05)


def test_other_texts_do_not_agree() -> None:
    assert agreement("Zinc 4711 kg, xylophone, quartz; rhythm 88", TEXT) < 0.1


def test_chinese_is_compared_character_by_character() -> None:
    assert agreement("東京都の天気", "天気\n東京都の") == 1.0


def test_many_words_are_compared_in_a_moment() -> None:
    rng = random.Random(1)
    texts = [" ".join(f"{rng.getrandbits(40):x}" for _ in range(20_000)) for _ in range(2)]
    assert agreement(*texts) < 0.5
