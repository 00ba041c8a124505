"""Tables of contents and indexes: titles or terms, leaders of many kinds, page numbers, mostly at the right edge."""

import html
from dataclasses import dataclass

from ocr.training.pages.blocks.block_templates import LISTS
from ocr.training.pages.blocks.page_writer import ROMAN, Writer
from ocr.training.pages.words.nonce import alike

_BOLD = 1.25  # how much wider bold text is, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """The look of a level's lines.

    edge: how one is filled up to the right edge: "text" by leaders alone; "page" with the page number flush right;
    "dots" with the leaders flush right too.
    """

    leader: str
    indent_em: float
    bold: bool
    edge: str
    above: str

    def line(self, text: str) -> str:
        text = f"<b>{text}</b>" if self.bold else text
        return f"<p class=line style='margin-left:{self.indent_em}em;{self.above}'>{text}</p>"


def _levels(w: Writer) -> list[_Level]:
    rng, leader = w.rng, w.rng.choice(LISTS["leaders"])
    first = "" if w.chance(0.45) else leader
    bold = w.chance(0.6 if first != leader else 0.15)
    edge, step = rng.choice(["text", "text", "page", "dots"]), rng.choice([0.0, 1.0, 1.5, 1.5, 2.2])
    above = rng.choice(["", "", "margin-top:0.5em;", "margin-top:0.9em;"])
    return [
        _Level(leader=first, indent_em=0.0, bold=bold, edge=edge, above=above),
        _Level(leader=leader, indent_em=step, bold=False, edge=edge, above=""),
        _Level(leader=leader, indent_em=rng.choice([1, 2, 2]) * step, bold=False, edge=edge, above=""),
    ]


def contents(w: Writer) -> str:
    """Returns lines of a table of contents: title, leader, page number."""
    rng, page, levels = w.rng, w.number(2), _levels(w)
    gap = rng.choice([" ", " ", "\u00a0 ", "\u00a0\u00a0\u00a0 ", ". ", "\u2003"])
    numbered, most, word = w.chance(0.7), 12 if w.chance(0.3) else 5, rng.choice(LISTS["contents words"])
    counts = [rng.randint(1, 9), 0, 0]
    labels = rng.choices(["number", "roman", "chapter"], [12, 1, 1])[0]
    entries = f"<h1>{rng.choice(LISTS['contents heads'])}</h1>" if w.chance(0.5) else ""
    for _ in range(rng.randint(4, 26)):
        page += rng.randint(0, 12)
        level = rng.choice([0, 1, 1, 2]) if w.chance(0.8) else 0
        level = level if counts[1] else min(level, 1)  # no 3.0.1
        counts[level] += 1
        counts[level + 1 :] = [0] * (2 - level)
        number = ".".join(map(str, counts[: level + 1])) + gap if numbered else ""
        title = (word if level == 0 else "") + number + w.words(1, most)
        label = f"{counts[0]}-{page % 40 + 1}" if labels == "chapter" else str(page)
        label = ROMAN[page - 1] if labels == "roman" and page <= len(ROMAN) else label
        above, title = _broken(w, title, levels[level].indent_em)
        entries += levels[level].line(above) if above else ""
        entries += _filled(w, title, label, levels[level])
    return entries


def _broken(w: Writer, title: str, indent_em: float) -> tuple[str, str]:
    """Returns the parts of an overlong title: the line above, and the text on the line with the page number."""
    room_pt = 0.8 * (w.width_pt - indent_em * w.size_pt)
    words = title.split(" ")
    if w.measure(title) <= room_pt or len(words) < 3:
        return "", title
    too_wide = (i for i in range(2, len(words)) if w.measure(" ".join(words[: i + 1])) > room_pt)
    end = next(too_wide, len(words) - 1)
    return " ".join(words[:end]), " ".join(words[end:])


def _filled(w: Writer, text: str, page: str, look: _Level) -> str:
    """Returns a line filled up to the right edge: as many leaders as its measured width leaves room for."""
    taken = (w.measure(text) + w.measure(page)) * (_BOLD if look.bold else 1.0)
    free = w.width_pt - look.indent_em * w.size_pt - taken
    if free < 2 * w.measure("m"):
        return f"<p class=left style='margin:0'>{text} {page}</p>"
    fill, step = "", w.measure(look.leader)
    if look.leader and free > 6 * step:
        # Room for a space on each side; one step less, for what kerning changes.
        fill = (look.leader * int((free - 2 * w.measure(" ")) / step * 0.985 - 1)).strip()
        if look.edge == "text":
            return look.line(f"{text} {fill} {page}")
    text, page = (f"<b>{part}</b>" if look.bold else part for part in (text, page))
    flush = "<td style='text-align:right'>"
    beside = f"</td>{flush}{fill}" if fill and look.edge == "dots" else f" {fill}"
    cells = f"<td style='padding-left:{look.indent_em}em'>{text}{beside.rstrip()}</td>{flush}{page}</td>"
    return f"<table class=plain style='width:100%'><tr>{cells}</tr></table>"


_INITIALS = "ABCDEFGHIKLMNOPRSTUVWZ"


def index(w: Writer) -> str:
    """Returns entries of an alphabetical index, perhaps below a letter: all of one form, hanging or indented."""
    rng = w.rng
    names = alike(rng, 12) if w.chance(0.4) else []
    most, digits = rng.choice([1, 2, 5, 12, 30]), rng.choice([3, 3, 4])
    leader = rng.choice(LISTS["index leaders"])
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
        tail = f"–{number + rng.randint(1, 9)}" if w.chance(0.12) else rng.choice("fnt") * w.chance(0.02)
        shown.append(f"{number}{tail}")
    tag, at = rng.choice(["", "", "u", "b", "i"]), rng.randrange(len(shown))
    shown[at] = f"<{tag}>{shown[at]}</{tag}>" if tag else shown[at]
    return ", ".join(shown)
