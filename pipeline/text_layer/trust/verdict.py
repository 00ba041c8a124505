"""Judges whether a page's text layer matches the page, by checking for everything known to go wrong with layers.

A layer that is rejected costs a reading, one that is trusted wrongly costs the page: in doubt it is rejected.
Thresholds are from tests.benchmarks.text_layers.layers: pages of real documents, also with layers damaged in every
way. Torch-free.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

from pipeline.documents.script import script_of, script_shares
from pipeline.text_layer.extract.bidi import backward_share
from pipeline.text_layer.extract.spans import Glyph, Span, holds, hull
from pipeline.text_layer.extract.structure import is_scattered
from pipeline.text_layer.trust.ink import Drawn, Ink
from pipeline.text_layer.trust.letters import are_words, bits_per_letter, width_fit

# Shares of a page's characters. Formulas have a few brackets that map to no character.
_UNMAPPED, _UNMAPPED_AT_ALL = 0.01, 0.5
_INVISIBLE = 0.02  # a hidden heading is more than a stray mark
_UNSEEN = 0.05  # some are legitimate, such as a figure's white label on white
_TURNED = 0.9  # axes, margins and a table's headings are fewer
_COPIES = 8  # most copies of a text that are compared
_STACKED = 0.05  # drawn in the place of another; accents that are drawn separately are 3% of a page
# Shares of the page.
_PICTURES = 0.5  # beyond this a page may be a scan, with its text in the picture
# Of the text: that is on pictures; of its boxes: that look like text in the pictures themselves.
_PRINTED = 0.5
_UNCOVERED = 0.004  # a line of 10 pt, half as long as the page is wide
_UNCOVERED_OF_SCAN = 0.03
_WORD_PT2 = 350.0  # a word of six letters in 10 pt
_ENOUGH_LETTERS = 60
_ONE_LETTER = 0.3  # of letters: the most common one has up to 0.17
# The least width_fit of a good layer; good pages have 0.87 and more.
_WIDTHS = 0.6
# Shares of words.
_MIXED = 0.1  # with letters of two alphabets
_ALPHABETS = {"Latn", "Grek", "Cyrl", "Armn", "Geor", "Hebr", "Arab", "Thai"}
_MOJIBAKE = 0.02
_SINGLE, _ENOUGH_WORDS = 0.6, 50  # of words that are one letter: "l i k e"
_FOREIGN_ACCENTS = 0.5  # of letters: Vietnamese has 0.3, Cyrillic in the wrong code page nearly all
# The share of lines that are above the one before: up to 0.08 on good pages, also with columns and tables; and their
# number up to which that is ignored.
_BACKWARD, _FEW_COLUMNS = 0.2, 5
_LINE = 8  # characters: shorter ones are a plot's labels, which stand in any order
_TWICE_DECODED = re.compile("[ÂÃÄÅÐÑâ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]")
# Placeholders that programs write for a character they do not know.
_UNKNOWN = re.compile(r"\(cid:\d+\)|\?{3,}")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A page's text layer and its drawing, a pymupdf DisplayList, as evidence for the verdict.

    num_unmapped: characters without a meaning. num_lost: those, and others of the words they were in, which the spans
    do not hold any more.
    """

    spans: Sequence[Span]
    display: Any
    ink: Ink
    drawn: Drawn
    num_unmapped: int = 0
    num_lost: int = 0

    @cached_property
    def glyphs(self) -> list[Glyph]:
        return [glyph for span in self.spans for glyph in span.glyphs]

    @cached_property
    def text(self) -> str:
        """The layer's text in its own order, one line per span."""
        return "\n".join(span.line.text for span in self.spans)

    @cached_property
    def words(self) -> list[str]:
        """The layer's words, without vowel signs and other marks, which would split words of Hindi or Thai."""
        return _WORD.findall(
            "".join(letter for letter in self.text if not unicodedata.category(letter).startswith("M"))
        )

    def share(self, is_counted: Callable[[Span], bool]) -> float:
        """Returns the share of the characters that are in spans of a kind."""
        counted = sum(len(span.glyphs) for span in self.spans if is_counted(span))
        return counted / max(len(self.glyphs), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a layer may replace a reading: where reason is "". Else it says why not.

    is_partial: the layer is sound, but the page shows more than it holds, which is to be read beside it.
    """

    reason: str = ""
    is_partial: bool = False


def judge(page: Evidence) -> Verdict:
    """Returns whether a layer may replace a reading."""
    if reason := _first_reason(page, (*_OF_THE_SCAN, *_OF_THE_TEXT, *_OF_THE_PAGE)):
        return Verdict(reason=reason)
    reason = _first_reason(page, _GAPS)
    return Verdict(reason=reason, is_partial=bool(reason))


def distrust_reason_if_unreadable(page: Evidence) -> str:
    """Returns why a layer is useless even for a page that cannot be read, or "" where it is useful.

    Here text that another program recognised under a scan is good enough, if it looks like text and covers the page.
    """
    covers_little = partial(_uncovered_reason, limit=_UNCOVERED_OF_SCAN)
    return _first_reason(page, (*_OF_THE_TEXT, _lost_reason, _out_of_order_reason, covers_little))


def shows_any(page: Evidence) -> bool:
    """Returns whether any of a layer's text can be seen on the page."""
    return any(span.is_drawn and span.glyphs and _is_seen(page, span) for span in page.spans)


def _first_reason(page: Evidence, tests: Sequence[Callable[[Evidence], str]]) -> str:
    return next(filter(None, (test(page) for test in tests)), "")


def _invisible_reason(page: Evidence) -> str:
    share = page.share(lambda span: not span.is_drawn)
    return f"{share:.0%} of its characters are invisible, as under a scan" if share > _INVISIBLE else ""


def _pictures_reason(page: Evidence) -> str:
    """Returns a reason if the page is a picture with its text in it.

    It is none where most of the text is beside the pictures, or on one that is only its background, as on slides.
    """
    share = page.ink.covered_share(page.drawn.pictures)
    if share <= _PICTURES:
        return ""
    pictures = page.drawn.pictures
    inside = [glyph.box for glyph in page.glyphs if any(holds(box, glyph.middle) for box in pictures)]
    if len(inside) <= _PRINTED * len(page.glyphs):
        return ""
    shown_elsewhere, shown = page.ink.text_shares(inside)
    if shown_elsewhere <= shown and page.drawn.printed_share(page.ink, inside) <= _PRINTED:
        return ""
    return f"pictures cover {share:.0%} of the page"


def _under_pictures_reason(page: Evidence) -> str:
    share = page.drawn.hidden_share
    return f"{share:.0%} of its text lies under pictures" if share > _INVISIBLE else ""


def _unmapped_reason(page: Evidence) -> str:
    total = len(page.glyphs) + page.num_lost
    unmapped = sum(len(match[0]) for match in _UNKNOWN.finditer(page.text))
    if unmapped > _UNMAPPED * total + 1 or page.num_unmapped > _UNMAPPED_AT_ALL * total:
        return f"{unmapped + page.num_unmapped} of {total} characters have no meaning"
    return ""


def _lost_reason(page: Evidence) -> str:
    """Returns a reason if words are not held because characters in them have no meaning; lone symbols matter less."""
    total = len(page.glyphs) + page.num_lost
    is_much = page.num_lost > page.num_unmapped or page.num_unmapped > _UNMAPPED * total + 1
    return f"{page.num_unmapped} of {total} characters have no meaning" if is_much else ""


def _stacked_reason(page: Evidence) -> str:
    letters = [glyph for glyph in page.glyphs if not unicodedata.category(glyph.text[0]).startswith("M")]
    places = {tuple(round(edge) for edge in glyph.box) for glyph in letters}
    share = 1 - len(places) / max(len(letters), 1)
    return f"{share:.0%} of its characters overlap" if share > _STACKED else ""


def _doubled_reason(page: Evidence) -> str:
    """Returns a reason if text is doubled, as for shadows or bold print; MuPDF drops only copies next to each other."""
    copies: defaultdict[str, list[Span]] = defaultdict(list)
    doubled = 0
    for span in page.spans:
        alike = copies[span.line.text.strip()]
        doubled += len(span.glyphs) if any(_is_beside(span, other) for other in alike[-_COPIES:]) else 0
        alike.append(span)
    share = doubled / max(len(page.glyphs), 1)
    return f"{share:.0%} of its characters are copies next to others" if share > _STACKED else ""


def _unlikely_reason(page: Evidence) -> str:
    letters = Counter("".join(page.words).lower())
    mark, most = next(iter(letters.most_common(1)), ("", 0))
    if letters.total() >= _ENOUGH_LETTERS and most > _ONE_LETTER * letters.total():
        return f"{most} of {letters.total()} letters are {mark!r}"
    if are_words(page.text):
        return ""
    return f"its letters do not form words ({bits_per_letter(page.text)[0]:.1f} bits a letter)"


def _mismatched_reason(page: Evidence) -> str:
    fit = width_fit(page.spans)
    unfit = fit is not None and fit < _WIDTHS
    return f"its characters are not as wide as what is drawn (correlation {fit:.2f})" if unfit else ""


def _mixed_reason(page: Evidence) -> str:
    mixed = sum(len(_ALPHABETS.intersection(map(script_of, word))) > 1 for word in page.words)
    limit = _MIXED * len(page.words) + 1
    return f"{mixed} of {len(page.words)} words mix alphabets" if mixed > limit else ""


def _mojibake_reason(page: Evidence) -> str:
    twice = len(_TWICE_DECODED.findall(page.text))
    if twice > max(2, _MOJIBAKE * len(page.words)):
        return f"it was decoded wrongly ({twice} sequences as of UTF-8 read as Latin 1)"
    letters = [letter for word in page.words for letter in word]
    accents = sum("\u00c0" <= letter <= "\u00ff" for letter in letters)
    wrong = len(letters) >= _ENOUGH_LETTERS and accents > _FOREIGN_ACCENTS * len(letters)
    return (
        f"it was decoded wrongly ({accents / len(letters):.0%} of its letters have accents)" if wrong else ""
    )


def _in_pieces_reason(page: Evidence) -> str:
    single = sum(len(word) == 1 for word in page.words)
    broken = len(page.words) >= _ENOUGH_WORDS and single > _SINGLE * len(page.words)
    if broken and not {"Hani", "Jpan"} & script_shares(page.text).keys():
        return f"{single} of {len(page.words)} words are single letters"
    return ""


def _backward_reason(page: Evidence) -> str:
    """Returns a reason if right-to-left letters are stored backwards, which MuPDF should have corrected."""
    share = backward_share(page.spans)
    return f"{share:.0%} of its letters from right to left are stored the other way" if share > _MIXED else ""


def _turned_reason(page: Evidence) -> str:
    share = page.share(lambda span: span.is_turned)
    return f"{share:.0%} of its characters do not run from left to right" if share > _TURNED else ""


def _out_of_order_reason(page: Evidence) -> str:
    """Returns a reason if the lines are out of order, and will not be put in order."""
    lines = [span.line for span in page.spans if len(span.glyphs) >= _LINE and not span.is_turned]
    backward = sum(now.base < before.base - 0.5 * before.size for before, now in pairwise(lines))
    out_of_order = backward > _FEW_COLUMNS and backward > _BACKWARD * len(lines)
    if out_of_order and not is_scattered(page.spans):
        return f"its lines are out of order ({backward} of {len(lines)} go back)"
    return ""


def _unseen_reason(page: Evidence) -> str:
    spans = [span for span in page.spans if span.glyphs]
    unseen = sum(len(span.glyphs) for span in spans if not _is_seen(page, span))
    share = unseen / max(len(page.glyphs), 1)
    return f"{share:.0%} of its characters cannot be seen" if share > _UNSEEN else ""


def _is_seen(page: Evidence, span: Span) -> bool:
    return page.ink.is_seen(hull(glyph.box for glyph in span.glyphs), span.grey)


def _words_in_picture_reason(page: Evidence) -> str:
    boxes = (glyph.box for glyph in page.glyphs)
    has_words = page.ink.uncovered_within_pt2(page.drawn.pictures, boxes) > _WORD_PT2
    return "a picture on it looks like text that it does not hold" if has_words else ""


def _uncovered_reason(page: Evidence, limit: float) -> str:
    share, _ = page.ink.text_shares(glyph.box for glyph in page.glyphs)
    return f"{share:.1%} of the page looks like text that it does not hold" if share > limit else ""


_OF_THE_SCAN = (_invisible_reason, _pictures_reason, _under_pictures_reason)
_OF_THE_TEXT = (
    _unmapped_reason, _stacked_reason, _doubled_reason, _mojibake_reason, _unlikely_reason, _mixed_reason,
    _in_pieces_reason, _backward_reason, _turned_reason,
)  # fmt: skip
_OF_THE_PAGE = (_mismatched_reason, _out_of_order_reason, _unseen_reason)
# What the page shows besides.
_GAPS = (_lost_reason, partial(_uncovered_reason, limit=_UNCOVERED), _words_in_picture_reason)


def _is_beside(span: Span, other: Span) -> bool:
    """Returns whether two spans overlap by about half."""
    (a0, b0, a1, b1), (c0, d0, c1, d1) = span.box, other.box
    across, down = min(a1, c1) - max(a0, c0), min(b1, d1) - max(b0, d0)
    return across > 0.5 * (a1 - a0) and down > 0.4 * (b1 - b0)
