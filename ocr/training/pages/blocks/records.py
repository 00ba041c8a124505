"""Tables whose cells take several lines, in prose and in code."""

import html
import string

from ocr.training.pages.blocks.page_writer import Writer
from ocr.training.pages.blocks.tables import captioned, grid
from ocr.training.pages.words.nonce import alike, stem

_PADDING_PT = 13.0  # both sides of a cell, at most, with its rule
_BOLD = 1.15  # how much wider bold text is


def wrapped(w: Writer) -> str:
    """Returns cells of one to four lines in two to six columns."""
    rng = w.rng
    scale = rng.choice([1.0, 1.0, 1.0, 0.9, 0.8])
    count = rng.randint(2, max(2, min(6, int(w.width_pt / (w.size_pt * scale * 6.5)))))
    percents = _percents(w, count)
    rooms = [(percent * w.width_pt / 100 - _PADDING_PT) / scale for percent in percents]
    lines = [rng.choice([0.8, 1.6, 2.6, 3.6]) for _ in range(count)]
    code = [w.chance(0.35) for _ in range(count)]
    code[-1 if w.chance(0.7) else rng.randrange(count)] = False
    options = (f"-{rng.choice(string.ascii_letters)}" for _ in range(5))
    words = [*alike(rng, 20), *options, "ALL", "|", stem(rng)]
    rows = [[_fitted(w, w.words(1, 3).split(" "), room / _BOLD, 2, code=False) for room in rooms]]
    for _ in range(rng.randint(3, 14)):
        row = []
        for number, (room, most, typed) in enumerate(zip(rooms, lines, code, strict=True)):
            text = rng.choices(words, k=rng.randint(1, 6)) if typed else w.words(1, 16).split(" ")
            cell = _fitted(w, list(map(html.unescape, text)), room, most, code=typed)
            row.append("" if number and w.chance(0.04) else f"<code>{cell}</code>" if typed else cell)
        rows.append(row)
    return captioned(w, grid(w, rows, [False] * count, percents=percents, scale=scale), share=0.2)


def _percents(w: Writer, count: int) -> list[int]:
    weights = [w.rng.choice([1.0, 1.0, 1.6, 2.4]) for _ in range(count)]
    percents = [int(100 * max(0.6 / count, weight / sum(weights))) for weight in weights]
    return [percent * 100 // max(100, sum(percents)) for percent in percents]


def _fitted(w: Writer, words: list[str], room_pt: float, lines: float, *, code: bool) -> str:
    """Returns as many of the words as fill about this many lines, each cut to the width of a line; escaped."""
    measure = w.measure_code if code else w.measure
    kept: list[str] = []
    free = lines * room_pt
    for word in words:
        width = measure(html.escape(word))
        if width > room_pt:
            word = word[: max(1, int(len(word) * room_pt / width * 0.9))]
            width = room_pt
        free -= width + measure("n")
        if kept and free < 0:
            break
        kept.append(word)
    return html.escape(" ".join(kept))
