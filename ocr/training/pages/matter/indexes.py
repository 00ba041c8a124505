"""Indexes: terms with their pages, from a short line to many of nothing but numbers."""

import html

from ocr.training.pages.matter.page_writer import Writer
from ocr.training.pages.words.nonce import alike

_INITIALS = "ABCDEFGHIKLMNOPRSTUVWZ"
_LEADERS = [", ", ", ", ", ", " ", " . . . . ", " .... ", " . . ", "\u2003", ": "]


def index(w: Writer) -> str:
    """Returns entries of an alphabetical index, perhaps below a letter: all of one form, hanging or indented."""
    rng = w.rng
    names = alike(rng, 12) if w.chance(0.4) else []
    most, digits, leader = rng.choice([1, 2, 5, 12, 30]), rng.choice([3, 3, 4]), rng.choice(_LEADERS)
    face = rng.choice(["code", "span", "i"]) if names else "span"
    indent = min(rng.choice([1.0, 2.0, 4.0]), 0.3 * w.width_pt / w.size_pt)
    align = rng.choice(["justify", "left"]) if most > 5 else "left"
    first = rng.choice([indent, indent, 0.0])
    style = f"margin:0 0 0 {indent:.1f}em;text-indent:-{first:.1f}em;text-align:{align};hyphens:manual"
    entries = f"<h3>{rng.choice(_INITIALS)}</h3>" if w.chance(0.2) else ""
    for _ in range(rng.randint(4, 18) if most < 12 else rng.randint(2, 9)):
        term = _shortened(w, rng.choice(names) if names else html.unescape(w.words(1, 3)))
        entries += f"<p style='{style}'><{face}>{term}</{face}>{leader}{_pages(w, most, digits)}</p>"
    return entries


def _shortened(w: Writer, term: str) -> str:
    """Returns as much of a term as leaves room beside it; escaped."""
    room_pt = 0.7 * w.width_pt
    while len(term) > 2 and max(m(html.escape(term)) for m in (w.measure, w.measure_code)) > room_pt:
        term = term[:-1].rstrip()
    return html.escape(term)


def _pages(w: Writer, most: int, digits: int) -> str:
    """Returns numbers and ranges in order, some underlined or bold, as for a term's main entry."""
    rng = w.rng
    shown = []
    for number in sorted(w.number(digits) for _ in range(rng.randint(1, most))):
        tail = (
            f"–{number + rng.randint(1, 9)}"
            if w.chance(0.12)
            else rng.choice("fnt")
            if w.chance(0.02)
            else ""
        )
        shown.append(f"{number}{tail}")
    tag, at = rng.choice(["", "", "u", "b", "i"]), rng.randrange(len(shown))
    shown[at] = f"<{tag}>{shown[at]}</{tag}>" if tag else shown[at]
    return ", ".join(shown)
