"""Running text: paragraphs, headings, quotations, small print, boxes, references, entries of a dictionary."""

import html
import random
import string
from collections.abc import Callable

from ocr.training.pages.matter.maths import formula
from ocr.training.pages.matter.page_writer import Writer

_TAGS = frozenset("<>")
LIGHT = ("#fff", "#ffd", "#eee", "#def")
DARK = ("#000", "#222", "#036", "#521", "#353", "#444")


def colour(rng: random.Random) -> str:
    """Returns a colour dark enough to read on paper."""
    return "#" + "".join(rng.choices("01234567", k=6))


def small_capitals(words: str) -> str:
    """Returns the words in capitals, all but the first of each word smaller. words: escaped."""
    made = []
    for word in html.unescape(words).split(" "):
        upper = word.upper() if len(word.upper()) == len(word) else word
        made.append(f"{html.escape(upper[:1])}<small>{html.escape(upper[1:])}</small>")
    return " ".join(made)


def spaced_capitals(words: str) -> str:
    """Returns letterspaced capitals, with hair spaces, which are no part of the text."""
    text = html.unescape(words).upper()
    return "\u00a0 ".join(html.escape("\u200a".join(word)) for word in text.split(" "))


_MARKUP: tuple[tuple[Callable[[random.Random, str], str], float], ...] = (
    (lambda rng, words: f"<b>{words}</b>", 5),
    (lambda rng, words: f"<i>{words}</i>", 5),
    (lambda rng, words: f"<b><i>{words}</i></b>", 1),
    (lambda rng, words: f"<code>{words}</code>", 3),
    (lambda rng, words: f"<u>{words}</u>", 1),
    (lambda rng, words: f'<a href="#">{words}</a>', 1.5),
    (lambda rng, words: small_capitals(words), 1),
    (lambda rng, words: f'<span style="color:{colour(rng)}">{words}</span>', 1),
    (lambda rng, words: f"{words}<sup>{rng.randint(1, 99)}</sup>", 2),
    (lambda rng, words: f"{words} [{rng.randint(1, 99)}]", 1),
    (lambda rng, words: f"{words} {formula(rng)}", 2),
    (lambda rng, words: f'<span style="background-color:#ff9">{words}</span>', 0.4),
    (lambda rng, words: f"“{words}”", 1),
)


def inline(w: Writer, text: str, share: float = 0.35) -> str:
    """Returns the escaped text with some of its words set differently."""
    rng = w.rng
    while rng.random() < share:
        words = text.split(" ")
        start = rng.randrange(len(words))
        end = start + rng.randint(1, 6)
        part = " ".join(words[start:end])
        if part and not _TAGS & set(part):
            make = rng.choices([m for m, _ in _MARKUP], [s for _, s in _MARKUP])[0]
            words[start:end] = [make(rng, part)]
            text = " ".join(words)
    return text


def paragraph(w: Writer) -> str:
    return f"<p>{inline(w, w.text())}</p>"


def long_paragraph(w: Writer) -> str:
    text = " ".join(w.text() for _ in range(w.rng.randint(2, 4)))
    return f"<p>{inline(w, text, 0.6)}</p>"


def short_lines(w: Writer) -> str:
    """Returns verse, addresses or dialogue: lines that end where the author wants."""
    lines = "<br>".join(w.words(2, 7) for _ in range(w.rng.randint(2, 8)))
    return f"<p class=left>{lines}</p>"


def mathematics(w: Writer) -> str:
    words = w.text(500).split(" ")
    for _ in range(w.rng.randint(1, 5)):
        words.insert(w.rng.randrange(len(words) + 1), formula(w.rng))
    return f"<p>{' '.join(words)}</p>"


def capitals(w: Writer) -> str:
    return f"<p>{html.escape(html.unescape(w.text(260)).upper())}</p>"


def heading(w: Writer) -> str:
    rng, text = w.rng, w.words(1, 8)
    if w.chance(0.15):
        text = html.escape(html.unescape(text).upper())
    if w.chance(0.35):
        section = rng.choice(["", ".", f".{rng.randint(1, 12)}", f".{rng.randint(1, 12)}.1"])
        text = f"{rng.randint(1, 12)}{section} {text}"
    elif w.chance(0.08):
        part = rng.choice(["Chapter", "Part", "Appendix", "Section"])
        text = f"{part} {rng.choice(['I', 'II', 'IV', 'A', 'B', '7'])} {text}"
    elif w.chance(0.1):
        text = small_capitals(text)
    elif w.chance(0.08) and len(text) < 24:
        text = spaced_capitals(text)
    level = rng.choice([1, 2, 2, 3, 3, 4])
    return f"<h{level}>{text}</h{level}>"


def title(w: Writer) -> str:
    """Returns a page's title, sometimes with its author."""
    made = f"<h1>{w.words(2, 10)}</h1>"
    if w.chance(0.7):
        names = ", ".join(w.words(2, 2) for _ in range(w.rng.randint(1, 4)))
        date = f"<br>{w.value()}" if w.chance(0.5) else ""
        made += f"<p class=centre>{names}{date}</p>"
    return made


def abstract(w: Writer) -> str:
    label = w.rng.choice(["Abstract", "ABSTRACT", "Summary", "Zusammenfassung"])
    if w.chance(0.5):
        return f"<p class=abstract><b>{label}.</b> {w.text(700)}</p>"
    return f"<h4 style='text-align:center'>{label}</h4><p class=abstract>{w.text(700)}</p>"


def quotation(w: Writer) -> str:
    slant = "font-style:italic" if w.chance(0.4) else ""
    return f"<p class=quote style='{slant}'>{w.text(400)}</p>"


def small_print(w: Writer) -> str:
    return f"<p class=small>{w.text(400)}</p>"


def large_print(w: Writer) -> str:
    size = w.rng.uniform(1.5, 3.2)
    return f"<p style='font-size:{size:.1f}em;text-align:center'>{w.words(1, 5)}</p>"


def boxed(w: Writer) -> str:
    """Returns a note on a coloured ground, light on dark for half of them, or in a frame."""
    rng = w.rng
    if rng.random() < 0.55:
        style = f"background-color:{rng.choice(DARK)};color:{rng.choice(LIGHT)}"
    elif rng.random() < 0.6:
        style = f"background-color:#{rng.choice(['ddd', 'eee', 'fec', 'def', 'dfd'])}"
    else:
        style = f"border:{rng.choice([1, 1, 2])}px solid #{rng.choice(['000', '555', '900'])}"
    text = w.words(1, 8) if w.chance(0.4) else w.text(350)
    label = (
        f"<b>{rng.choice(['Note', 'Warning', 'Tip', 'Remark', 'Important'])}:</b> " if w.chance(0.3) else ""
    )
    # In a table cell: the ground of a padded paragraph would reappear at the top of the next column.
    cell = f"<td style='{style};padding:{rng.randint(2, 8)}px'>{label}{text}</td>"
    return f"<table style='width:100%'><tr>{cell}</tr></table>"


def reference(w: Writer) -> str:
    """Returns entries of a bibliography."""
    rng, numbered, start = w.rng, w.chance(0.6), w.rng.randint(1, 60)
    made = ""
    for number in range(rng.randint(1, 6)):
        mark = f"[{start + number}] " if numbered else ""
        pages = f"{rng.randint(1, 400)}–{rng.randint(401, 900)}"
        volume = f"{rng.randint(1, 99)}({rng.randint(1, 12)})"
        where = f"<i>{w.words(2, 6)}</i>, {volume}:{pages}, {rng.randint(1950, 2025)}."
        link = f" https://doi.org/10.{rng.randint(1000, 9999)}/{w.words(1, 1)}.{rng.randint(10, 999)}"
        text = f"{mark}{w.words(2, 2)}, {rng.choice(string.ascii_uppercase)}. {w.words(4, 12)}. {where}"
        text += link if w.chance(0.2) and w.columns == 1 else ""
        made += f"<p class=hang>{text}</p>"
    return made


def entry(w: Writer) -> str:
    """Returns an entry of a dictionary or glossary."""
    rng = w.rng
    kind = rng.choice(["n.", "v.", "adj.", "adv.", "f.", "m.", "pl.", "tr."])
    head = f"<b>{w.words(1, 2)}</b> <i>{kind}</i>"
    senses = [w.sentence(110) for _ in range(rng.randint(1, 3))]
    text = " ".join(f"<b>{i}</b> {s}" for i, s in enumerate(senses, 1)) if len(senses) > 1 else senses[0]
    return f"<p class=hang>{head} {text}</p>"


def rule(w: Writer) -> str:
    """Returns a line across the column, with a paragraph after it."""
    return f"<hr>{paragraph(w)}"
