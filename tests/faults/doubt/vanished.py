"""Counts pages that pass for read although text of them vanished: `python -m tests.faults.doubt.vanished PAGE ...`.

Pictures of ordinary pages are read as they are, and with a finder that loses a line, three lines, or the right half of
one, each of 25 letters or more.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from ocr.imaging import planes
from ocr.line_reader.faint_print import darkened
from ocr.line_reader.found_lines import TextLine
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.model_files.locate import LINES, find_directory
from pipeline.documents.settings import TileSettings
from pipeline.stages.read_lines import read_lines
from pipeline.stages.render import PageImage
from pipeline.stages.tile import tile
from pipeline.types import Page, PageResult, RenderedPage

_LONG = 25
Loss = Callable[[list[TextLine], Sequence[TextLine]], list[TextLine]]


class Forgetful(LineReader):
    """The shipped reader, which loses lines. losing: given the lines found and those that vanish, those that are left.

    gone: the left ends and the middles of what vanishes.
    """

    losing: Loss | None = None
    gone: Sequence[tuple[int, int]] = ()

    def find(self, darkness: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> list[TextLine]:
        """Returns the lines found but for those that vanish."""
        found = super().find(darkness)
        if self.losing is None:
            return found
        gone = [line for line in found if (line.left, round(line.middle)) in self.gone]
        return self.losing(found, gone)


def without(found: list[TextLine], gone: Sequence[TextLine]) -> list[TextLine]:
    """Returns the lines that are left."""
    return [line for line in found if line not in gone]


def halved(found: list[TextLine], gone: Sequence[TextLine]) -> list[TextLine]:
    """Returns the lines, those that vanish without their right halves."""
    halves = [
        replace(
            line, right=(line.left + line.right) // 2, baseline=line.baseline[: (line.right - line.left) // 2]
        )
        for line in gone
    ]
    return [*without(found, gone), *halves]


def read(grey: np.ndarray[tuple[int, int], np.dtype[np.uint8]], reader: LineReader) -> PageResult:
    """Returns a page's result. grey: [H, W] uint8."""
    page = Page(path="page.png", sha256="", kind="image", page_index=0)
    image = PageImage(
        page=page,
        pixels=planes.of_picture(Image.fromarray(grey)),
        grid=(1, 1),
        dpi=None,
        blank=False,
        render_s=0,
    )
    (rendered,) = tile([image], TileSettings(lines=True))
    assert isinstance(rendered, RenderedPage)
    return read_lines(rendered, reader)


def main(paths: Sequence[str]) -> None:
    """Prints how many pages end with which status, as they are and by what vanished."""
    reader = Forgetful.load(find_directory("small") / LINES)
    assert isinstance(reader, Forgetful)
    random_ = random.Random(1)
    seen: Counter[tuple[str, str]] = Counter()
    for path in paths:
        grey = np.asarray(Image.open(path).convert("L"))
        reader.losing = None
        darkness = darkness_of(darkened(grey))
        lines = [its.line for its in reader.read(darkness, reader.find(darkness)) if len(its.text) >= _LONG]
        whole = read(grey, reader)
        seen["as it is", whole.status] += 1
        if whole.status != "ok" or len(lines) < 6:
            continue
        for name, number, losing in (
            ("a line", 1, without),
            ("three lines", 3, without),
            ("half a line", 1, halved),
        ):
            chosen = random_.sample(lines, number)
            reader.losing, reader.gone = losing, [(line.left, round(line.middle)) for line in chosen]
            result = read(grey, reader)
            seen[name, result.status] += 1
            print(Path(path).name[:40], name, result.status, result.doubt or "", flush=True)
    for (name, status), number in sorted(seen.items()):
        print(f"{name}: {number} {status}")


if __name__ == "__main__":
    main(sys.argv[1:])
