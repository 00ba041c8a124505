"""Tells whether the character head sees text in the languages that a model was made for.

On a page in another script the head names the letters that look most similar, in no meaningful order:
the tokenizer, which knows the words of its languages, needs more tokens for such lines than for text. Measured on
halves of pages at 120 to 150 dpi with the shipped model: 1.70 to 2.27 marks a token on 12 pages of manuals and
reference cards; 0.91 to 1.49 on pages in Cyrillic (the highest), Greek, Arabic, Hebrew, Devanagari, Thai and Chinese.
"""

from tokenizers import Tokenizer

from ocr.character_head.second_opinion import SecondOpinion

_LEAST_A_TOKEN = 1.6
# A line with fewer marks says nothing, nor does a page with fewer in all such lines.
_LEAST_IN_LINE, _LEAST_ON_PAGE = 8, 100


def marks_a_token(opinion: SecondOpinion, tokenizer: Tokenizer) -> float | None:
    """Returns how many marks a token covers, over all lines long enough; None where these are too few to tell."""
    lines = [line for line in opinion.lines if len(line) >= _LEAST_IN_LINE]
    num_marks = sum(map(len, lines))
    if num_marks < _LEAST_ON_PAGE:
        return None
    return num_marks / sum(len(tokenizer.encode(line, add_special_tokens=False).ids) for line in lines)


def is_unlike_text(opinion: SecondOpinion, tokenizer: Tokenizer) -> bool:
    """Returns whether the marks form no text. Nor do tables of figures, so ask only where the reading is in doubt."""
    found = marks_a_token(opinion, tokenizer)
    return found is not None and found < _LEAST_A_TOKEN
