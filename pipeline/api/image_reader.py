"""Reads pictures in this process, with the model loaded once: for plug-ins, whose hosts hand over page after page.

A run keeps files in other processes, for they are untrusted; here the host has opened them.
"""

import time
from typing import TYPE_CHECKING

from PIL import Image

from ocr.imaging import planes
from ocr.orientation.detect import Orientation, detect
from pipeline.api.page_text import PageText, of_result
from pipeline.config.schema import Config
from pipeline.documents.blank import is_blank
from pipeline.documents.images import to_rgb
from pipeline.documents.settings import TileSettings
from pipeline.outcome.doubt import doubtful_below, judged
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
        self._lines, self._below = _line_reader(), doubtful_below(Config())

    def read(
        self, image: Image.Image, *, path: str = "", number: int = 1, dpi: float | None = None
    ) -> PageText:
        """Returns the page's text, with boxes in pixels of the picture. path, number, dpi: as they are to be told."""
        from pipeline.stages.read_lines import read_lines

        start = time.perf_counter()
        pixels = planes.of_picture(to_rgb(image))
        page = PageImage(
            page=Page(path=path, sha256="", kind="image", page_index=number - 1),
            pixels=pixels,
            grid=(1, 1),
            dpi=dpi,
            blank=is_blank(pixels),
            render_s=time.perf_counter() - start,
        )
        (rendered,) = tile([page], TileSettings(lines=True))
        result = blank_result(rendered) if rendered.blank else read_lines(rendered, self._lines)
        return of_result(judged(result, below=self._below))


def orientation_of(image: Image.Image) -> Orientation:
    """Returns how far the picture is to be turned clockwise to be upright."""
    return detect(planes.of_picture(to_rgb(image)))


def _line_reader() -> "LineReader":
    from ocr.line_reader.reading import LineReader
    from ocr.model_files.locate import LINES, find_directory
    from pipeline.device.startup.loading import available_cpus

    return LineReader.load(find_directory("small") / LINES, threads=available_cpus())
