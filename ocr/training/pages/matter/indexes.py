"""Indexes, concordances and lists of values: short entries, and columns of little but numbers."""

import html
from collections.abc import Callable

from ocr.training.pages.matter.html_blocks import Block, Writer
from ocr.training.pages.words.naming import alike

_INITIALS = "ABCDEFGHIKLMNOPRSTUVWZ"
_LEADERS = [", ", ", ", ", ", " ", " . . . . ", " .... ", " . . ", "\u2003", ": "]


def _pages(w: Writer, most: int, digits: int) -> str:
    """Returns numbers and ranges in order, some underlined or bold, as for a term's main entry."""
    rng = w.rng
    numbers = sorted(w.number(digits) for _ in range(most))
    tag = rng.choice(["", "", "u", "b", "i"])
    shown = [
        f"{n}–{n + rng.randint(1, 9)}"
        if w.chance(0.1)
        else f"{n}{rng.choice('fnt')}"
        if w.chance(0.02)
        else str(n)
        for n in numbers
    ]
    if tag:
        at = rng.randrange(len(shown))
        shown[at] = f"<{tag}>{shown[at]}</{tag}>"
    return ", ".join(shown)


def index(w: Writer) -> list[Block]:
    """Returns entries of an alphabetical index with their pages."""
    rng, lines = w.rng, []
    for _ in range(rng.randint(4, 18)):
        pages = ", ".join(
            f"{n}–{n + rng.randint(1, 9)}" if w.chance(0.15) else str(n)
            for n in sorted(w.number(3) for _ in range(rng.choice([1, 1, 2, 3, 5])))
        )
        term = w.words(1, 3)
        term = f"<code>{term}</code>" if w.chance(0.1) else term
        lines.append(f"<p class=entry{rng.choice([0, 0, 1])}>{term}, {pages}</p>")
    return [*_initial(w, 0.3), Block(kind="text", html="".join(lines))]


def _initial(w: Writer, share: float) -> list[Block]:
    return [Block(kind="sub_title", html=f"<h3>{w.rng.choice(_INITIALS)}</h3>")] if w.chance(share) else []


def concordance(w: Writer) -> list[Block]:
    """Returns terms with many pages: most lines are nothing but numbers, deeply indented and often stretched."""
    rng = w.rng
    names, many = alike(rng, 12), rng.choice([4, 12, 30])
    face, leader, digits = (
        rng.choice(["code", "code", "span", "i"]),
        rng.choice(_LEADERS),
        rng.choice([3, 4, 4]),
    )
    room_pt = 0.7 * w.width_pt
    indent = min(rng.choice([1.0, 2.0, 4.0]), 0.3 * w.width_pt / w.size_pt)
    first = rng.choice([indent, indent, 0.0])
    align = rng.choice(["justify", "justify", "left"])
    style = f"margin:0 0 0 {indent:.1f}em;text-indent:-{first:.1f}em;text-align:{align};hyphens:manual"
    lines = []
    for _ in range(rng.randint(2, 9)):
        term = rng.choice(names) if w.chance(0.8) else html.unescape(w.words(1, 2))
        while (
            len(term) > 2 and max(w.measure_code(html.escape(term)), w.measure(html.escape(term))) > room_pt
        ):
            term = term[:-1].rstrip()
        pages = _pages(w, rng.randint(1, many), digits)
        lines.append(f"<p style='{style}'><{face}>{html.escape(term)}</{face}>{leader}{pages}</p>")
    return [*_initial(w, 0.1), Block(kind="text", html="".join(lines))]


def values(w: Writer) -> list[Block]:
    """Returns short entries one below the other: numbers, code points, a number beside a name or another number."""
    rng = w.rng
    start, step = rng.randrange(0, 9000), rng.choice([1, 1, 1, 2, 4, 5, 10, 16])
    digits = rng.randint(1, 4)
    names = alike(rng, 40)
    word = html.unescape(w.words(1, 1))

    def number() -> str:
        return f"{rng.random() * 10 ** rng.randint(0, digits):.{digits % 4}f}"

    kinds: list[Callable[[int], str]] = [
        lambda n: str(start + n * step), lambda n: str(start + n * step), lambda _: str(w.number(5)),
        lambda n: f"U+{start + n:04X}", lambda n: f"0x{start + n * step:04X}", lambda _: number(),
        lambda _: f"{rng.randint(-99, 99)}", lambda n: f"{start + n:08b}", lambda _: html.escape(rng.choice(names)),
        lambda n: f"{rng.randint(1, 31):02}.{n % 12 + 1:02}.{start % 150 + 1900}", lambda _: html.escape(word[:8]),
        lambda n: chr(0x21 + (start + n) % 94).replace("&", "&amp;").replace("<", "&lt;"), lambda n: f"({n + 1})",
    ]  # fmt: skip
    chosen = rng.choices(kinds, k=rng.choice([1, 1, 2, 2, 3]))
    joint = rng.choice([" ", "\u2003", " = ", ", ", ": ", " – ", "\u00a0\u00a0 "])
    count = rng.randint(8, 60)
    rows = [joint.join(kind(n) for kind in chosen) for n in range(count)]
    while len(chosen) > 1 and max(map(w.measure, rows)) > 0.95 * w.width_pt:
        chosen = chosen[:-1]
        rows = [joint.join(kind(n) for kind in chosen) for n in range(count)]
    name = rng.choice(["line", "line", "right", "centre"])
    tag, end = ("<code>", "</code>") if w.chance(0.2) else ("", "")
    lines = [f"<p class={name} style='margin:0'>{tag}{row}{end}</p>" for row in rows]
    return [Block(kind="text", html="".join(lines))]
