"""The kinds of composed pages: who makes them, at what resolution, and through which device they are seen."""

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image

from ocr.training.pages.page_truth import UnreadableError
from tests.benchmarks.quality.sets.unseen.composed import desk, devices, press, screens
from tests.benchmarks.quality.sets.unseen.composed.canvas import Canvas
from tests.benchmarks.quality.sets.unseen.composed.workshop import Material, Workshop

Maker = Callable[[Workshop], Canvas]
Device = Callable[[Image.Image, random.Random], Image.Image]
_TRIES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """count: pages of it. dpi: at which the page is drawn before the device sees it."""

    name: str
    count: int
    makers: tuple[Maker, ...]
    device: tuple[Device, ...]
    dpi: int = 200


KINDS = (
    Kind(name="receipt", count=14, makers=(desk.receipt,), device=(devices.thermal, devices.telephone)),
    Kind(name="letter", count=10, makers=(desk.letter,), device=(devices.office_scan,)),
    Kind(name="form", count=10, makers=(desk.form,), device=(devices.office_scan,)),
    Kind(name="magazine", count=8, makers=(press.magazine,), device=(devices.glossy,)),
    Kind(name="newspaper", count=8, makers=(press.newspaper,), device=(devices.newsprint,)),
    Kind(name="spread", count=8, makers=(press.spread,), device=(devices.book_scan,)),
    Kind(name="slide", count=8, makers=(screens.slide,), device=(devices.clean, devices.compressed), dpi=128),
    Kind(
        name="screenshot",
        count=8,
        makers=(screens.screenshot,),
        device=(devices.clean, devices.compressed),
        dpi=96,
    ),
    Kind(name="fax", count=8, makers=(desk.letter, desk.form), device=(devices.fax,)),
    Kind(name="photo", count=8, makers=(desk.letter, press.magazine, desk.form), device=(devices.telephone,)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedPage:
    """A page as its device saw it. text: the truth. families, book: what it was made with."""

    image: Image.Image
    text: str
    families: tuple[str, ...]
    book: str


def compose(kind: Kind, number: int, material: Material) -> ComposedPage:
    """Returns a page of the kind: the same one for the same number, always."""
    for attempt in range(_TRIES):
        rng = random.Random(zlib.crc32(f"unseen/{kind.name}/{number}/{attempt}".encode()))
        maker, device = kind.makers[number % len(kind.makers)], kind.device[number % len(kind.device)]
        shop = Workshop(rng=rng, material=material)
        try:
            drawn, text = maker(shop).finish(kind.dpi)
        except UnreadableError:  # this face lacks a character
            continue
        families = tuple(sorted(set(shop.families)))
        return ComposedPage(image=device(drawn, rng), text=text, families=families, book=shop.prose.title)
    raise UnreadableError(f"no face has the characters of {kind.name} {number}")
