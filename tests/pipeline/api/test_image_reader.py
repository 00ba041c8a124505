"""Pictures that a plug-in's host hands over are read and judged as a run does."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from pipeline.api.image_reader import ImageReader
from pipeline.api.page_text import PageText
from pipeline.api.read_files import read

LETTER = Path(__file__).parents[2] / "samples" / "letter.png"


@pytest.fixture(scope="module")
def reader() -> ImageReader:
    return ImageReader()


def printed(mode: str, ground: Any, ink: Any, text: str) -> Image.Image:
    picture = Image.new(mode, (900, 300), ground)
    font = ImageFont.load_default(36)
    ImageDraw.Draw(picture).multiline_text((40, 60), text, fill=ink, font=font, spacing=20)
    return picture


PAGES = {
    "light print on nothing": printed("RGBA", (0, 0, 0, 0), (255, 255, 255, 255), "A label of white letters"),
    "sixteen bits": printed("I;16", 65535, 0, "A scan of sixteen bits"),
    "no language": printed(
        "RGB", "white", "black", "xqzw vkjq wzxk qqjv\nzkxv jqwz vvxk qjzw\nkzqx wvjq xzkw jvqx"
    ),
    "nothing": Image.new("L", (600, 400), 255),
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_picture_has_the_status_and_the_text_that_a_run_gives_it(
    kind: str, reader: ImageReader, tmp_path: Path
) -> None:
    file = tmp_path / "page.png"
    PAGES[kind].save(file)
    (by_run,) = read(file).pages
    with Image.open(file) as picture:
        here = reader.read(picture)
    assert (here.status, here.text, here.problem) == (by_run.status, by_run.text, by_run.problem)
    assert here.status == {"nothing": "blank", "no language": "doubtful"}.get(kind, "ok")


@pytest.fixture(scope="module")
def letter() -> Image.Image:
    """Down to its first paragraph."""
    with Image.open(LETTER) as whole:
        return whole.crop((0, 0, whole.width, 694))


@pytest.fixture(scope="module")
def upright(letter: Image.Image, reader: ImageReader) -> PageText:
    return reader.read(letter)


@pytest.mark.parametrize("turned", [90, 180, 270])
def test_a_page_on_its_side_is_read_turned_with_its_words_where_they_stand(
    turned: int, letter: Image.Image, reader: ImageReader, upright: PageText
) -> None:
    page = reader.read(letter.rotate(turned, expand=True))
    wide, high = letter.size
    assert page.rotation_deg == turned
    assert (page.width_px, page.height_px) == ((wide, high) if turned == 180 else (high, wide))
    assert page.text == upright.text
    where = {
        90: lambda x0, y0, x1, y1: (y0, wide - x1, y1, wide - x0),
        180: lambda x0, y0, x1, y1: (wide - x1, high - y1, wide - x0, high - y0),
        270: lambda x0, y0, x1, y1: (high - y1, x0, high - y0, x1),
    }[turned]
    for word, there in zip(upright.words, page.words, strict=True):
        assert word.box is not None
        assert there.box == where(*word.box), word.text
