"""Kinds of pages: their sizes, columns, type sizes, and what stands on them how often."""

import math
import random
from dataclasses import dataclass

from ocr.training.pages.furniture import figure, logo
from ocr.training.pages.matter.contents import contents, index
from ocr.training.pages.matter.listings import code, mail, shell
from ocr.training.pages.matter.lists import bullets, definitions, marked, names
from ocr.training.pages.matter.maths import display
from ocr.training.pages.matter.page_writer import Maker
from ocr.training.pages.matter.prose import (  # fmt: skip
    abstract,
    boxed,
    capitals,
    entry,
    heading,
    large_print,
    long_paragraph,
    mathematics,
    paragraph,
    quotation,
    reference,
    rule,
    short_lines,
    small_print,
    title,
)
from ocr.training.pages.tabular.records import form, invoice, letter, wrapped
from ocr.training.pages.tabular.slips import slip
from ocr.training.pages.tabular.tables import table

A4, LETTER, A5, TRADE = (595, 842), (612, 792), (420, 595), (432, 648)
WIDE, SLIDE, SQUARE = (842, 595), (720, 405), (500, 500)

Size = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Genre:
    """share: of pages. formats: (width, height) in points with weights. columns: weights of one, two, three and more.

    sizes_pt: of the running text, drawn evenly on a logarithmic scale. blocks: makers with weights; first:
    makers whose blocks open a share of the pages, over all columns. fills: shares of the page that are written on.
    foreign, business: shares of pages that are surely in another language than English, or of names, addresses and
    goods. footnotes, margin_notes: shares of pages with them. leading: of lines, in type sizes; gutter: between
    columns, likewise. mono: typewritten; plain: no headers and footers.
    """

    name: str
    share: float
    formats: tuple[tuple[Size, float], ...]
    columns: tuple[float, ...] = (1.0,)
    sizes_pt: tuple[float, float] = (8.0, 12.5)
    blocks: tuple[tuple[Maker, float], ...]
    first: tuple[Maker, ...] = ()
    first_share: float = 1.0
    fills: tuple[float, ...] = (1.2, 1.2, 1.2, 0.7, 0.3)
    foreign: float = 0.0
    business: float = 0.0
    leading: tuple[float, float] = (1.05, 1.5)
    gutter: tuple[float, float] = (1.2, 3.0)
    footnotes: float = 0.0
    margin_notes: float = 0.0
    mono: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The parameters of one page for compose, drawn from a genre.

    furniture: whether there may be headers, footers and notes.
    """

    genre: Genre
    width_pt: float
    height_pt: float
    size_pt: float
    columns: int
    fill: float
    furniture: bool = True


_PORTRAIT = ((A4, 10.0), (LETTER, 8.0), (A5, 1.5), (TRADE, 1.0))
_OFFICE = ((A4, 10.0), (LETTER, 8.0))

MIXED = Genre(
    name="mixed", share=0.16,
    formats=((A4, 10), (LETTER, 8), (WIDE, 1.5), (A5, 2), (SLIDE, 0.7), (SQUARE, 0.7), ((330, 900), 0.5)),
    columns=(0.72, 0.24, 0.04), sizes_pt=(7.0, 13.5), fills=(1.2, 1.2, 1.2, 0.7, 0.3, 0.08), footnotes=0.06,
    margin_notes=0.05,
    blocks=(
        (paragraph, 8), (heading, 2), (bullets, 0.5), (marked, 0.5), (table, 1.8), (code, 0.6), (form, 0.4),
        (small_print, 0.4), (quotation, 0.3), (boxed, 0.5), (rule, 0.3), (figure, 0.6), (mathematics, 0.5),
        (capitals, 0.15), (short_lines, 0.3), (definitions, 0.3), (logo, 0.15), (mail, 0.2), (large_print, 0.1),
        (long_paragraph, 0.3), (reference, 0.1), (index, 0.1), (wrapped, 0.6),
    ),
)  # fmt: skip

GENRES = (
    MIXED,
    Genre(
        name="book", share=0.09, formats=((A5, 5), (TRADE, 5), (A4, 3), (LETTER, 3)), sizes_pt=(8.5, 12.5),
        footnotes=0.3, margin_notes=0.05, fills=(1.2, 1.2, 1.2, 1.2, 0.6),
        blocks=(
            (paragraph, 8), (long_paragraph, 2), (heading, 0.8), (quotation, 0.7), (short_lines, 0.5), (figure, 0.2),
            (rule, 0.2), (marked, 0.2), (bullets, 0.2),
        ),
    ),
    Genre(
        name="paper", share=0.15, formats=_OFFICE, columns=(0.25, 0.75, 0.0), sizes_pt=(6.0, 10.5),
        first=(title, abstract), first_share=0.4, footnotes=0.25, fills=(1.2,),
        blocks=(
            (paragraph, 7), (mathematics, 2), (display, 1.5), (heading, 1.6), (figure, 0.6), (table, 0.7),
            (reference, 1), (marked, 0.3), (bullets, 0.3), (boxed, 0.1), (code, 0.15),
        ),
    ),
    Genre(
        name="manual", share=0.08, formats=_PORTRAIT, columns=(0.93, 0.07, 0.0), sizes_pt=(7.5, 11.5), footnotes=0.12,
        margin_notes=0.1,
        blocks=(
            (paragraph, 5), (heading, 1.8), (definitions, 2.5), (code, 2.6), (marked, 1), (bullets, 1), (table, 2.5),
            (boxed, 0.5), (shell, 0.9), (figure, 0.3), (mail, 0.1), (wrapped, 1.3),
        ),
    ),
    Genre(
        name="dense", share=0.07, formats=_OFFICE, columns=(0.1, 0.6, 0.2, 0.1), sizes_pt=(5.2, 8.5), fills=(1.2,),
        first=(title,), first_share=0.2, footnotes=0.1,
        blocks=(
            (paragraph, 6), (long_paragraph, 2), (heading, 0.7), (reference, 1), (small_print, 1), (definitions, 0.5),
            (table, 0.4), (marked, 0.3), (contents, 0.3), (wrapped, 0.3), (mathematics, 0.4),
        ),
    ),
    Genre(
        name="contents", share=0.08, formats=_PORTRAIT, columns=(0.62, 0.38), sizes_pt=(7.0, 12.0),
        blocks=((contents, 5), (heading, 0.5), (paragraph, 0.3), (names, 0.2)), fills=(1.2, 0.7, 0.4),
    ),
    Genre(
        name="index", share=0.09, formats=_PORTRAIT, columns=(0.08, 0.44, 0.3, 0.12, 0.04, 0.02), sizes_pt=(6.0, 9.5),
        blocks=((index, 8), (table, 2), (heading, 0.3)),
    ),
    Genre(
        name="dictionary", share=0.03, formats=_PORTRAIT, columns=(0.15, 0.65, 0.2), sizes_pt=(6.5, 9.0), foreign=0.1,
        blocks=((entry, 8), (heading, 0.3), (figure, 0.1)),
    ),
    Genre(
        name="newspaper", share=0.08, formats=((A4, 3), (LETTER, 3), ((640, 900), 3)), columns=(0.0, 0.35, 0.45, 0.2),
        sizes_pt=(5.5, 9.0), first=(title,), first_share=0.6, fills=(1.2,),
        blocks=((paragraph, 7), (heading, 1), (figure, 0.7), (quotation, 0.3), (large_print, 0.1), (boxed, 0.3)),
    ),
    Genre(
        name="letter", share=0.05, business=0.15, formats=_OFFICE, sizes_pt=(9.0, 12.5), first=(letter,), foreign=0.4,
        blocks=((paragraph, 1), (small_print, 0.3), (logo, 0.1)), fills=(0.3, 0.5, 0.05),
    ),
    Genre(
        name="receipt", share=0.08, plain=True, mono=True, sizes_pt=(6.0, 11.0), fills=(0.02,), business=0.75,
        leading=(1.0, 1.5),
        formats=(
            ((200, 420), 2), ((230, 560), 2), ((220, 760), 2), ((180, 900), 1), ((300, 420), 1), ((165, 950), 0.5),
            ((300, 760), 1.5), ((320, 560), 1.5),
        ),
        blocks=((slip, 9), (logo, 0.3), (form, 0.3)),
    ),
    Genre(
        name="typescript", share=0.05, mono=True, sizes_pt=(9.0, 12.5), leading=(1.0, 2.3), foreign=0.3, business=0.1,
        formats=((A4, 10), (LETTER, 8), (A5, 1.5)), fills=(1.2, 1.2, 0.7, 0.3),
        blocks=(
            (paragraph, 7), (heading, 0.8), (short_lines, 0.7), (capitals, 0.5), (table, 0.7), (form, 0.4),
            (letter, 0.5), (marked, 0.4), (names, 0.3), (quotation, 0.3), (rule, 0.1),
        ),
    ),
    Genre(
        name="spread", share=0.04, formats=((WIDE, 5), ((780, 540), 3), ((900, 620), 2)), columns=(0.0, 0.8, 0.0, 0.2),
        sizes_pt=(5.5, 8.5), gutter=(3.0, 9.0), fills=(1.2, 1.2, 0.9),
        blocks=(
            (paragraph, 8), (long_paragraph, 2), (heading, 0.8), (quotation, 0.4), (short_lines, 0.4), (figure, 0.4),
            (table, 0.2), (marked, 0.2), (definitions, 0.2),
        ),
    ),
    Genre(
        name="form", share=0.03, business=0.35, formats=_OFFICE, sizes_pt=(7.5, 11.0),
        blocks=((form, 4), (table, 2.5), (heading, 1), (small_print, 0.7), (boxed, 0.4), (logo, 0.2)),
    ),
    Genre(
        name="invoice", share=0.04, business=0.6, formats=_OFFICE, sizes_pt=(8.0, 11.0), first=(invoice,),
        fills=(0.02, 0.2),
        blocks=((small_print, 1), (paragraph, 0.5), (table, 0.5), (logo, 0.3)),
    ),
    Genre(
        name="slides", share=0.04, sizes_pt=(12.0, 24.0), fills=(0.8, 0.5, 0.3, 0.1), first=(heading,), first_share=0.8,
        formats=((SLIDE, 4), ((720, 540), 3), ((960, 540), 1)),
        blocks=(
            (marked, 3), (bullets, 2), (paragraph, 1), (heading, 0.7), (figure, 1), (table, 0.4), (display, 0.3),
            (code, 0.3), (boxed, 0.4), (large_print, 0.3), (logo, 0.3),
        ),
    ),
    Genre(
        name="listing", share=0.02, formats=_PORTRAIT, sizes_pt=(7.5, 10.5),
        blocks=((code, 8), (shell, 3), (paragraph, 0.7), (heading, 0.4)),
    ),
    Genre(
        name="poster", share=0.02, sizes_pt=(14.0, 26.0), plain=True, fills=(0.5, 0.3, 0.15),
        formats=((A4, 3), (LETTER, 3), (SQUARE, 2), (WIDE, 1)),
        blocks=(
            (large_print, 3), (short_lines, 1), (paragraph, 0.6), (figure, 0.7), (boxed, 1), (names, 0.5), (logo, 0.5),
        ),
    ),
    Genre(
        name="tables", share=0.16, formats=(*_OFFICE, (WIDE, 5)), sizes_pt=(6.0, 10.5), foreign=0.1,
        blocks=(
            (table, 19), (wrapped, 10), (heading, 0.5), (paragraph, 0.7), (small_print, 0.3),
        ),
    ),
    Genre(
        name="sparse", share=0.04, plain=True, sizes_pt=(7.0, 20.0), fills=(0.001,),
        formats=(
            (A4, 6), (LETTER, 5), (A5, 2), (WIDE, 2), (SLIDE, 2), ((900, 150), 1), ((700, 200), 1), ((240, 900), 1),
        ),
        blocks=(
            (heading, 2), (large_print, 2), (short_lines, 1), (boxed, 0.7), (display, 0.5), (small_print, 0.5),
            (form, 0.3),
        ),
    ),
    Genre(
        name="card", share=0.08, plain=True, sizes_pt=(7.0, 14.0), fills=(1.2, 1.2, 0.7, 0.4), foreign=0.05,
        formats=(
            ((420, 298), 5), ((298, 420), 2), ((480, 330), 2), ((360, 240), 1.5), ((550, 390), 1.5), ((340, 200), 0.5),
            ((800, 250), 2), ((900, 320), 2), ((900, 160), 1), ((250, 800), 2), ((300, 500), 2), ((160, 700), 1),
        ),
        blocks=(
            (paragraph, 6), (heading, 1.5), (short_lines, 1), (marked, 0.7), (bullets, 0.7), (form, 0.6), (table, 1),
            (quotation, 0.5), (boxed, 0.3), (logo, 0.2), (letter, 0.3),
        ),
    ),
)  # fmt: skip


def draw_form(rng: random.Random) -> Form:
    """Returns the form of one page."""
    genre = rng.choices(GENRES, [g.share for g in GENRES])[0]
    width, height = rng.choices([f for f, _ in genre.formats], [s for _, s in genre.formats])[0]
    columns = rng.choices(range(1, len(genre.columns) + 1), genre.columns)[0] if width > 400 else 1
    low, high = genre.sizes_pt
    size = math.exp(rng.uniform(math.log(low), math.log(high)))
    if columns > 1:
        size = min(size, 11.0)
    elif not genre.plain and rng.random() < 0.04:
        size = rng.uniform(6.0, 20.0)
    return Form(
        genre=genre,
        width_pt=width,
        height_pt=height,
        size_pt=size,
        columns=columns,
        fill=rng.choice(genre.fills),
    )
