"""Makes the lines of a text that only searches need: words that line ends cut are whole in them, and characters of
scripts that put no spaces between words stand apart, so that each is a term and a word of them a phrase. So do raised
figures, as marks of notes, from the word or year before them.
"""

import re

# Between two such characters; no term for FTS5's unicode61, and nothing to see in a snippet.
_APART = "\u200b"
# A term that nobody types and nobody sees (a letter of Unicode): no phrase reaches over lines that are not there.
_GAP = "\u3164"
_SEAM = "\0"
_CUT = re.compile(
    r"[-\u00ac\u00ad\u2010](?<=[^\W\d_].)[ \t]*\n[ \t]*(?:\n[ \t]*(?=[^\W\d_A-Z]))?(?=[^\W\d_])"
)
_HAN = (
    "[\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003134f]"
)
_IS_HAN = re.compile(_HAN)
_RAISED = re.compile(r"(?<=\w)(?<![⁰¹²³⁴-⁹])(?=[⁰¹²³⁴-⁹])")
_BESIDE_HAN = re.compile(rf"(?<={_HAN})(?=\w)|(?<=\w)(?={_HAN})")


def search_lines(text: str) -> str | None:
    """Returns those lines of a text in which a search finds more than in the text itself; None where there are none."""
    joined, num_cuts = _CUT.subn(_SEAM, text)
    joined, num_raised = (joined, 0) if text.isascii() else _RAISED.subn(_APART, joined)
    has_han = not text.isascii() and _IS_HAN.search(text) is not None
    found: list[str] = []
    for line in joined.split("\n") if num_cuts or num_raised or has_han else ():
        if _SEAM in line or (num_raised and _APART in line) or (has_han and _IS_HAN.search(line)):
            whole = line.replace(_SEAM, "")
            found.append(apart(whole) if has_han else whole)
        elif found and found[-1] != _GAP:
            found.append(_GAP)
    return "\n".join(found).removesuffix("\n" + _GAP) or None


def apart(text: str) -> str:
    """Returns a text with the characters of Chinese, Japanese and Korean apart, as the lines have them."""
    return _BESIDE_HAN.sub(_APART, text)


def as_read(snippet: str) -> str:
    """Returns a search's snippet with such characters together, and a mark where lines are left out."""
    return snippet.replace(_APART, "").replace(_GAP, "…")
