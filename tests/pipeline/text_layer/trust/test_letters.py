import pytest

from pipeline.text_layer.trust.letters import are_words, bits_per_letter

SENTENCES = [
    "The quick brown fox jumps over the lazy dog while nobody is watching from the house",
    "Die Gemeinde beschließt über die Änderung der Satzung in öffentlicher Sitzung",
    "Les élèves préfèrent le café français à la bière et les promenades au bord de la mer",
    "Podczas spotkania omówiono najważniejsze zagadnienia dotyczące bezpieczeństwa pracy",
    "Широкая электрификация южных губерний даст мощный толчок подъёму сельского хозяйства",
    "Η κυβέρνηση ανακοίνωσε σήμερα τα νέα μέτρα για την ενίσχυση της οικονομίας",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_languages_cost_little(sentence: str) -> None:
    bits, num = bits_per_letter(sentence)
    assert bits < 4.8
    assert num > 50


@pytest.mark.parametrize("by", [1, 3, 5, 13])
def test_a_shifted_alphabet_costs_more(by: int) -> None:
    shifted = "".join(
        chr((ord(c) - 97 + by) % 26 + 97) if c.islower() and c < "{" else c for c in SENTENCES[0].lower()
    )
    assert are_words(SENTENCES[0])
    assert not are_words(shifted)


def test_nothing_costs_nothing() -> None:
    assert bits_per_letter("12 345 – a b") == (0.0, 0)
