"""Whether what the character head sees is text of the languages that a model was made for.

On a page in another script the head names the letters that look most like those there, without any order among them:
the tokenizer, which knows the words of its languages, needs more tokens for such lines than for text. Measured on
halves of pages at 120 to 150 dpi with the shipped model: 1.70 to 2.27 marks a token on 12 pages of manuals and
reference cards; 0.91 to 1.49 on pages in Cyrillic (the highest), Greek, Arabic, Hebrew, Devanagari, Thai and Chinese.
"""

from tokenizers import Tokenizer

from ocr.character_head.second_opinion import SecondOpinion

_LEAST_A_TOKEN = 1.6
# A line of fewer marks, and a page of fewer in such lines, say nothing.
_LEAST_IN_LINE, _LEAST_ON_PAGE = 8, 100


def marks_a_token(opinion: SecondOpinion, tokenizer: Tokenizer) -> float | None:
    """Returns how many marks a token stands for, over all lines long enough; None where these are too few to tell."""
    lines = [line for line in opinion.lines if len(line) >= _LEAST_IN_LINE]
    num_marks = sum(map(len, lines))
    if num_marks < _LEAST_ON_PAGE:
        return None
    return num_marks / sum(len(tokenizer.encode(line, add_special_tokens=False).ids) for line in lines)


def is_unlike_text(opinion: SecondOpinion, tokenizer: Tokenizer) -> bool:
    """Returns whether the marks make up no text. Tables of figures do not either: ask where the reading is in doubt."""
    found = marks_a_token(opinion, tokenizer)
    return found is not None and found < _LEAST_A_TOKEN
