"""Ordinary pages in Latin script, which must not be doubted: drawn and worn, 150 and 200 dpi."""

import random
from collections.abc import Callable, Iterator, Sequence

import pymupdf
from PIL import Image

from tests.benchmarks.quality.sets.unseen import build as unseen
from tests.benchmarks.quality.sets.unseen.composed.invented import Invented
from tests.benchmarks.quality.sets.unseen.composed.kinds import KINDS, compose
from tests.faults.statuses.pages import MadePage, Workshop, drawn, element, paragraph, pictured, worn
from tests.faults.statuses.scripts import LATIN, face_file

_OK = frozenset({"ok"})
_DPI = (150, 200)
_LANGUAGES = (
    "en", "de", "fr", "es", "it", "pt", "nl", "da", "sv", "nb", "fi", "is", "pl", "cs", "sk", "sl", "hr", "hu", "ro",
    "lt", "lv", "et", "tr", "sq", "ca", "eu", "ga",
)  # fmt: skip
_FIRST_NUMBER, _OF_EACH = 100, 16  # composed pages that are in no other set
_PER_DOCUMENT = 3
_A4_PT = (595, 842)


def composed(shop: Workshop) -> Iterator[MadePage]:
    """Yields receipts, letters, forms, newspapers and others as devices see them. Without mirrors none.

    But no faxes, of which half of the characters is read wrong: to doubt them is right.
    """
    if shop.mirrors is None:
        return
    material = unseen.material(shop.mirrors, shop.packages)
    for kind in (kind for kind in KINDS if kind.name != "fax"):
        for number in range(_FIRST_NUMBER, _FIRST_NUMBER + _OF_EACH):
            page = compose(kind, number, material).image
            yield pictured(f"{kind.name}-{number}", page.convert("L"), dpi=kind.dpi, statuses=_OK)


def documents(shop: Workshop) -> Iterator[MadePage]:
    """Yields pages of PDFs of packages as pictures: manuals, papers, tables, books."""
    pymupdf.TOOLS.mupdf_display_errors(False)
    listed = dict.fromkeys((package, name) for _, package, name, _ in unseen.digital_pages())
    for number, (package, name) in enumerate(listed):
        with pymupdf.open(
            stream=unseen.document_bytes(shop.root(package) / name), filetype="pdf"
        ) as document:
            for part in range(1, _PER_DOCUMENT + 1):
                index, dpi = document.page_count * part // (_PER_DOCUMENT + 1), _DPI[(number + part) // 2 % 2]
                if len(document[index].get_text()) < 400:
                    continue
                pixmap = document[index].get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
                page = Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples)
                yield _made(f"{package}-{number}-{index}", page, number + part, dpi)


def languages(shop: Workshop) -> Iterator[MadePage]:
    """Yields running text in European languages."""
    for number in range(3 * len(_LANGUAGES)):
        language = _LANGUAGES[number % len(_LANGUAGES)]

        def text(rng: random.Random, language: str = language) -> Sequence[str]:
            return [paragraph(rng, shop.phrases(language), 400) for _ in range(5)]

        yield _set(shop, f"{language}-{number}", number, text)


def capitals(shop: Workshop) -> Iterator[MadePage]:
    """Yields notices in nothing but capitals."""
    yield from _pages(shop, lambda rng: [paragraph(rng, shop.phrases("en"), 90).upper() for _ in range(9)])


def small_print(shop: Workshop) -> Iterator[MadePage]:
    """Yields terms in 6 or 7 pt."""
    yield from _pages(
        shop, lambda rng: [paragraph(rng, shop.phrases("fr"), 700) for _ in range(6)], sizes_pt=(6, 7)
    )


def numbers(shop: Workshop) -> Iterator[MadePage]:
    """Yields lists of numbers and sums."""
    yield from _pages(
        shop, lambda rng: [" ".join(Invented.of(rng).money() for _ in range(6)) for _ in range(24)]
    )


def codes(shop: Workshop) -> Iterator[MadePage]:
    """Yields lists of reference codes, numbers of parts and phone numbers."""

    def line(its: Invented) -> str:
        return f"{its.code()} {its.code()} {its.digits(8)} {its.phone()} {its.postcode()}"

    yield from _pages(shop, lambda rng: [line(Invented.of(rng)) for _ in range(22)])


def names(shop: Workshop) -> Iterator[MadePage]:
    """Yields lists of people, companies, and names of countries and languages in several languages."""

    def line(rng: random.Random) -> str:
        its = Invented.of(rng)
        return f"{its.name()}, {its.company()}, {its.one('town')} ({rng.choice(shop.phrases(rng.choice(_LANGUAGES)))})"

    yield from _pages(shop, lambda rng: [line(rng) for _ in range(20)])


def code(shop: Workshop) -> Iterator[MadePage]:
    """Yields listings in a face of one width."""
    lines = [
        line
        for path in sorted(shop.root("avr-libc").rglob("*.[ch]"))
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if line.strip() and line.isascii()
    ]

    def text(rng: random.Random) -> Sequence[str]:
        start = rng.randrange(len(lines) - 30)
        return lines[start : start + 30]

    yield from _pages(shop, text, face="fonts-dejavu-core:DejaVuSansMono.ttf", sizes_pt=(8, 9))


def _pages(
    shop: Workshop,
    text: Callable[[random.Random], Sequence[str]],
    *,
    face: str = "",
    sizes_pt: Sequence[float] = (),
) -> Iterator[MadePage]:
    for number in range(_OF_EACH):
        yield _set(shop, str(number), number, text, face=face, sizes_pt=sizes_pt or (8, 9, 10.5, 12))


def _set(
    shop: Workshop,
    name: str,
    number: int,
    text: Callable[[random.Random], Sequence[str]],
    *,
    face: str = "",
    sizes_pt: Sequence[float] = (8, 9, 10.5, 12),
) -> MadePage:
    """Returns a page of text in a face and size of its own."""
    rng = random.Random(f"ordinary {name} {number}")
    size, dpi = rng.choice(sizes_pt), _DPI[number // 2 % 2]
    body = "".join(element(part, "own", size) for part in text(rng))
    page = drawn(body, {"own": face_file(shop, face or rng.choice(LATIN))}, dpi=dpi, size_pt=_A4_PT)
    return _made(name, page, number, dpi)


def _made(name: str, page: Image.Image, number: int, dpi: int) -> MadePage:
    wear, page = worn(page, number)
    return pictured(f"{name}-{dpi}-{wear}", page, dpi=dpi, statuses=_OK)
