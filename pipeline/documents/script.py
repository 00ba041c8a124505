"""Determines the scripts of a text, as ISO 15924 codes, and those that a model can write. Torch-free.

A character's name in the Unicode database tells its script. Only letters of words count: a formula's alpha or aleph
says nothing about the language around it.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from ocr.model_files.locate import LINES, find_directory

_CODES = {
    "LATIN": "Latn", "GREEK": "Grek", "CYRILLIC": "Cyrl", "ARMENIAN": "Armn", "GEORGIAN": "Geor", "HEBREW": "Hebr",
    "ARABIC": "Arab", "SYRIAC": "Syrc", "THAANA": "Thaa", "DEVANAGARI": "Deva", "BENGALI": "Beng", "GURMUKHI": "Guru",
    "GUJARATI": "Gujr", "ORIYA": "Orya", "TAMIL": "Taml", "TELUGU": "Telu", "KANNADA": "Knda", "MALAYALAM": "Mlym",
    "SINHALA": "Sinh", "THAI": "Thai", "LAO": "Laoo", "TIBETAN": "Tibt", "MYANMAR": "Mymr", "KHMER": "Khmr",
    "MONGOLIAN": "Mong", "ETHIOPIC": "Ethi", "CHEROKEE": "Cher", "CJK": "Hani", "HIRAGANA": "Jpan",
    "KATAKANA": "Jpan", "HANGUL": "Kore",
}  # fmt: skip
# Scripts without spaces between words, or with several letters per character: one letter counts as a word.
_DENSE = frozenset({"Hani", "Jpan", "Kore"})
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_WORD = 3  # letters; shorter ones are symbols as often as words
_LEAST_LETTERS = 12
# The share of a page's letters in another script from which on it counts; a name or a quotation is less.
FOREIGN_SHARE = 0.15
# The number of a script's letters that a model must be able to name to count as trained for it. The 52 Greek letters
# without accents are there for formulas: no Greek text can be written with them.
_ALPHABET, _GREEK_ALPHABET = 20, 60


def script_shares(text: str) -> dict[str, float]:
    """Returns the share of each script in the letters of the text's words; empty where there are too few to tell.

    Chinese characters in a text with some kana count as Japanese.
    """
    counts: Counter[str] = Counter()
    letters = "".join(letter for letter in text if not unicodedata.category(letter).startswith("M"))
    for word in _WORD.findall(letters):
        scripts = Counter(filter(None, map(script_of, word)))
        for script, num in scripts.items():
            if script in _DENSE or num >= _LEAST_WORD:
                counts[script] += num
    if counts["Jpan"]:
        counts["Jpan"] += counts.pop("Hani", 0)
    total = counts.total()
    return {script: num / total for script, num in counts.most_common()} if total >= _LEAST_LETTERS else {}


def main_script(text: str) -> str | None:
    """Returns the script that a page counts as: the largest one other than Latin, if its share is considerable.

    A page in Russian with English terms counts as Russian. None where the text is too short to tell.
    """
    shares = script_shares(text)
    others = [script for script, share in shares.items() if script != "Latn" and share >= FOREIGN_SHARE]
    return others[0] if others else next(iter(shares), None)


def known_scripts(model: str) -> frozenset[str] | None:
    """Returns the scripts that a line reader knows; None for a page model, as published ones read any.

    Raises: CheckpointError.
    """
    facts = find_directory(model) / LINES / "reader.json"
    return scripts_named(json.loads(facts.read_text("utf-8"))["characters"]) if facts.exists() else None


def scripts_named(characters: Iterable[str]) -> frozenset[str]:
    """Returns the scripts that can be written with these characters."""
    counts = Counter(filter(None, map(script_of, characters)))
    return frozenset(
        script
        for script, num in counts.items()
        if num >= (_GREEK_ALPHABET if script == "Grek" else _ALPHABET)
    )


@lru_cache(maxsize=8192)
def script_of(letter: str) -> str | None:
    """Returns the script of a letter; None for what is none, or of another script."""
    return _CODES.get(unicodedata.name(letter, "").partition(" ")[0]) if letter.isalpha() else None
