"""Composes pages of articles by number: the same page for the same number, all kinds in turn."""

import random
from collections.abc import Callable, Iterator

from tests.articles.blocks import Piece, stack, together
from tests.articles.floats import RULES, table
from tests.articles.layouts import Article, Frame, fill, floating


def _plain(frame: Frame) -> None:
    frame.title()
    frame.columns(frame.flow(), frame.foot)


def _crossed(what: str, place: str) -> Callable[[Frame], None]:
    """A float over all columns at the top or the foot of the page, or in its middle."""

    def lay(frame: Frame) -> None:
        if frame.rng.random() < 0.4 and place != "top":
            frame.title()
        text, span = frame.flow(), frame.span(what)
        if place == "top":
            frame.across(span)
            frame.columns(text, frame.foot)
            return
        high = sum(piece.height + piece.space for piece in span) + 3 * frame.setter.size
        if place == "foot":
            frame.columns(text, frame.foot - high)
            frame.across(span)
            return
        room = frame.foot - frame.top - high
        frame.columns(text, frame.top + frame.rng.uniform(0.2, 0.8) * room)
        frame.across(span)
        frame.columns(text, frame.foot)

    return lay


def _floats(what: str) -> Callable[[Frame], None]:
    """Floats as wide as a column, among its text."""

    def lay(frame: Frame) -> None:
        if frame.rng.random() < 0.4:
            frame.title()
        first = frame.rng.randint(0, 3)

        def extras(number: int) -> list[Piece]:
            return [together(floating(frame, frame.column, what))] if number % 4 == first else []

        frame.columns(frame.flow(extras), frame.foot)

    return lay


def _partly_crossed(frame: Frame) -> None:
    """A float over two of three columns, above them; the third has text from the top on."""
    text = frame.flow()
    wide = 2 * frame.column + frame.gutter
    span = floating(frame, wide, frame.rng.choice(("table", "figure")))
    y = stack(frame.sheet, span, frame.left, frame.top) + frame.setter.size
    for index, x in enumerate(frame.starts):
        fill(frame.sheet, text, x, y if index < 2 else frame.top, frame.foot)


def _notes(frame: Frame) -> None:
    chosen = frame.rng.choice(((0,), (1,), (0, 1)))
    setter = frame.setter
    if frame.rng.random() < 0.4:
        frame.title()
    frame.columns(
        frame.flow(), frame.foot, notes=lambda index: setter.note(frame.column) if index in chosen else []
    )


def _sidebar(frame: Frame) -> None:
    """A main column and a narrow one in smaller type, beside all of it."""
    rng, setter = frame.rng, frame.setter
    narrow = 0.28 * frame.width
    main = frame.width - narrow - frame.gutter
    first = rng.random() < 0.5
    side = (frame.left if first else frame.left + main + frame.gutter, narrow)
    body = (frame.left + narrow + frame.gutter if first else frame.left, main)
    for x, width in (side, body) if first else (body, side):
        text = _small(frame, width) if width == narrow else _flow_of(frame, width)
        fill(frame.sheet, text, x, frame.top, frame.foot)
    assert setter.size


def _small(frame: Frame, width: float) -> Iterator[Piece]:
    while True:
        yield from frame.setter.text(frame.setter.words.paragraph(3), width, scale=0.85, space=0.5)


def _flow_of(frame: Frame, width: float) -> Iterator[Piece]:
    while True:
        yield from frame.setter.heading(frame.setter.words.phrase(4), width)
        yield from frame.setter.paragraph(width)
        yield from frame.setter.paragraph(width)


def _short_end(frame: Frame) -> None:
    """The last columns end early; blank paper below."""
    if frame.rng.random() < 0.5:
        frame.title()
    room = frame.foot - frame.top
    last = frame.top + frame.rng.uniform(0.05, 0.6) * room
    frame.columns(
        frame.flow(), frame.foot, ends=lambda index: last if index == frame.num_columns - 1 else frame.foot
    )


def _sections(frame: Frame) -> None:
    """Headings over all columns, each above columns of its own, some of them short."""
    while frame.foot - frame.top > 130:
        setter = frame.setter
        heading = setter.heading(setter.words.phrase(frame.rng.randint(3, 7)), frame.width, 1.4)
        frame.across(heading)
        frame.columns(frame.flow(), min(frame.foot, frame.top + frame.rng.choice((45.0, 90.0, 150.0, 240.0))))


def _several(frame: Frame) -> None:
    """Two floats over all columns, and short columns between them."""
    frame.title()
    text = frame.flow()
    for what in frame.rng.sample(("table", "words", "figure"), 2):
        frame.columns(text, frame.top + frame.rng.uniform(50, 170))
        frame.across(frame.span(what))
    if frame.foot - frame.top > 40:
        frame.columns(text, frame.foot)


def _everything(frame: Frame) -> None:
    frame.title()

    def extras(number: int) -> list[Piece]:
        what = frame.rng.choice(("table", "figure"))
        return [together(floating(frame, frame.column, what))] if number % 5 == 2 else []

    text = frame.flow(extras)
    frame.columns(text, frame.top + frame.rng.uniform(100, 220))
    frame.across(frame.span(frame.rng.choice(("table", "figure"))))
    setter = frame.setter
    frame.columns(text, frame.foot, notes=lambda index: setter.note(frame.column) if index == 0 else [])


def _ruled(frame: Frame) -> None:
    """A line between the columns."""
    top = frame.top
    frame.columns(frame.flow(), frame.foot)
    x = frame.starts[1] - frame.gutter / 2
    frame.sheet.rule(x, top, x, frame.foot)


def _aligned_table(frame: Frame) -> None:
    """Between the columns' text a table of two columns whose gap continues their gutter."""
    text = frame.flow()
    span = table(frame.setter, frame.width, 2, frame.rng.randint(4, 10), "words", frame.rng.choice(RULES))
    frame.columns(text, frame.top + frame.rng.uniform(150, 300))
    frame.across(span)
    frame.columns(text, frame.foot)


def _table_page(cells: str) -> Callable[[Frame], None]:
    """One column of text around a long table, which is read row by row."""

    def lay(frame: Frame) -> None:
        setter = frame.setter
        frame.across(setter.paragraph(frame.width))
        num_columns = frame.rng.randint(3, 4) if cells == "lines" else frame.rng.randint(4, 6)
        num_rows = frame.rng.randint(9, 12) if cells == "lines" else frame.rng.randint(25, 36)
        frame.across(table(setter, frame.width, num_columns, num_rows, cells, frame.rng.choice(RULES)))
        fill(frame.sheet, _flow_of(frame, frame.width), frame.left, frame.top, frame.foot)

    return lay


KINDS: dict[str, tuple[int, Callable[[Frame], None]]] = {
    "plain": (2, _plain),
    "table across the middle": (2, _crossed("table", "middle")),
    "table at the top": (2, _crossed("table", "top")),
    "table at the foot": (2, _crossed("table", "foot")),
    "table of several lines a cell": (2, _crossed("lines", "middle")),
    "figure across the middle": (2, _crossed("figure", "middle")),
    "figure at the top": (2, _crossed("figure", "top")),
    "tables in columns": (2, _floats("table")),
    "figures in columns": (2, _floats("figure")),
    "three columns": (3, _plain),
    "three columns, crossed": (3, _crossed("table", "middle")),
    "two of three crossed": (3, _partly_crossed),
    "footnotes": (2, _notes),
    "sidebar": (2, _sidebar),
    "short last column": (2, _short_end),
    "sections across": (2, _sections),
    "short columns between floats": (2, _several),
    "everything": (2, _everything),
    "ragged, ruled": (2, _ruled),
    "table on the gutter": (2, _aligned_table),
    "page of a table": (2, _table_page("words")),
    "page of a table, several lines a cell": (2, _table_page("lines")),
}


def compose(number: int) -> Article:
    """Returns the page of this number, from 0."""
    kind = list(KINDS)[number % len(KINDS)]
    num_columns, lay = KINDS[kind]
    frame = Frame(random.Random(number), num_columns, justify=kind != "ragged, ruled")
    lay(frame)
    return frame.finish(kind)
