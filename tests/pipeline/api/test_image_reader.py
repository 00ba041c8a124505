"""Pictures that a plug-in's host hands over are read and judged as a run does."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from pipeline.api.image_reader import ImageReader
from pipeline.api.read_files import read


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
