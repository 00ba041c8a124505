"""Lists: bullets of many shapes, numbers, nested lists, descriptions, tables of contents and indexes."""

from ocr.training.pages.blocks import Block, Writer
from ocr.training.pages.prose import paragraph, small_capitals

_MARKS = [
    "•",
    "–",
    "—",
    "*",
    "◦",
    "▪",
    "■",
    "●",
    "○",
    "→",
    "✓",
    "★",
    "‣",
    "▶",
    "+",
    "-",
    "∗",
    "·",
    "□",
    "☐",
    "»",
]
_ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"]


def bullets(w: Writer) -> list[Block]:
    """Items as the renderer marks them, nested now and then, with a paragraph after a third of them."""
    items = []
    for _ in range(w.rng.randint(2, 7)):
        inner = ""
        if w.chance(0.15):
            inner = (
                "<ul>" + "".join(f"<li>{w.words(2, 12)}</li>" for _ in range(w.rng.randint(1, 3))) + "</ul>"
            )
        items.append(f"<li>{_item(w)}{inner}</li>")
    if w.chance(0.35):
        html = f'<ol start="{w.rng.choice([1, 1, 1, w.rng.randint(2, 90)])}">{"".join(items)}</ol>'
    else:
        html = f"<ul>{''.join(items)}</ul>"
    made = [Block(kind="list", html=html)]
    return made + paragraph(w) if w.chance(0.3) else made


def _item(w: Writer) -> str:
    text = w.words(2, 22) if w.chance(0.7) else w.text(260)
    return f"<b>{w.words(1, 3)}</b> {text}" if w.chance(0.15) else text


def marked(w: Writer) -> list[Block]:
    """Items whose marks are part of the text, up to three levels deep."""
    rng, levels = w.rng, w.rng.choice([1, 1, 2, 3])
    marks = [_numbering(w) if w.chance(0.4) else None for _ in range(levels)]
    shapes = [rng.choice(_MARKS) for _ in range(levels)]
    counts, level, items = [0] * levels, 0, []
    for _ in range(rng.randint(3, 10)):
        numbers = marks[level]
        mark = numbers[counts[level] % len(numbers)] if numbers else shapes[level]
        counts[level] += 1
        text = _item(w) if w.chance(0.4) else w.words(1, 14)
        items.append(f"<p class=item{level}><span class=mark>{mark}</span> {text}</p>")
        level = max(0, min(levels - 1, level + rng.choice([-2, -1, 0, 0, 1])))
        counts[level + 1 :] = [0] * (levels - level - 1)
    made = [Block(kind="list", html="".join(items))]
    return made + paragraph(w) if w.chance(0.4) else made


def _numbering(w: Writer) -> list[str]:
    style = w.rng.choice(["{}.", "({})", "{})"])
    kinds = [[str(n) for n in range(1, 13)], list("abcdefghijkl"), list("ABCDEFGHIJKL"), _ROMAN]
    return [style.format(name) for name in w.rng.choice(kinds)]


def definitions(w: Writer) -> list[Block]:
    """Commands, options or terms with their meaning, as manuals list them."""
    rng, kind, blocks = w.rng, w.rng.choice(["command", "option", "term", "key"]), []
    for _ in range(rng.randint(2, 6)):
        default = f" (default: <code>{w.value()}</code>)" if w.chance(0.5) else ""
        word, argument = w.words(1, 1), w.words(1, 1)
        head = {
            "command": f"<code>\\{word}{{{argument}}}{rng.choice(['', f'[{argument}]', '{…}'])}</code>",
            "option": f"<code>-{word[:1]}, --{word}{rng.choice(['', f'={argument.upper()}'])}</code>",
            "term": f"<b>{word} {argument}</b>",
            "key": f"<code>{word}</code> = <i>{argument}</i>{default}",
        }[kind]
        text = w.sentence(260)
        if w.chance(0.3):
            html = f"<p class=hang>{head} {text}</p>"
        else:
            html = f"<p class=term>{head}</p><p class=meaning>{text}</p>"
        blocks.append(Block(kind="text", html=html))
    return blocks


def contents(w: Writer) -> list[Block]:
    """Lines of a table of contents: title, leader, page number at the right edge."""
    rng, entries, page = w.rng, [], w.number(2)
    leader = rng.choice([".", ".", " .", " .", " \u00a0.", "·", "_", "", "\u00a0"])
    numbered, long = w.chance(0.7), w.chance(0.3)
    counts = [rng.randint(1, 9), 0, 0]
    for _ in range(rng.randint(4, 16 if leader.strip(".") else 24)):
        page += rng.randint(0, 12)
        level = rng.choice([0, 1, 1, 2]) if w.chance(0.8) else 0
        level = level if counts[1] else min(level, 1)  # no 3.0.1
        counts[level] += 1
        counts[level + 1 :] = [0] * (2 - level)
        number = ".".join(map(str, counts[: level + 1])) + " " if numbered else ""
        title = number + w.words(1, 12 if long else 5)
        bold = level == 0 and w.chance(0.3)
        above, title = _broken(w, title, 1.5 * level)
        entries += [f"<p class=line style='margin-left:{1.5 * level}em'>{above}</p>"] if above else []
        entries.append(_contents_line(w, title, str(page), "" if bold else leader, 1.5 * level, bold))
    head = [
        Block(
            kind="title",
            html=f"<h1>{rng.choice(['Contents', 'Table of Contents', 'Inhalt', 'List of Figures'])}</h1>",
        )
    ]
    return (head if w.chance(0.5) else []) + [Block(kind="text", html="".join(entries))]


def _broken(w: Writer, title: str, indent_em: float) -> tuple[str, str]:
    """What of a title too long for its line stands above, and what on the line with the page number."""
    room_pt = 0.8 * (w.width_pt - indent_em * w.size_pt)
    words = title.split(" ")
    if w.measure(title) <= room_pt or len(words) < 3:
        return "", title
    end = next(
        (i for i in range(2, len(words)) if w.measure(" ".join(words[: i + 1])) > room_pt), len(words) - 1
    )
    return " ".join(words[:end]), " ".join(words[end:])


def _contents_line(w: Writer, text: str, page: str, leader: str, indent_em: float, bold: bool) -> str:
    """A line filled up to the right edge: as many leaders as its measured width leaves room for."""
    free = w.width_pt - indent_em * w.size_pt - w.measure(text) * (1.1 if bold else 1.0) - w.measure(page)
    step = w.measure(leader) if leader else 1.0
    weight = "font-weight:bold" if bold else ""
    if leader.strip() and free > 6 * step:
        # Room for a space on each side; one step less, for what kerning changes.
        fill = leader * int((free - 2 * w.measure(" ")) / step * 0.985 - 1)
        return f"<p class=line style='margin-left:{indent_em}em;{weight}'>{text} {fill.strip()} {page}</p>"
    if free < 2 * w.measure("m"):
        return f"<p class=left style='margin:0'>{text} {page}</p>"
    cells = f"<td style='padding-left:{indent_em}em'>{text}</td><td style='text-align:right'>{page}</td>"
    return f"<table class=plain style='width:100%;{weight}'><tr>{cells}</tr></table>"


def index(w: Writer) -> list[Block]:
    """Entries of an alphabetical index with their pages."""
    rng, lines = w.rng, []
    for _ in range(rng.randint(4, 18)):
        pages = ", ".join(
            f"{n}–{n + rng.randint(1, 9)}" if w.chance(0.15) else str(n)
            for n in sorted(w.number(3) for _ in range(rng.choice([1, 1, 2, 3, 5])))
        )
        term = w.words(1, 3)
        term = f"<code>{term}</code>" if w.chance(0.1) else term
        lines.append(f"<p class=entry{rng.choice([0, 0, 1])}>{term}, {pages}</p>")
    head = []
    if w.chance(0.3):
        head = [Block(kind="sub_title", html=f"<h3>{rng.choice('ABCDEFGHIKLMNOPRSTUVWZ')}</h3>")]
    return [*head, Block(kind="text", html="".join(lines))]


def names(w: Writer) -> list[Block]:
    """One name a line in small capitals, as casts and title pages have them."""
    lines = "<br>".join(small_capitals(w.words(2, 3)) for _ in range(w.rng.randint(2, 7)))
    return [Block(kind="text", html=f"<p class=centre>{lines}</p>")]
