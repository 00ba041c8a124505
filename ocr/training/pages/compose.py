"""Composes one synthetic page: HTML laid out and typeset by MuPDF, whose text layer is then the truth.

MuPDF breaks lines, kerns, justifies, hyphenates and forms ligatures like a real producer, in a few milliseconds
a page, and the page is later rasterised by the same renderer that production pages go through.
"""

import math
import random
from dataclasses import dataclass, field
from typing import Any

import pymupdf

from ocr.training.pages.blocks.makers import block
from ocr.training.pages.blocks.page_writer import Writer, visible
from ocr.training.pages.genres import GENRES, Form, Genre, draw_form
from ocr.training.pages.page_source import PageSource
from ocr.training.pages.page_truth import Sheet, UnreadableError
from ocr.training.pages.styles import Fonts, Style, choose_style
from ocr.training.pages.words.text import BUSINESS, TextSource

_OVER_PT = 1.5  # how far a line may stick out of its box


@dataclass(slots=True, kw_only=True)
class Layout:
    """A sheet in progress, on a display list, not a PDF: in a PDF some fonts' ligatures become other characters.

    images: encoded pictures that blocks refer to, by name.
    """

    fonts: Fonts
    style: Style
    images: dict[str, bytes]
    width_pt: float
    height_pt: float
    _markup: list[str] = field(default_factory=list)
    _drawn: Any = field(init=False)
    _device: Any = field(init=False)

    def __post_init__(self) -> None:
        self._drawn = pymupdf.mupdf.FzDisplayList(pymupdf.mupdf.FzRect(0, 0, self.width_pt, self.height_pt))
        self._device = pymupdf.DeviceWrapper(self._drawn)

    def place(self, blocks: list[str], boxes: list[pymupdf.Rect]) -> float:
        """Draws as much of the blocks as the boxes hold; returns where they end in the last box used.

        Raises UnreadableError if a line is longer than its box is wide.
        """
        story, bottom = self._story(blocks), float(boxes[0].y0)
        self._markup += blocks
        for box in boxes:
            more, filled = story.place(box)
            if filled[2] > box.x1 + _OVER_PT:
                raise UnreadableError("a line is longer than its box is wide")
            story.draw(self._device)
            bottom = float(filled[3])
            if not more:
                break
        return bottom

    def height(self, blocks: list[str], box: pymupdf.Rect) -> float:
        """Returns the height in points of all of the blocks. Raises UnreadableError if the box is too small."""
        more, filled = self._story(blocks).place(box)
        if more:
            raise UnreadableError("too much text for its place")
        return float(filled[3] - box.y0)

    def finish(self) -> Sheet:
        pymupdf.mupdf.fz_close_device(self._device.this)
        return Sheet(
            display=pymupdf.DisplayList(self._drawn),
            width_pt=self.width_pt,
            height_pt=self.height_pt,
            markup="".join(self._markup),
        )

    def _story(self, blocks: list[str]) -> pymupdf.Story:
        language = f" lang={self.style.language}" if self.style.language else ""
        markup = f"<div{language}>{''.join(blocks)}</div>"
        return pymupdf.Story(markup, user_css=self.style.css, archive=self.fonts.archive(self.images))


_SMALL_PX, _SMALL_SCALE = 640, 2.2  # the side of a small sheet, and its pixels a point
_MOST_CHARACTERS = 7500  # of a page: more would take long to lay out
# Gutters in type sizes; those of spreads are never narrow.
_NARROW, _NARROW_SHARE, _WIDE = (0.6, 1.5), 0.35, 2.0


def composed(rng: random.Random, source: PageSource) -> Sheet:
    """Returns a page of a kind drawn at random. Raises: UnreadableError."""
    return compose(rng, source, draw_form(rng))


def small(rng: random.Random, source: PageSource) -> Sheet:
    """Returns a small sheet in large type. Raises: UnreadableError."""
    em_px = math.exp(rng.uniform(math.log(15.0), math.log(36.0)))
    form = Form(
        genre=GENRES[0] if rng.random() < 0.6 else rng.choice(GENRES), width_pt=_SMALL_PX / _SMALL_SCALE,
        height_pt=_SMALL_PX / _SMALL_SCALE, size_pt=em_px / _SMALL_SCALE, columns=1, fill=1.2,
        furniture=False,
    )  # fmt: skip
    return compose(rng, source, form)


def compose(rng: random.Random, source: PageSource, form: Form, category: str | None = None) -> Sheet:
    """Returns a sheet of this form. Raises UnreadableError where this draw cannot be laid out.

    category: of the text source; None draws one.
    """
    genre, size_pt, columns = form.genre, form.size_pt, form.columns
    category = category or category_of(rng, source.text, genre)
    style = choose_style(
        rng, source.fonts, size_pt, category, mono=genre.mono, tight=columns > 1, leading=genre.leading,
        letters=source.text.letters.get(category, frozenset()),
    )  # fmt: skip
    noted = form.furniture and columns == 1 and rng.random() < genre.margin_notes
    frame = _frame(rng, form, right=0.24 if noted else 0.0)
    narrow = columns > 1 and genre.gutter[0] < _WIDE and rng.random() < _NARROW_SHARE
    gap = rng.uniform(*(_NARROW if narrow else genre.gutter)) * size_pt
    writer = Writer(
        rng=rng, source=source.text, pictures=source.pictures, category=category,
        width_pt=(frame.width - gap * (columns - 1)) / columns, size_pt=size_pt, columns=columns,
        measure=style.measure(source.fonts), measure_code=style.measure(source.fonts, code=True),
    )  # fmt: skip
    width, height, images = form.width_pt, form.height_pt, writer.images
    layout = Layout(fonts=source.fonts, style=style, images=images, width_pt=width, height_pt=height)
    above, below = _bands(frame, size_pt, form.height_pt)
    furniture = form.furniture and not genre.plain
    if furniture and rng.random() < genre.headers:
        layout.place([block("header", writer)], [above])
    notes = furniture and rng.random() < genre.footnotes
    _body(writer, layout, genre, frame, gap, form.fill, notes=notes)
    if noted:
        edge = frame.x1 + 0.8 * size_pt
        top = rng.uniform(frame.y0, frame.y0 + 0.6 * frame.height)
        box = pymupdf.Rect(edge, top, form.width_pt - 4, top + 0.3 * frame.height)
        layout.place([block("margin_note", writer)], [box])
    if furniture and rng.random() < 0.5:
        layout.place([block("footer", writer)], [below])
    return layout.finish()


def category_of(rng: random.Random, source: TextSource, genre: Genre) -> str:
    """Returns a kind of text: of another language than English for a share of some genres, else the source's."""
    if source.languages and rng.random() < genre.foreign:
        return rng.choices([*source.languages], [*source.languages.values()])[0]
    if BUSINESS in source.paragraphs and rng.random() < genre.business:
        return BUSINESS
    return source.category(rng)


def _capacity(box: pymupdf.Rect, size_pt: float) -> float:
    """Returns about how many characters a box holds."""
    return float(box.width * box.height / (size_pt**2 * 0.62))


def _size(block: str) -> int:
    """Returns about how many characters' room a block takes."""
    return len(visible(block)) + (600 if "<img" in block else 40)


def _frame(rng: random.Random, form: Form, right: float) -> pymupdf.Rect:
    """Returns the page without its margins. right: the least share of the width left free at the right."""
    low, high = (0.02 if form.width_pt < 400 else 0.06), 0.13
    left, free, top, bottom = (rng.uniform(low, high) for _ in range(4))
    width, height = form.width_pt, form.height_pt
    return pymupdf.Rect(left * width, top * height, (1 - max(free, right)) * width, (1 - bottom) * height)


def _bands(frame: pymupdf.Rect, size_pt: float, height_pt: float) -> tuple[pymupdf.Rect, pymupdf.Rect]:
    """Returns the boxes of a header and a footer: above and below the frame."""
    band = size_pt * 1.6
    above = pymupdf.Rect(frame.x0, max(2, frame.y0 - 1.9 * band), frame.x1, frame.y0 - 0.3 * band)
    below = pymupdf.Rect(frame.x0, frame.y1 + 0.4 * band, frame.x1, min(height_pt - 1, frame.y1 + 2.2 * band))
    return above, below


def _body(
    w: Writer, layout: Layout, genre: Genre, frame: pymupdf.Rect, gap: float, fill: float, *, notes: bool
) -> None:
    """Places the page's matter: what opens it over all columns, the columns, footnotes below them."""
    capacity = min(_MOST_CHARACTERS, int(_capacity(frame, w.size_pt) * fill) + 10)
    column_pt, w.width_pt = w.width_pt, frame.width
    opening = [block(name, w) for name in genre.first] if w.chance(genre.first_share) else []
    foot = [block("footnotes", w)] if notes else []
    w.width_pt = column_pt
    blocks = _write(w, genre, capacity)
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
    if w.columns == 2 and w.chance(genre.numbered):
        layout.place([block("line_numbers", w)], [pymupdf.Rect(boxes[0].x1, body.y0, boxes[1].x0, body.y1)])
    if foot:
        layout.place(foot, [pymupdf.Rect(frame.x0, body.y1 + 0.5 * w.size_pt, frame.x1, frame.y1 + 1)])


def _write(w: Writer, genre: Genre, capacity: int) -> list[str]:
    """Returns enough blocks for about `capacity` characters."""
    # Some kinds of blocks are frequent on one page and absent on another; the first kind is always there.
    shares = [
        share * w.rng.choice([0.0, 0.3, 1.0, 1.0, 2.5]) if i else share
        for i, share in enumerate(genre.blocks.values())
    ]
    blocks: list[str] = []
    written = 0
    while written < capacity:
        blocks.append(block(w.rng.choices(list(genre.blocks), shares)[0], w))
        written += _size(blocks[-1])
    return blocks
