"""Kinds of pages: their sizes, columns, type sizes, and what stands on them how often. genres.yaml has them all."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Size = tuple[float, float]
_SIZES = {
    "A4": (595, 842), "LETTER": (612, 792), "A5": (420, 595), "TRADE": (432, 648), "WIDE": (842, 595),
    "SLIDE": (720, 405), "SQUARE": (500, 500),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Genre:
    """share: of pages. formats: (width, height) in points with weights. columns: weights of one, two, three and more.

    sizes_pt: of the running text, drawn evenly on a logarithmic scale. blocks: makers' names with weights;
    first: makers whose blocks open a share of the pages, over all columns. fills: shares of the page written on.
    foreign, business: shares of pages that are surely in another language than English, or of names, addresses and
    goods. headers, footnotes, margin_notes: shares of pages with them. leading: of lines, in type sizes; gutter:
    between columns, likewise. numbered: the share of pages whose lines have numbers between two columns. mono:
    typewritten; plain: no headers and footers. lined: the share of its forms of which structure is learned.
    """

    name: str
    share: float
    formats: Sequence[tuple[Size, float]]
    columns: Sequence[float] = (1.0,)
    sizes_pt: tuple[float, float] = (8.0, 12.5)
    blocks: Mapping[str, float]
    first: Sequence[str] = ()
    first_share: float = 1.0
    fills: Sequence[float] = (1.2, 1.2, 1.2, 0.7, 0.3)
    foreign: float = 0.0
    business: float = 0.0
    leading: tuple[float, float] = (1.05, 1.5)
    gutter: tuple[float, float] = (1.2, 3.0)
    headers: float = 0.35
    footnotes: float = 0.0
    margin_notes: float = 0.0
    numbered: float = 0.0
    mono: bool = False
    plain: bool = False
    lined: float = 1.0


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


def _genre(entry: Mapping[str, Any]) -> Genre:
    formats = [
        (_SIZES[size] if isinstance(size, str) else tuple(size), weight) for size, weight in entry["formats"]
    ]
    return Genre(**{**entry, "formats": formats})


GENRES = tuple(map(_genre, yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))))


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
    fill = rng.choice(genre.fills)
    return Form(genre=genre, width_pt=width, height_pt=height, size_pt=size, columns=columns, fill=fill)
