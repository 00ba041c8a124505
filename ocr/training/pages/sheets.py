"""Draws a sheet: flows of blocks placed in boxes one after another, in reading order."""

from dataclasses import dataclass, field
from typing import Any

import pymupdf

from ocr.training.pages.fonts import Fonts
from ocr.training.pages.matter.html_blocks import Block, Flow
from ocr.training.pages.styles import Style
from ocr.training.pages.truth.page_truth import Sheet, UnreadableError

Box = tuple[float, float, float, float]
Point = tuple[float, float]
_OVER_PT = 1.5  # how far a line may stick out of its box


@dataclass(slots=True, kw_only=True)
class Layout:
    """A sheet in progress, on a display list, not a PDF: in a PDF some fonts' ligatures become other characters.

    images: encoded pictures that blocks refer to, by name.
    """

    fonts: Fonts
    style: Style
    images: dict[str, bytes]
    width_pt: float
    height_pt: float
    flows: list[Flow] = field(default_factory=list)
    _drawn: Any = field(init=False)
    _device: Any = field(init=False)

    def __post_init__(self) -> None:
        self._drawn = pymupdf.mupdf.FzDisplayList(pymupdf.mupdf.FzRect(0, 0, self.width_pt, self.height_pt))
        self._device = pymupdf.DeviceWrapper(self._drawn)

    def place(self, blocks: list[Block], boxes: list[pymupdf.Rect]) -> float:
        """Draws as much of the blocks as the boxes hold; returns where they end in the last box used.

        Raises UnreadableError if a line is longer than its box is wide.
        """
        story, rectangles, bottom = self._story(blocks), {}, float(boxes[0].y0)
        for number, box in enumerate(boxes):
            more, filled = story.place(box)
            if filled[2] > box.x1 + _OVER_PT:
                raise UnreadableError("a line is longer than its box is wide")
            for name, rectangle in _elements(story):
                rectangles[name, number] = rectangle
            story.draw(self._device)
            bottom = float(filled[3])
            if not more:
                break
        frames = tuple((box.x0, box.y0, box.x1, box.y1) for box in boxes)
        self.flows.append(Flow(blocks=tuple(blocks), frames=frames, rectangles=rectangles))
        return bottom

    def stroke(
        self, rects: list[pymupdf.Rect], lines: list[tuple[Point, Point]], *, width_pt: float, grey: float
    ) -> None:
        """Draws frames and lines. grey: 0 is black, 1 white."""
        with pymupdf.open() as document:
            page = document.new_page(width=self.width_pt, height=self.height_pt)
            shape = page.new_shape()
            for rect in rects:
                shape.draw_rect(rect)
            for start, end in lines:
                shape.draw_line(start, end)
            shape.finish(color=(grey,) * 3, width=width_pt)
            shape.commit()
            drawn, whole = page.get_displaylist(), pymupdf.mupdf.FzRect(*page.rect)
            pymupdf.mupdf.fz_run_display_list(
                drawn.this, self._device.this, pymupdf.mupdf.FzMatrix(), whole, pymupdf.mupdf.FzCookie()
            )

    def height(self, blocks: list[Block], box: pymupdf.Rect) -> float:
        """Returns the height in points of all of the blocks. Raises UnreadableError if the box is too small."""
        more, filled = self._story(blocks).place(box)
        if more:
            raise UnreadableError("too much text for its place")
        return float(filled[3] - box.y0)

    def finish(self) -> Sheet:
        pymupdf.mupdf.fz_close_device(self._device.this)
        return Sheet(
            display=pymupdf.DisplayList(self._drawn),
            width_pt=self.width_pt,
            height_pt=self.height_pt,
            flows=tuple(self.flows),
        )

    def _story(self, blocks: list[Block]) -> pymupdf.Story:
        language = f" lang={self.style.language}" if self.style.language else ""
        markup = f"<div{language}>{''.join(block.html for block in blocks)}</div>"
        return pymupdf.Story(markup, user_css=self.style.css, archive=self.fonts.archive(self.images))


def _elements(story: pymupdf.Story) -> list[tuple[str, Box]]:
    """Returns the named tables and pictures placed last, with their rectangles.

    MuPDF reports a picture's position three times: as the line before it, as itself, and as the line after it.
    Its own is too high; it is on the baseline, which is at 0.8 of the line's em.
    """
    told: dict[str, list[pymupdf.Rect]] = {}

    def note(position: Any) -> None:
        if position.id:
            told.setdefault(position.id, []).append(pymupdf.Rect(position.rect))

    story.element_positions(note, {})
    found = []
    for name, rects in told.items():
        largest = max(rects, key=lambda rect: rect.width)
        top, bottom = largest.y0, largest.y1
        lines = [rect for rect in rects if rect.width == 0]
        if lines:
            bottom = lines[0].y0 + 0.8 * lines[0].height
            top = bottom - largest.height
        found.append((name, (largest.x0, top, largest.x1, bottom)))
    return found
