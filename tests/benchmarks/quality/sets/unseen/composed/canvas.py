"""Typesets the text of one page with MuPDF, box after box in reading order, and paints it with its pictures."""

from dataclasses import dataclass, field
from typing import Any

import pymupdf
from PIL import Image, ImageChops, ImageDraw

from ocr.training.pages.page_truth import Sheet, UnreadableError, extract

Box = tuple[float, float, float, float]
Colour = tuple[int, int, int]


@dataclass(slots=True, kw_only=True)
class Canvas:
    """A page in progress, in points. css and archive: of its typefaces; paper: the colour below everything.

    What `put` writes is the truth, in the order of the calls; pictures and rules are not.
    """

    width_pt: float
    height_pt: float
    css: str
    archive: pymupdf.Archive
    paper: Colour = (255, 255, 255)
    _pictures: list[tuple[Box, Image.Image]] = field(default_factory=list)
    _rules: list[tuple[Box, float, Colour, Colour | None]] = field(default_factory=list)
    _drawn: Any = field(init=False)
    _device: Any = field(init=False)

    def __post_init__(self) -> None:
        self._drawn = pymupdf.mupdf.FzDisplayList(pymupdf.mupdf.FzRect(0, 0, self.width_pt, self.height_pt))
        self._device = pymupdf.DeviceWrapper(self._drawn)

    def put(self, html: str, *boxes: Box) -> float:
        """Writes as much of the markup as the boxes hold, one after another; returns where it ends in the last.

        Raises UnreadableError where not even the first line fits.
        """
        story = pymupdf.Story(f"<div>{html}</div>", user_css=self.css, archive=self.archive)
        bottom = boxes[0][1]
        for box in boxes:
            more, filled = story.place(pymupdf.Rect(box))
            story.draw(self._device)
            bottom = float(filled[3])
            if box == boxes[0] and filled[3] <= box[1]:
                raise UnreadableError(f"no room for {html[:80]!r} in {box}")
            if not more:
                break
        return bottom

    def rule(
        self, box: Box, width_pt: float = 0.5, colour: Colour = (0, 0, 0), fill: Colour | None = None
    ) -> None:
        """Draws a frame; a box without height or width is a line."""
        self._rules.append((box, width_pt, colour, fill))

    def picture(self, box: Box, image: Image.Image) -> None:
        """Lays a picture over the page like a print on paper: what is dark stays dark."""
        self._pictures.append((box, image.convert("RGB")))

    def finish(self, dpi: float) -> tuple[Image.Image, str]:
        """Returns the page in RGB and its text. Raises UnreadableError for a face without the text's characters."""
        pymupdf.mupdf.fz_close_device(self._device.this)
        sheet = Sheet(
            display=pymupdf.DisplayList(self._drawn), width_pt=self.width_pt, height_pt=self.height_pt
        )
        scale = dpi / 72
        size = (round(self.width_pt * scale), round(self.height_pt * scale))
        page = Image.new("RGB", size, self.paper)
        draw = ImageDraw.Draw(page)
        for box, width_pt, colour, fill in self._rules:
            corners = [round(value * scale) for value in box]
            width = max(1, round(width_pt * scale))
            if box[0] == box[2] or box[1] == box[3]:
                draw.line(corners, fill=colour, width=width)
            else:
                draw.rectangle(corners, outline=colour, fill=fill, width=width)
        for box, image in self._pictures:
            left, top, right, bottom = (round(value * scale) for value in box)
            layer = Image.new("RGB", size, (255, 255, 255))
            layer.paste(image.resize((right - left, bottom - top), Image.Resampling.LANCZOS), (left, top))
            page = ImageChops.multiply(page, layer)
        drawn = sheet.display.get_pixmap(
            matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=1
        )
        letters = Image.frombytes("RGBa", (drawn.width, drawn.height), drawn.samples).convert("RGBA")
        page.paste(letters, (0, 0), letters)
        return page, extract(sheet).text
