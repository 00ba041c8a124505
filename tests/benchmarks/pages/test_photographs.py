"""Photographs are taken out of the packages' files and put on sheets as they are."""

import io

import numpy as np
from PIL import Image

from pipeline.api.image_reader import ImageReader
from tests.benchmarks.pages.photographs import held, on_sheet, seen


def picture(width: int, height: int, form: str) -> bytes:
    noise = np.random.default_rng(width).integers(0, 256, (height, width, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, form)
    return file.getvalue()


def test_the_pictures_of_an_archive_are_found_between_other_bytes() -> None:
    data = (
        b"qres" + picture(320, 240, "WEBP") + b"// RIFF" + picture(64, 64, "WEBP") + picture(210, 260, "JPEG")
    )
    assert [found.size for found in held(data)] == [(320, 240), (210, 260)], "icons are left out"


def test_a_photograph_stands_in_the_middle_of_its_sheet() -> None:
    sheet = on_sheet(Image.new("RGB", (400, 600), "white"), Image.new("RGB", (60, 30), "black"))
    rows, columns = np.nonzero(np.asarray(sheet)[..., 0] == 0)
    assert (columns.min(), columns.max()) == (50, 349)
    assert (rows.min(), rows.max()) == (225, 374)


def test_a_sheet_of_paper_is_blank_at_once() -> None:
    assert seen(ImageReader(), Image.new("RGB", (400, 600), "white")) == "blank at once"
