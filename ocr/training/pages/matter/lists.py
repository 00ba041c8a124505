"""Lists: bullets of many shapes, numbers, nested lists, descriptions."""

from ocr.training.pages.matter.page_writer import ROMAN, Writer
from ocr.training.pages.matter.prose import paragraph, small_capitals

_MARKS = [
    "•", "–", "—", "*", "◦", "▪", "■", "●", "○", "→", "✓", "★", "‣", "▶", "+", "-", "∗", "·", "□", "☐", "»",
]  # fmt: skip


def bullets(w: Writer) -> str:
    """Returns items as the renderer marks them, sometimes nested, with a paragraph after a third of them."""
    items = []
    for _ in range(w.rng.randint(2, 7)):
        inner = ""
        if w.chance(0.15):
            inner = (
                "<ul>" + "".join(f"<li>{w.words(2, 12)}</li>" for _ in range(w.rng.randint(1, 3))) + "</ul>"
            )
        items.append(f"<li>{_item(w)}{inner}</li>")
    if w.chance(0.35):
        made = f'<ol start="{w.rng.choice([1, 1, 1, w.rng.randint(2, 90)])}">{"".join(items)}</ol>'
    else:
        made = f"<ul>{''.join(items)}</ul>"
    return made + paragraph(w) if w.chance(0.3) else made


def _item(w: Writer) -> str:
    text = w.words(2, 22) if w.chance(0.7) else w.text(260)
    return f"<b>{w.words(1, 3)}</b> {text}" if w.chance(0.15) else text


def marked(w: Writer) -> str:
    """Returns items whose marks are part of the text, up to three levels deep."""
    rng, levels = w.rng, w.rng.choice([1, 1, 2, 3])
    marks = [_numbering(w) if w.chance(0.4) else None for _ in range(levels)]
    shapes = [rng.choice(_MARKS) for _ in range(levels)]
    counts, level, items = [0] * levels, 0, []
    for _ in range(rng.randint(3, 10)):
        numbers = marks[level]
        mark = numbers[counts[level] % len(numbers)] if numbers else shapes[level]
        counts[level] += 1
        text = _item(w) if w.chance(0.4) else w.words(1, 14)
        items.append(f"<p class=item{level}>{mark} {text}</p>")
        level = max(0, min(levels - 1, level + rng.choice([-2, -1, 0, 0, 1])))
        counts[level + 1 :] = [0] * (levels - level - 1)
    return "".join(items) + (paragraph(w) if w.chance(0.4) else "")


def _numbering(w: Writer) -> list[str]:
    style = w.rng.choice(["{}.", "({})", "{})"])
    kinds = [[str(n) for n in range(1, 13)], list("abcdefghijkl"), list("ABCDEFGHIJKL"), ROMAN[:12]]
    return [style.format(name) for name in w.rng.choice(kinds)]


def definitions(w: Writer) -> str:
    """Returns commands, options or terms with their meaning, as manuals list them."""
    rng, kind, made = w.rng, w.rng.choice(["command", "option", "term", "key"]), ""
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
        hanging = w.chance(0.3)
        made += f"<p class={'hang' if hanging else 'term'}>{head}"
        made += f" {text}</p>" if hanging else f"</p><p class=meaning>{text}</p>"
    return made


def names(w: Writer) -> str:
    """Returns one name per line in small capitals, as in casts and on title pages."""
    lines = "<br>".join(small_capitals(w.words(2, 3)) for _ in range(w.rng.randint(2, 7)))
    return f"<p class=centre>{lines}</p>"
