"""Reads pictures in this process, with the model loaded once: for plug-ins, whose hosts hand over page after page.

A run keeps files in other processes, for they are untrusted; here the host has opened them.
"""

import time
from typing import TYPE_CHECKING

from PIL import Image

from ocr.imaging import planes
from ocr.orientation.detect import Orientation, detect
from pipeline.api.page_text import PageText, of_result
from pipeline.documents.blank import is_blank
from pipeline.documents.settings import TileSettings
from pipeline.outcome.results import blank_result
from pipeline.stages.render import PageImage
from pipeline.stages.tile import tile
from pipeline.types import Page

if TYPE_CHECKING:
    from ocr.line_reader.reading import LineReader


class ImageReader:
    """Reads pictures of pages with the shipped line reader, on the CPU; for any number of threads.

    Unlike a run it does not turn pages upright, and reads each once.
    """

    def __init__(self) -> None:
        self._lines = _line_reader()

    def read(
        self, image: Image.Image, *, path: str = "", number: int = 1, dpi: float | None = None
    ) -> PageText:
        """Returns the page's text, with boxes in pixels of the picture. path, number, dpi: as they are to be told."""
        from pipeline.stages.read_lines import read_lines

        start = time.perf_counter()
        pixels = planes.of_picture(_on_white(image))
        page = PageImage(
            page=Page(path=path, sha256="", kind="image", page_index=number - 1),
            pixels=pixels,
            grid=(1, 1),
            dpi=dpi,
            blank=is_blank(pixels),
            render_s=time.perf_counter() - start,
        )
        (rendered,) = tile([page], TileSettings(lines=True))
        return of_result(blank_result(rendered) if rendered.blank else read_lines(rendered, self._lines))


def orientation_of(image: Image.Image) -> Orientation:
    """Returns how far the picture is to be turned clockwise to be upright."""
    return detect(planes.of_picture(_on_white(image)))


def _on_white(image: Image.Image) -> Image.Image:
    """Returns the picture as RGB, what is transparent in it as white."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _line_reader() -> "LineReader":
    from ocr.line_reader.reading import LineReader
    from ocr.model_files.locate import LINES, find_directory
    from pipeline.device.startup.loading import available_cpus

    return LineReader.load(find_directory("small") / LINES, threads=available_cpus())
