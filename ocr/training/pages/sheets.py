"""Draws a sheet: blocks placed in boxes one after another, in reading order."""

from dataclasses import dataclass, field
from typing import Any

import pymupdf

from ocr.training.pages.fonts import Fonts
from ocr.training.pages.page_truth import Sheet, UnreadableError
from ocr.training.pages.styles import Style

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
    _markup: list[str] = field(default_factory=list)
    _drawn: Any = field(init=False)
    _device: Any = field(init=False)

    def __post_init__(self) -> None:
        self._drawn = pymupdf.mupdf.FzDisplayList(pymupdf.mupdf.FzRect(0, 0, self.width_pt, self.height_pt))
        self._device = pymupdf.DeviceWrapper(self._drawn)

    def place(self, blocks: list[str], boxes: list[pymupdf.Rect]) -> float:
        """Draws as much of the blocks as the boxes hold; returns where they end in the last box used.

        Raises UnreadableError if a line is longer than its box is wide.
        """
        story, bottom = self._story(blocks), float(boxes[0].y0)
        self._markup += blocks
        for box in boxes:
            more, filled = story.place(box)
            if filled[2] > box.x1 + _OVER_PT:
                raise UnreadableError("a line is longer than its box is wide")
            story.draw(self._device)
            bottom = float(filled[3])
            if not more:
                break
        return bottom

    def height(self, blocks: list[str], box: pymupdf.Rect) -> float:
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
            markup="".join(self._markup),
        )

    def _story(self, blocks: list[str]) -> pymupdf.Story:
        language = f" lang={self.style.language}" if self.style.language else ""
        markup = f"<div{language}>{''.join(blocks)}</div>"
        return pymupdf.Story(markup, user_css=self.style.css, archive=self.fonts.archive(self.images))
