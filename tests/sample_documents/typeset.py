"""Sets blocks of text on PDF pages and keeps what was set, in reading order."""

from dataclasses import dataclass, field
from typing import Any

import pymupdf

Block = dict[str, Any]  # of one item, its kind and its content: see texts.yaml

# (font, size in points, space above in points) of each kind of block.
STYLES: dict[str, tuple[str, float, float]] = {
    "title": ("bold", 20, 0),
    "heading": ("bold", 13, 8),
    "text": ("regular", 11, 0),
    "item": ("regular", 11, 0),
    "small": ("regular", 10, 0),
}


@dataclass
class Sheet:
    """One page being set. truth: its lines so far."""

    page: pymupdf.Page
    fonts: dict[str, pymupdf.Font]
    body_pt: float = 11.0
    truth: list[str] = field(default_factory=list)

    def set_blocks(self, blocks: list[Block], box: tuple[float, float, float, float]) -> None:
        """Sets the blocks from the top of the box (x0, y0, x1, y1) in points."""
        x0, y, x1, y1 = box
        writer = pymupdf.TextWriter(self.page.rect)
        for block in blocks:
            ((kind, content),) = block.items()
            if kind == "gap":
                y += float(content)
            elif kind == "table":
                y = self._set_table(content, x0, y, x1, writer)
            else:
                y = self._set_text(kind, str(content), x0, y, x1, writer)
            assert y < y1, f"{content!r} does not fit its page"
        writer.write_text(self.page)

    def _set_text(self, kind, text, x0, y, x1, writer) -> float:
        font_name, size, above = STYLES[kind]
        size *= self.body_pt / 11
        font = self.fonts[font_name]
        y += above
        left = x0
        if kind == "item":
            writer.append((x0 + 6, y + size), "•", font=font, fontsize=size)
            left = x0 + 20
        lines = wrap(text, font, size, x1 - left)
        for line in lines:
            y += size * 1.32
            writer.append((left, y - size * 0.32), line, font=font, fontsize=size)
        self.truth += [("• " if kind == "item" else "") + lines[0], *lines[1:]]
        return y + size * (0.25 if kind in ("item", "heading") else 0.55)

    def _set_table(self, rows, x0, y, x1, writer) -> float:
        size = self.body_pt
        y += 6
        right_edges = [x0 + (x1 - x0) * share for share in (0.62, 0.85)]
        for number, row in enumerate(rows):
            y += size * 1.55
            font = self.fonts["bold" if number == 0 else "regular"]
            writer.append((x0 + 4, y), row[0], font=font, fontsize=size)
            for cell, edge in zip(row[1:], right_edges, strict=True):
                writer.append((edge - font.text_length(cell, size), y), cell, font=font, fontsize=size)
            if number in (0, len(rows) - 1):
                line_y = y + size * 0.4 if number == 0 else y - size * 1.1
                self.page.draw_line((x0, line_y), (x0 + (x1 - x0) * 0.88, line_y), width=0.7)
            self.truth.append(" ".join(row))
        return y + size * 1.2


def wrap(text: str, font: pymupdf.Font, size: float, width: float) -> list[str]:
    """Returns the text in lines no wider than width points."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.text_length(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def fonts(family: str) -> dict[str, pymupdf.Font]:
    """Returns MuPDF's own free fonts (URW base 35): "serif" or "sans"."""
    names = {"serif": ("tiro", "tibo"), "sans": ("helv", "hebo")}[family]
    return {"regular": pymupdf.Font(names[0]), "bold": pymupdf.Font(names[1])}
