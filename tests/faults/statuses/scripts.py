"""Pages in scripts, in hand-like faces and the wrong way round, which no reader here reads."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image, ImageOps

from tests.faults.statuses.pages import MadePage, Workshop, drawn, element, paragraph, pictured, table, worn

# Beside other scripts and in mirrors.
LATIN = (
    "fonts-dejavu-core:DejaVuSans.ttf", "fonts-freefont-ttf:FreeSerif.ttf", "fonts-noto-core:NotoSerif-Regular.ttf",
    "fonts-paratype:PTS55F.ttf", "fonts-linuxlibertine:LinLibertine_R.otf", "fonts-freefont-ttf:FreeSans.ttf",
)  # fmt: skip
_SIZES_PT = (9, 10.5, 12, 14)
_BODY_PT = 9  # at which the lengths below fill a page
_LANGUAGES = ("en", "de", "fr", "es")


def whole(shop: Workshop) -> Iterator[MadePage]:
    """Yields pages of nothing but another script."""
    yield from _in_scripts(shop, "whole", (-700,) * 6)


def half(shop: Workshop) -> Iterator[MadePage]:
    """Yields pages of which the lower half is in another script."""
    yield from _in_scripts(shop, "half", (550, 550, -550, -550))


def lines(shop: Workshop) -> Iterator[MadePage]:
    """Yields pages with one to three lines in another script."""
    yield from _in_scripts(shop, "lines", (400, 250, -110, 400, 250))


def hands(shop: Workshop) -> Iterator[MadePage]:
    """Yields letters in faces that look like handwriting."""
    for number, face in enumerate(table("hands")):
        for letter in range(2):
            rng = random.Random(f"hand {face} {letter}")
            text = [paragraph(rng, shop.phrases("en"), 120) for _ in range(3)]
            body = "".join(element(part, "own", rng.choice((14, 16, 18))) for part in text)
            page = drawn(body, {"own": face_file(shop, face)})
            wear, page = worn(page, number + letter)
            name = f"{face_file(shop, face).stem}-{letter}-{wear}"
            yield pictured(name, page, text="\n".join(text))


def mirrored(shop: Workshop) -> Iterator[MadePage]:
    """Yields pages that were scanned from the wrong side."""
    for number in range(4 * len(LATIN)):
        rng = random.Random(f"mirrored {number}")
        language = rng.choice(_LANGUAGES)
        body = "".join(
            element(paragraph(rng, shop.phrases(language), 400), "own", rng.choice(_SIZES_PT))
            for _ in range(4)
        )
        page = ImageOps.mirror(drawn(body, {"own": face_file(shop, LATIN[number % len(LATIN)])}))
        wear, page = worn(page.transpose(Image.Transpose.ROTATE_180) if number % 4 == 3 else page, number)
        yield pictured(f"{language}-{number}-{wear}", page)


def _in_scripts(shop: Workshop, layout: str, lengths: Sequence[int]) -> Iterator[MadePage]:
    """Yields a page for every script and face. lengths: of its paragraphs in letters, negative for the other script."""
    number = 0
    for script in table("scripts"):
        other = shop.phrases(script["language"])
        for face in script["faces"]:
            rng = random.Random(f"{layout} {script['name']} {face}")
            size, known = rng.choice(_SIZES_PT), shop.phrases(rng.choice(_LANGUAGES))
            faces = {"latin": face_file(shop, rng.choice(LATIN)), "other": face_file(shop, face)}
            body = ""
            for length in lengths:
                text = paragraph(
                    rng, known if length > 0 else other, round(abs(length) * (_BODY_PT / size) ** 2)
                )
                turned = length < 0 and script.get("right_to_left", False)
                body += element(text, "latin" if length > 0 else "other", size, right_to_left=turned)
            wear, page = worn(drawn(body, faces), number + (layout != "whole"))
            number += 1
            yield pictured(f"{script['name']}-{faces['other'].stem}-{wear}", page)


def face_file(shop: Workshop, face: str) -> Path:
    """Returns a typeface's file. face: "package:file"."""
    return shop.file(*face.split(":"))
