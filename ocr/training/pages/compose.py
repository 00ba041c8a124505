"""Compose one synthetic page: HTML laid out and typeset by MuPDF, whose text layer is then the truth.

MuPDF breaks lines, kerns, justifies, hyphenates and forms ligatures like a real producer, in a few milliseconds
a page, and the page is later rasterised by the same renderer that production pages go through.
"""

import random

import pymupdf

from ocr.training.pages.fonts import Fonts
from ocr.training.pages.furniture import bands, footer, footnotes, header, margin_note
from ocr.training.pages.genres import MIXED, Form, Genre
from ocr.training.pages.matter.html_blocks import Block, PictureSource, Writer
from ocr.training.pages.nested import notes, outline, plan, rulers
from ocr.training.pages.sheets import Layout
from ocr.training.pages.styles import choose_style
from ocr.training.pages.truth.page_truth import Sheet, UnreadableError
from ocr.training.pages.words.text import BUSINESS, TextSource

__all__ = ["Fonts", "compose", "compose_form"]
MAX_CHARACTERS = 7500
MAX_TOKENS = 2600
_NARROW, _NARROW_SHARE, _WIDE = (
    (0.6, 1.5),
    0.35,
    2.0,
)  # gutters in type sizes; those of spreads are never narrow


def compose(
    rng: random.Random,
    source: TextSource,
    fonts: Fonts,
    *,
    width_pt: float,
    height_pt: float,
    size_pt: float,
    columns: int = 1,
    fill: float = 1.0,
    furniture: bool = True,
    margins: tuple[float, float] | None = None,
    category: str | None = None,
    genre: Genre = MIXED,
    pictures: PictureSource | None = None,
) -> Sheet:
    """A sheet of the given size; its text layer holds the truth in reading order.

    category: of the text source; None draws one. fill: share of the page that is written on; 0 is one block.
    margins: the least and largest share of the width or height each takes; None is as pages have them.

    Raises: UnreadableError where this draw cannot be laid out.
    """
    category = category or _category(rng, source, genre)
    category = "en_tech" if category == "code" else category
    style = choose_style(
        rng, fonts, size_pt, category, mono=genre.mono, tight=columns > 1, leading=genre.leading
    )
    noted = furniture and columns == 1 and rng.random() < genre.margin_notes
    frame = _frame(rng, width_pt, height_pt, right=0.24 if noted else 0.0, margins=margins)
    narrow = columns > 1 and genre.gutter[0] < _WIDE and rng.random() < _NARROW_SHARE
    gap = rng.uniform(*(_NARROW if narrow else genre.gutter)) * size_pt
    writer = Writer(
        rng=rng,
        source=source,
        category=category,
        width_pt=(frame.width - gap * (columns - 1)) / columns,
        size_pt=size_pt,
        columns=columns,
        pictures=pictures,
        measure=style.measure(fonts),
        measure_code=style.measure(fonts, code=True),
    )
    layout = Layout(fonts=fonts, style=style, images=writer.images, width_pt=width_pt, height_pt=height_pt)
    capacity = min(MAX_CHARACTERS, int(_capacity(frame, size_pt) * fill) + 10)
    above, below = bands(frame, size_pt, height_pt)
    furniture = furniture and not genre.plain
    if furniture and rng.random() < 0.35:
        layout.place(header(writer), [above])
    if genre.nested:
        _nested(writer, layout, genre, frame, gap, fill)
    else:
        _body(writer, layout, genre, frame, gap, capacity, notes=furniture and rng.random() < genre.footnotes)
    if noted:
        edge = frame.x1 + 0.8 * size_pt
        top = rng.uniform(frame.y0, frame.y0 + 0.6 * frame.height)
        layout.place(margin_note(writer), [pymupdf.Rect(edge, top, width_pt - 4, top + 0.3 * frame.height)])
    if furniture and rng.random() < 0.5:
        layout.place(footer(writer), [below])
    return layout.finish()


def compose_form(
    rng: random.Random,
    source: TextSource,
    fonts: Fonts,
    form: Form,
    *,
    pictures: PictureSource | None,
) -> Sheet:
    """A sheet of a drawn form, as `compose` makes it. Raises: UnreadableError."""
    return compose(
        rng,
        source,
        fonts,
        width_pt=form.width_pt,
        height_pt=form.height_pt,
        size_pt=form.size_pt,
        columns=form.columns,
        fill=form.fill,
        furniture=form.furniture,
        margins=form.margins,
        genre=form.genre,
        pictures=pictures,
    )


def _category(rng: random.Random, source: TextSource, genre: Genre) -> str:
    """The kind of text: of another language than English for a share of some genres, else as the source has it."""
    if source.languages and rng.random() < genre.foreign:
        return rng.choice(source.languages)
    if BUSINESS in source.paragraphs and rng.random() < genre.business:
        return BUSINESS
    return source.category(rng)


def _capacity(box: pymupdf.Rect, size_pt: float) -> float:
    """About how many characters a box holds."""
    return float(box.width * box.height / (size_pt**2 * 0.62))


def _size(block: Block) -> int:
    """About how many characters' room a block takes."""
    return len(block.visible()) + (600 if block.kind == "image" else 40)


def _frame(
    rng: random.Random, width_pt: float, height_pt: float, right: float, margins: tuple[float, float] | None
) -> pymupdf.Rect:
    """The page without its margins. right: the least share of the width left free at the right."""
    low, high = margins or (0.02 if width_pt < 400 else 0.06, 0.13)
    left, free, top, bottom = (rng.uniform(low, high) for _ in range(4))
    free = max(free, right)
    return pymupdf.Rect(left * width_pt, top * height_pt, (1 - free) * width_pt, (1 - bottom) * height_pt)


def _body(
    w: Writer,
    layout: Layout,
    genre: Genre,
    frame: pymupdf.Rect,
    gap: float,
    capacity: int,
    *,
    notes: bool = False,
    spent: int = 0,
) -> None:
    """The page's matter: what opens it over all columns, the columns, footnotes below them.

    spent: tokens that other parts of the page need.
    """
    column_pt, w.width_pt = w.width_pt, frame.width
    opening = [b for make in genre.first for b in make(w)] if w.chance(genre.first_share) else []
    foot = footnotes(w) if notes else []
    w.width_pt = column_pt
    blocks = _write(w, genre, capacity, spent + sum(map(w.cost, opening + foot)))
    body = pymupdf.Rect(frame)
    if foot:
        body.y1 -= layout.height(foot, frame) + 0.5 * w.size_pt
    if w.columns == 1:
        blocks, opening = opening + blocks, []
    if opening:
        body.y0 = layout.place(opening, [body]) + w.size_pt
    elif capacity < 20:
        body.y0 += w.rng.uniform(0, 0.6) * frame.height
    if body.height < w.size_pt:
        raise UnreadableError("what opens the page leaves no room below it")
    step = w.width_pt + gap
    boxes = [
        pymupdf.Rect(body.x0 + i * step, body.y0, body.x0 + i * step + w.width_pt, body.y1)
        for i in range(w.columns)
    ]
    filled = sum(map(_size, blocks)) / _capacity(body, w.size_pt)
    if w.columns > 1 and filled < 0.8 and w.chance(0.7):  # columns of about the same length
        for box in boxes:
            box.y1 = min(box.y1, box.y0 + box.height * (1.2 * filled + 0.05))
    layout.place(blocks, boxes)
    if foot:
        layout.place(foot, [pymupdf.Rect(frame.x0, body.y1 + 0.5 * w.size_pt, frame.x1, frame.y1 + 1)])


def _nested(w: Writer, layout: Layout, genre: Genre, frame: pymupdf.Rect, gap: float, fill: float) -> None:
    """Pages in the page, with notes at their sides, and running text below them."""
    made = plan(w.rng, frame, w.size_pt, w.columns)
    outline(w, layout, made)
    sides, ruled = (rulers(w, layout, made), True) if w.chance(0.4) else (made.sides, False)
    pad = w.rng.uniform(0.6, 3.0) * w.size_pt
    spent = MAX_TOKENS - int(0.7 * MAX_TOKENS / len(made.pages))
    for page in made.pages:
        inner = pymupdf.Rect(page.x0 + pad, page.y0 + pad, page.x1 - pad, page.y1 - pad)
        w.width_pt = (inner.width - gap * (w.columns - 1)) / w.columns
        _body(w, layout, genre, inner, gap, int(_capacity(inner, w.size_pt) * fill) + 10, spent=spent)
    notes(w, layout, sides, ruled=ruled)
    if made.below.height > 3 * w.size_pt:
        w.columns, w.width_pt = 1, frame.width
        capacity = int(_capacity(made.below, w.size_pt) * fill) + 10
        _body(w, layout, genre, made.below, gap, capacity, spent=int(0.8 * MAX_TOKENS))


def _write(w: Writer, genre: Genre, capacity: int, spent: int) -> list[Block]:
    """Enough blocks for about `capacity` characters, as far as the tokens go of which `spent` are used."""
    table = [
        (m, s) for m, s in genre.blocks if w.pictures or m.__module__ != "ocr.training.pages.matter.figures"
    ]
    # Some kinds of blocks are frequent on one page and absent on another; the first kind is always there.
    shares = [s * w.rng.choice([0.0, 0.3, 1.0, 1.0, 2.5]) if i else s for i, (_, s) in enumerate(table)]
    makers = [m for m, _ in table]
    blocks: list[Block] = []
    written, room = 0, MAX_TOKENS - spent
    while written < capacity:
        for block in w.rng.choices(makers, shares)[0](w):
            room -= w.cost(block)
            if room < 0:
                return blocks or [block]
            blocks.append(block)
            written += _size(block)
    return blocks
