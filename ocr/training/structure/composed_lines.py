"""Pages of lines with their truth, composed and not drawn: single genres, pages nested of several, forms of boxes."""

import base64
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ocr.training.pages.compose import compose
from ocr.training.pages.fonts import Fonts
from ocr.training.pages.genres import GENRES, Form, draw_form
from ocr.training.pages.page_source import USELESS_DRAW, PageSource
from ocr.training.pages.words.text import TextSource
from ocr.training.structure.line_noise import found
from ocr.training.structure.true_lines import ROLES, Place, TrueLine, true_lines

HELD_OUT = frozenset({"newspaper", "dictionary", "invoice", "receipt"})
_NESTED, _BOXES = 0.2, 0.08  # shares of pages
_INNER = ("mixed", "book", "paper", "manual", "letter", "form", "tables", "card", "contents", "slides")
_FEWEST, _MOST = 2, 400  # lines of a page
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buVgAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePage:
    """A page's lines in reading order. genre: its name, `nested` or `boxes`."""

    genre: str
    width_pt: float
    height_pt: float
    lines: tuple[TrueLine, ...]


class _NoPictures:
    def png(self, rng: random.Random, width_px: int, height_px: int) -> bytes:
        return _PIXEL  # the markup says how large it is


class LineSource(PageSource):
    """The texts and typefaces of one split of a corpus; its pictures are blank."""

    def __init__(self, folder: Path, split: str = "train") -> None:
        self.text = TextSource(folder / "text", split)
        self.fonts = Fonts(folder / "fonts", "train")
        self.pictures = _NoPictures()  # type: ignore[assignment]
        self.documents = []


def line_pages(
    rng: random.Random, source: PageSource, *, uses: int = 1, held_out: bool = False
) -> list[LinePage]:
    """Returns one page as found several times, each time otherwise; none where it cannot be used.

    held_out: of the genres in HELD_OUT alone; otherwise of all others.
    """
    try:
        page = composed_page(rng, source, held_out=held_out)
    except USELESS_DRAW:
        return []
    seen = (replace(page, lines=tuple(found(rng, page.lines, page.width_pt))) for _ in range(uses))
    return [each for each in seen if _FEWEST <= len(each.lines) <= _MOST]


def composed_page(rng: random.Random, source: PageSource, *, held_out: bool = False) -> LinePage:
    """Returns a page's lines as typeset. Raises what USELESS_DRAW names."""
    kind = 1.0 if held_out else rng.random()
    if kind < _NESTED:
        return _nested(rng, source)
    if kind < _NESTED + _BOXES:
        return _boxes(rng, source)
    form = draw_form(rng)
    while (form.genre.name in HELD_OUT) != held_out:
        form = draw_form(rng)
    return _single(rng, source, form)


def _single(rng: random.Random, source: PageSource, form: Form) -> LinePage:
    lines = true_lines(compose(rng, source, form))
    return LinePage(
        genre=form.genre.name, width_pt=form.width_pt, height_pt=form.height_pt, lines=tuple(lines)
    )


def _nested(rng: random.Random, source: PageSource) -> LinePage:
    """Returns bands one below the other, each of up to three regions side by side, a region of up to two parts.

    Bands are further apart than parts, so that the page shows what belongs together.
    """
    width, size = rng.choice([595.0, 612.0, 842.0, 700.0]), rng.uniform(6.0, 10.0)
    gap, between = rng.uniform(1.0, 4.0) * size, rng.uniform(0.8, 1.5) * size
    lines: list[TrueLine] = []
    y, least = rng.uniform(0.03, 0.08) * width, rng.uniform(0.04, 0.1) * width
    for _ in range(rng.randint(1, 4)):
        shares = [rng.choice([1.0, 1.0, 1.5, 2.0]) for _ in range(rng.choice([1, 2, 2, 3]))]
        x, foot = least, y
        for share in shares:
            wide = (width - 2 * least - gap * (len(shares) - 1)) * share / sum(shares)
            top = y
            for _ in range(rng.choice([1, 1, 1, 2])):
                part = _part(rng, source, wide, size)
                lines += (placed := _moved(part, x, top, lines))
                top = max(line.base for line in placed) + 0.25 * size + between
            foot, x = max(foot, top - between), x + wide + gap
        y = foot + rng.uniform(1.5, 4.0) * size
    return LinePage(genre="nested", width_pt=width, height_pt=y + least, lines=tuple(lines))


def _part(rng: random.Random, source: PageSource, width_pt: float, size_pt: float) -> Sequence[TrueLine]:
    """Returns the lines of a small page without furniture."""
    name = rng.choice(_INNER)
    form = Form(
        genre=next(genre for genre in GENRES if genre.name == name),
        width_pt=width_pt * 1.12,
        height_pt=rng.uniform(0.15, 0.7) * 600,
        size_pt=size_pt * rng.choice([1.0, 1.0, 1.0, 0.85]),
        columns=2 if width_pt > 30 * size_pt and rng.random() < 0.3 else 1,
        fill=rng.choice([0.9, 0.5, 0.2, 0.05]),
        furniture=False,
    )
    return _single(rng, source, form).lines


def _moved(part: Sequence[TrueLine], x: float, top: float, before: Sequence[TrueLine]) -> list[TrueLine]:
    """Returns lines of a part with their upper left corner elsewhere, numbered after those before."""
    right, down = x - min(line.x0 for line in part), top - min(line.base - 0.8 * line.size for line in part)
    block = max((line.place.block for line in before), default=0) + 1
    table = max((line.place.table for line in before), default=0) + 1
    return [
        replace(
            line,
            x0=line.x0 + right,
            x1=line.x1 + right,
            base=line.base + down,
            words=tuple((a + right, b + right) for a, b in line.words),
            place=replace(
                line.place,
                block=line.place.block + block,
                table=line.place.table + table if line.place.table >= 0 else -1,
            ),
        )
        for line in part
    ]


def _boxes(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a form of boxes: rows of labels, each with what was filled in below or beside it."""
    width, size = rng.choice([595.0, 612.0, 420.0]), rng.uniform(6.0, 9.0)
    category = source.text.category(rng)
    left, lines, block = rng.uniform(0.05, 0.1) * width, list[TrueLine](), 0
    y = rng.uniform(0.05, 0.15) * width
    answer = rng.choice([1.0, 1.2, 1.35])
    beside, filled = rng.random() < 0.25, rng.choice([0.95, 0.8, 0.4])

    def put(x: float, base: float, scale: float, low: int, high: int) -> float:
        em = size * scale
        text = source.text.phrase(rng, category, rng.randint(low, high))
        words, at = list[tuple[float, float]](), x
        kept = []
        for word in text.split():
            end = at + sum(0.3 if c in "iljt.,:;'!|" else 0.55 for c in word) * em
            if words and end > room:
                break
            words.append((at, end))
            kept.append(word)
            at = end + 0.27 * em
        if words:
            own, role = tuple(words), ROLES.index("form")
            ends = {"x0": x, "x1": own[-1][1], "base": base, "size": em}
            place = Place(block, role)
            lines.append(TrueLine(text=" ".join(kept), words=own, place=place, order=len(lines), **ends))
        return words[-1][1] if words else x

    for _ in range(rng.randint(3, 14)):
        across, high = rng.choice([1, 2, 2, 3, 4]), rng.uniform(2.6, 4.2) * size
        wide = (width - 2 * left) / across
        for place in range(across):
            block, x = block + 1, left + place * wide + 0.4 * size
            room = left + (place + 1) * wide - 0.5 * size
            end = put(x, y + 1.0 * size, 1.0, 1, 4)
            if rng.random() < filled:
                at = (end + size, y + size) if beside else (x + rng.uniform(0, 1) * size, y + 2.3 * size)
                put(*at, answer, 1, 5)
        y += high
    return LinePage(genre="boxes", width_pt=width, height_pt=max(y + 40, width), lines=tuple(lines))
