"""Lines that look like no language are told from worn, odd and foreign ones that do."""

from dataclasses import replace

import numpy as np
import pytest

from ocr.line_reader.found_lines import LineWord, ReadLine, TextLine
from ocr.line_reader.language import LETTERS, is_in_doubt, letter_costs, strange_lines


def read(text: str, confidence: float, *, sizes: float = 20) -> ReadLine:
    right = round(10 * sizes)
    line = TextLine(left=0, right=right, baseline=np.zeros(right, np.float32), size=10.0)
    return ReadLine(line=line, text=text, confidence=confidence)


ORDINARY = read("The harbour office opens at seven in the morning.", 0.99)
RUSSIAN = read("KoHTopa raBaHu OTKpbIBaeTcA B ceMb yacoB yTpa", 0.88)


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("KoHTopa raBaHu OTKpbIBaeTcA B ceMb yacoB yTpa", 0.88),
        ("Aπétvye η uotoπoπoinoη µe tov δiaueooλaβηtη", 0.82),
        ("mqt ahbc ae 8. tt às feg au eardt fiěfst", 0.67),
        ("ni e0legnwl1iw di9198 .193ítds1n n9di9ird219d", 0.8),
        ("( GF6L565  ( G", 0.75),
    ],
)
def test_other_scripts_and_mirrors_are_strange_and_hardly_right(text: str, confidence: float) -> None:
    (found,) = strange_lines([ORDINARY, read(text, confidence)])
    assert found.line.text == text
    assert found.right < 0.35


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("The treasurer explained that tbe new roof had cost lcss", 0.94),
        ("Žádost podá člen družstva představenstvu nejpozději", 0.95),
        ("Päätös tehdään yhtiökokouksessa äänten enemmistöllä", 0.95),
        ("lmod_glht <- glht(lmod, linfct = K)", 0.995),
        ("IBAN DE89 3704 0044 0532 0130 00", 0.93),
        ("- - - - - - - - - - -", 0.6),
        ("M I N U T E S", 0.93),
        ("", 0.0),
    ],
)
def test_worn_print_other_languages_code_and_rules_are_not(text: str, confidence: float) -> None:
    assert strange_lines([read(text, confidence)]) == []


def test_a_long_strange_line_or_much_of_a_page_cast_doubt_names_and_formulas_do_not() -> None:
    page = [ORDINARY] * 30
    name = read("ceMb yacoB", 0.85, sizes=6)
    assert not is_in_doubt(strange_lines([*page, name]), [*page, name])
    assert is_in_doubt(strange_lines([ORDINARY, name]), [ORDINARY, name])
    assert is_in_doubt(strange_lines([*page, RUSSIAN]), [*page, RUSSIAN])
    sparse = read("UTLT_65 5LD.", 0.7)
    assert is_in_doubt(strange_lines([*page, sparse]), [*page, sparse])
    shorter = read("KoHTopa raBaHu OTKpbIBaeTcA", 0.86, sizes=15)
    assert is_in_doubt(strange_lines([*page, shorter]), [*page, shorter])
    formulas = [
        read("Qfb(a, b, c) or Qfb([a, b, c])", 0.7, sizes=9),
        read("f = a1x1 + a2x2 + .·· + anxn + a09", 0.6),
        read("θn = (X1 X)−1 XTY ∼ Nq+1 (θ, σ2 (XTX)−1) ,", 0.7),
    ]
    assert strange_lines(formulas)
    assert not is_in_doubt(strange_lines([*page, *formulas]), [*page, *formulas])
    assert not is_in_doubt([], page)


def test_the_dots_of_a_leader_say_nothing_about_its_words() -> None:
    def indexed(*sure: float) -> ReadLine:
        texts = "tgz", ". . . . .. . . . . . . .. . . . .", "3"
        words = [
            LineWord(text=text, left=0, right=1, confidence=its)
            for text, its in zip(texts, sure, strict=True)
        ]
        return replace(read(" ".join(texts), 0.87, sizes=24.7), words=tuple(words))

    assert strange_lines([indexed(0.99, 0.85, 0.99)]) == []
    assert strange_lines([indexed(0.8, 0.99, 0.9)])


@pytest.mark.parametrize(
    ("text", "confidence", "sizes"),
    [
        ("θnn = (X¹ X)⁻¹ XTY ∼ Nb+1 (θ, σ² (XTX)⁻¹) ,", 0.907, 15.9),
        ('4x² (n² x²n⁻² g"(x1) + (n − 1) nxn⁻² g\'(x")) + 4nxn g\'(x") + (x − 1) g (x") = 0', 0.943, 28.2),
        ("(%11) RQ:(-p*('ev('ev(u(x)*'dhff(u(x),*)),x=a)-'ev('ev(u(x)*'diff(u(x),x)2", 0.937, 42),
    ],
)
def test_a_formula_or_a_program_s_line_casts_no_doubt(text: str, confidence: float, sizes: float) -> None:
    page = [*([ORDINARY] * 30), read(text, confidence, sizes=sizes)]
    assert not is_in_doubt(strange_lines(page), page)


def test_few_words_read_unsurely_are_no_page_in_doubt_and_a_page_of_odd_words_is() -> None:
    cover = [read("Special Functions", 0.999, sizes=8), read("chapTer 26", 0.81, sizes=5)]
    assert strange_lines(cover)
    assert not is_in_doubt(strange_lines(cover), cover)
    odd = [
        read("acttvate befoe wattung for the other one (well-Fnoun name)-", 0.96),
        read("etag of the ftle beung overwritten- sto avvxess spectted- follow symbolhc", 0.93),
        read("Signal ano unterface name- NCCU prory authentication requured- Che", 0.91),
    ]
    assert strange_lines(odd) == []
    assert is_in_doubt([], 3 * odd)
    assert not is_in_doubt([], [odd[0], *([ORDINARY] * 3)])


def test_letters_cost_least_in_words_whatever_their_accents() -> None:
    def cost(text: str) -> float:
        costs = letter_costs(text)
        return sum(costs) / len(costs)

    assert cost("représentation") == cost("representation") < 4 < cost("xqhzvbkf")
    assert letter_costs("12 x 30 cm, x²n⁻²") == []
    assert len(LETTERS) == 27
