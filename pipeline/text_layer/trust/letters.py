"""Tells whether a text's letters form words, by how letters follow each other; this reveals wrong character maps.

So do widths in any language: usual ones of characters are compared with those drawn for them. Typefaces differ, but in
all of them an i is narrow and an m is wide.

The bigram costs are from a mixture of 16 European languages and program code in equal shares (1.5 million characters
each; the texts that ocr.training.corpus gathers), without accents. Each of these languages costs 3.5 to 4.1 bits a
letter, and a text whose letters are shifted along the alphabet more than 5. Torch-free.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pymupdf

from pipeline.text_layer.extract.spans import Span

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
# For each of a to z and for a word's edge: the cost of each next letter in half bits, as digits of base 36.
_COSTS = (
    "bc9aiebfbeb7a6fcj687cbgjfc4",
    "6bfh4mkk6cj7if7iq7ce8gkp8h8",
    "6lci6kj57fabig5glad89llqfb8",
    "7hhe3jji6ihegd7graceafipee5",
    "cdbacebfbfc8a6hej678edhdid4",
    "7kjg79hj5hmakh4kp9d99mkpfl5",
    "8hjf4icb8eiaga8hq7ab8gjq9i5",
    "5kge3mnj7ficfd7jqbg9bchrdl6",
    "9d9a7cagedb8a59dhb77fakhpd6",
    "4jib3hhl8lccea6ipfae9gkplg8",
    "5ggg5lhi8g9akc6kra988hjrci6",
    "6ggb5def6gd6ee7gkjba9elsbk6",
    "5bjg4jkk7mif9e78qgef9ikqem5",
    "7jb76c9f8idfkb9jkk97belrcg4",
    "ecaadbafcfb986can6899bbkic5",
    "5kef6ggf9lh8hf59p5ca9illej8",
    "hllkiklkklmdkijklfii0lhmmlb",
    "6fda5fdg7hcebb7gjca9adhodd4",
    "8hai6hjd7gadff8aih95aghrdb4",
    "6jgi5hk86iffhg7gt8c9ahflch4",
    "abbb8dcg9db896daq777degekc6",
    "4jjh3lkj5njfic6isddhchqqbh8",
    "5kge5lh85pheja7gpbagenel9h6",
    "8g9i6fli6mifehc7khe5fikdeg3",
    "bc8c9hedcfaa9a8aqc78edcoee3",
    "5eeb5mhg6jdde98emgfa9fcq9c6",
    "7a9789ca9ca99998eb78aabjfdz",
)
_EDGE = 26
_BITS_A_DIGIT = 0.5
_BITS = [[_BITS_A_DIGIT * _DIGITS.index(digit) for digit in row] for row in _COSTS]
_PLAIN = str.maketrans(
    {"ß": "s", "ø": "o", "æ": "a", "ł": "l", "đ": "d", "ı": "i", "œ": "o", "þ": "t", "ð": "d"}
)
# Cyrillic and Greek letters as Latin ones that behave alike; others of these alphabets are rare and cost what q does.
_SPELLED = {
    **dict(
        zip(
            "абвгдежзийклмнопрстуфхцчэыщшіїєґўђјљњћџѓќѕ",
            "abvgdezziiklmnoprstufhcceyssiiegudjlncdgkz",
            strict=True,
        )
    ),
    **dict(zip("αβγδεζηθικλμνξοπρσςτυφχψω", "abgdezitiklmnsoprsstifhpo", strict=True)),
    "ъ": "",
    "ь": "",
    "ю": "iu",
    "я": "ia",
}
_RARE = "q"
# Lists of commands and names cost up to 4.6 bits.
_MOST_BITS, _ENOUGH_LETTERS = 5.1, 60
_WORD = re.compile(r"[a-z]{2,}")


def are_words(text: str) -> bool:
    """Returns whether the letters are likely to be words of a language; True also where there are too few to tell."""
    bits, num = bits_per_letter(text)
    return num < _ENOUGH_LETTERS or bits <= _MOST_BITS


def bits_per_letter(text: str) -> tuple[float, int]:
    """Returns the average cost in bits of the words' letters, ends of words included, and how many they are.

    Only words of two or more Latin, Cyrillic or Greek letters count; (0.0, 0) if there are none.
    """
    bits, num = 0.0, 0
    for word in _WORD.findall(folded(text)):
        before = _EDGE
        for letter in word:
            here = ord(letter) - ord("a")
            bits += _BITS[before][here]
            before = here
        bits += _BITS[before][_EDGE]
        num += len(word) + 1
    return (bits / num if num else 0.0), num


def folded(text: str) -> str:
    """Returns the text in lower-case Latin letters without accents; letters of other alphabets stay."""
    parts = unicodedata.normalize("NFD", text.lower()).translate(_PLAIN)
    return "".join(_spelled(letter) for letter in parts if not unicodedata.combining(letter))


def _spelled(letter: str) -> str:
    if letter < "\u0370" or letter > "\u052f":
        return letter
    return _SPELLED.get(letter, _RARE if letter.isalpha() else letter)


Floats = npt.NDArray[np.float64]

_REFERENCE = ("helv", "tiro")  # a sans serif and a serif that come with MuPDF
_ENOUGH_KINDS = 12  # of characters in a typeface
_ENOUGH = 20  # of a character, for its width to be known
_MONOSPACED = 0.02  # spread of the widths, of their mean


def width_fit(spans: Sequence[Span]) -> float | None:
    """Returns how well drawn widths fit the characters: the mean correlation of each typeface's with usual widths.

    None if no proportional typeface has enough different characters.
    """
    widths: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for span in spans:
        for glyph in () if span.is_turned else span.glyphs:
            widths[span.font][glyph.text].append((glyph.box[2] - glyph.box[0]) / span.line.size)
    fits, weights = [], []
    for font in widths.values():
        known = {mark: width for mark in font if (width := _usual_width(mark)) is not None}
        drawn = [float(np.median(font[mark])) for mark in known]
        if len(known) < _ENOUGH_KINDS or np.std(drawn) < _MONOSPACED * np.mean(drawn):
            continue
        weight = [min(len(font[mark]), _ENOUGH) for mark in known]
        fits.append(
            _correlation(np.array(drawn), np.array(list(known.values())), np.array(weight, np.float64))
        )
        weights.append(sum(len(font[mark]) for mark in known))
    return float(np.average(fits, weights=weights)) if fits else None


def _correlation(a: Floats, b: Floats, weight: Floats) -> float:
    a, b = a - np.average(a, weights=weight), b - np.average(b, weights=weight)
    spread = float(np.sqrt((weight * a * a).sum() * (weight * b * b).sum()))
    return float((weight * a * b).sum()) / spread if spread else 0.0


@lru_cache(maxsize=4096)
def _usual_width(mark: str) -> float | None:
    """Returns the mean of a letter's width in a sans serif and in a serif, in type sizes."""
    if len(mark) != 1 or not mark.isalpha():
        return None
    fonts = _reference_fonts()
    if not all(font.has_glyph(ord(mark)) for font in fonts):
        return None
    return sum(float(font.glyph_advance(ord(mark))) for font in fonts) / len(fonts)


@lru_cache(maxsize=1)
def _reference_fonts() -> tuple[pymupdf.Font, ...]:
    return tuple(pymupdf.Font(name) for name in _REFERENCE)
