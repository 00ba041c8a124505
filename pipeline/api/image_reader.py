"""Reads pictures in this process, with the model loaded once: for plug-ins, whose hosts hand over page after page.

A run keeps files in other processes, for they are untrusted; here the host has opened them.
"""

import time
from dataclasses import replace

from PIL import Image
from threadpoolctl import threadpool_limits

from ocr.imaging import planes
from ocr.orientation.detect import Orientation, detect
from ocr.types import BoxPx
from pipeline.api.page_text import PageText, of_result
from pipeline.documents.images import to_rgb
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.outcome.doubt import doubtful_below, judged
from pipeline.outcome.results import blank_result
from pipeline.stages.render import tile, upright
from pipeline.types import Page, PageResult


class ImageReader:
    """Reads pictures of pages with the shipped line reader, on the CPU; for any number of threads.

    A page that lies on its side is read turned, as in a run; unlike a run it reads each page once. threads: that read
    one page; None: as many as there are CPUs. From then on NumPy multiplies on one thread: more would spin between.
    """

    def __init__(self, threads: int | None = None) -> None:
        from ocr.line_reader.reading import LineReader
        from ocr.model_files.locate import LINES, find_directory
        from pipeline.device.startup.loading import available_cpus

        threadpool_limits(1, "blas")
        folder = find_directory("small") / LINES
        self._lines = LineReader.load(folder, threads or available_cpus())
        self._below = doubtful_below(folder)

    def read(
        self, image: Image.Image, *, path: str = "", number: int = 1, dpi: float | None = None
    ) -> PageText:
        """Returns the page's text. path, number, dpi: as they are to be told.

        Boxes are in pixels of the picture as it is given, also where it was turned to be read, by rotation_deg.
        """
        from pipeline.stages.read_lines import read_lines

        start = time.perf_counter()
        pixels = planes.of_picture(to_rgb(image))
        page = Page(path=path, sha256="", kind="image", page_index=number - 1)
        drawn = upright(page, pixels, RenderSettings(), dpi)
        rendered = tile(replace(drawn, render_s=time.perf_counter() - start), TileSettings(lines=True))
        result = blank_result(rendered) if rendered.blank else read_lines(rendered, self._lines)
        return of_result(_turned_back(judged(result, below=self._below)))


def orientation_of(image: Image.Image) -> Orientation:
    """Returns how far the picture is to be turned clockwise to be upright."""
    return detect(planes.of_picture(to_rgb(image)))


def _turned_back(result: PageResult) -> PageResult:
    """Returns a page that was turned clockwise by rotation_deg with its boxes where they stood before."""
    wide, high = result.width_px, result.height_px
    if not result.rotation_deg or wide is None or high is None or result.parsed is None:
        return result

    def back(box: BoxPx) -> BoxPx:
        x0, y0, x1, y1 = box
        return {
            90: (y0, wide - x1, y1, wide - x0),
            180: (wide - x1, high - y1, wide - x0, high - y0),
            270: (high - y1, x0, high - y0, x1),
        }[result.rotation_deg]

    width_px, height_px = (wide, high) if result.rotation_deg == 180 else (high, wide)
    return replace(result, parsed=result.parsed.with_boxes(back), width_px=width_px, height_px=height_px)
