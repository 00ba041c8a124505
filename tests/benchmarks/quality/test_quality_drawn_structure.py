"""Pages with their blocks drawn on them, side by side."""

from pathlib import Path

import ocrbatch
from PIL import Image

from tests.benchmarks.quality.drawn_structure import beside, drawn, main

SAMPLES = Path(__file__).parents[3] / "tests" / "samples"


def test_blocks_are_framed_where_they_stand() -> None:
    block = ocrbatch.Block(label="title", text="A", box=(20, 30, 80, 60))
    page = drawn(Image.new("L", (100, 100), 255), [block, ocrbatch.Block(label="text", text="B")])
    assert page.getpixel((20, 45)) == page.getpixel((79, 45)) == (0xC0, 0, 0)
    assert page.getpixel((50, 45)) == (255, 255, 255)


def test_pages_stand_in_two_rows() -> None:
    assert beside([Image.new("RGB", (280, 560))] * 3).size == (2 * 292, 2 * 572)


def test_a_page_is_read_and_drawn(tmp_path: Path) -> None:
    assert main([str(tmp_path / "made.jpg"), str(SAMPLES / "letter.png")]) == 0
    with Image.open(tmp_path / "made.jpg") as made:
        assert made.height == 572
