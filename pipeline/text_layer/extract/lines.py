"""Joins the lines of a text layer, or parts of them in one typeface, to text by their positions. Torch-free."""

import unicodedata
from collections.abc import Sequence

from ocr.paragraphs.text_lines import Line

# Replacements as in the small model's training text; other models differ little.
_REPLACED = str.maketrans({
    **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\t", " "), **dict.fromkeys("\u2010\u2011\u00ad", "-"),
    "\u200a": "", "\u200b": "", "\ufeff": "",
})  # fmt: skip
# In type sizes.
_BREAK_GAP = 1.75  # baselines further apart are two paragraphs
_SAME_LINE = 0.5
_SPACE, _WIDE = 0.12, 1.5
_BACK = 0.2


def clean(text: str) -> str:
    """Returns text in NFC with ligatures resolved, spaces and hyphens simplified, and only printable characters."""
    ligatures = "".join(
        unicodedata.normalize("NFKC", letter) if "\ufb00" <= letter <= "\ufb06" else letter for letter in text
    )
    plain = unicodedata.normalize("NFC", ligatures).translate(_REPLACED)
    return "".join(letter for letter in plain if letter.isprintable())


def as_text(lines: Sequence[Line]) -> str | None:
    """Returns the lines as text, with blank lines where the next is far below or elsewhere and tabs in wide gaps.

    None where there is no text.
    """
    text = ""
    previous: Line | None = None
    for line in lines:
        if previous is not None:
            text += between(previous, line)
        text += line.text
        previous = line
    return text.strip() or None


def between(before: Line, line: Line) -> str:
    """Returns the white space between two successive lines or parts of a line, by their positions."""
    drop, size = line.base - before.base, max(line.size, before.size)
    if abs(drop) < _SAME_LINE * size and line.x0 > before.x1 - _BACK * line.size:
        gap = (line.x0 - before.x1) / max(line.size, 1e-3)
        return "\t" if gap > _WIDE else " " if gap > _SPACE else ""
    return "\n" if 0 < drop < _BREAK_GAP * size else "\n\n"
