"""Monospaced matter: program text, numbered lines, shell sessions."""

import html
import string

from ocr.training.pages.blocks.page_writer import Writer
from ocr.training.pages.words.text import code_block, random_word


def preformatted(lines: list[str], style: str = "") -> str:
    """Returns lines as they are, their spaces kept."""
    text = html.escape("\n".join(line or " " for line in lines))
    return f'<pre style="{style}">{text}</pre>' if style else f"<pre>{text}</pre>"


def code(w: Writer) -> str:
    source = w.source.paragraphs.get("code")
    if not source:
        return shell(w)
    lines = code_block(w.rng, source, w.rng.randint(3, 24))
    if w.chance(0.35):
        lines = w.source.nonce("code").disguise(w.rng, "\n".join(lines)).split("\n")
    if w.chance(0.3):
        rule = w.pick("//", "# ", "/* ", "%", "") + w.pick("-", "-", "=", "*", "_") * w.between(5, 90)
        lines.insert(w.rng.randrange(len(lines) + 1), rule)
    lines = [line.expandtabs(4)[: w.fits()].rstrip() for line in lines]
    if w.chance(0.25):
        first = w.rng.choice([1, 1, w.rng.randint(2, 400)])
        width = len(str(first + len(lines)))
        joint = w.rng.choice(["  ", " | ", ": ", " "])
        lines = [
            f"{number:>{width}}{joint}{line}"[: w.fits()] for number, line in enumerate(lines, start=first)
        ]
    style = w.rng.choice(["", "", "", "background-color:#eee", "border:1px solid #777;padding:4px"])
    if w.chance(0.06):
        style = "background-color:#222;color:#eee"
    return preformatted(lines, style=style)


def shell(w: Writer) -> str:
    """Returns a session at a prompt: commands and their output."""
    rng, lines = w.rng, []
    prompt = rng.choice(["$ ", "# ", "> ", ">>> ", "% ", "user@host:~$ ", "C:\\>", "sqlite> "])
    words = _words(w)
    for _ in range(rng.randint(1, 5)):
        options = " ".join(
            rng.choice(
                [
                    f"-{rng.choice(string.ascii_letters)}",
                    f"--{rng.choice(words)}",
                    rng.choice(words),
                    random_word(rng),
                ]
            )
            for _ in range(rng.randint(0, 4))
        )
        lines.append(f"{prompt}{rng.choice(words)} {options}")
        for _ in range(rng.choice([0, 1, 2, 5])):
            lines.append(
                "  ".join(rng.choice([random_word(rng), rng.choice(words)]) for _ in range(rng.randint(1, 5)))
            )
    return preformatted([line[: w.fits()].rstrip() for line in lines])


def _words(w: Writer) -> list[str]:
    text = w.source.paragraph(w.rng, w.category).lower()
    return [word for word in text.split() if word.isalpha()] or ["make", "list"]
