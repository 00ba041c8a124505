"""Extracts the truth of a page from its text layer: the text to write, and where each character is.

Conventions: the page's own line breaks are kept as one newline; a larger vertical gap, or a jump to another
column, is a blank line; hyphens at line ends stay; ligatures are spelled out; NFC.
"""

import unicodedata
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pymupdf

_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
_REPLACED = {
    "\u00a0": " ",
    "\u00ad": "-",
    "\u2010": "-",
    "\u2011": "-",
    "\u2212": "−",
    "\u2002": " ",
    "\u2003": " ",
    "\u2009": " ",
    "\u200a": "",  # letterspacing, or the air around a dash
    "\u202f": " ",
    "\u2007": " ",
    "\t": " ",
    "\u00b4": "´",
}
_BREAK_GAP = 1.75  # baselines further apart than this many font sizes are two paragraphs


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """N characters of a page in reading order, line breaks and spaces between words included.

    text: the N characters. box_pt: [N, 4] float32 x0, y0, x1, y1 (baseline band, see `extract`), NaN for
    characters that leave no mark. In the page's own coordinates (points), before any render matrix.
    """

    text: str
    box_pt: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One page, drawn but not yet rasterised. The caller must keep its fonts and texts alive.

    markup: the HTML that it was typeset from, in the order of its text layer, where its end may be missing.
    """

    display: pymupdf.DisplayList
    width_pt: float
    height_pt: float
    markup: str = ""

    @classmethod
    def of(cls, page: pymupdf.Page) -> "Sheet":
        return cls(display=page.get_displaylist(), width_pt=page.rect.width, height_pt=page.rect.height)

    def grey(self, scale: float) -> npt.NDArray[np.uint8]:
        """Returns the page at so many pixels a point, [H, W]; 255 is paper."""
        matrix = pymupdf.Matrix(scale, scale)
        drawn = self.display.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=0)
        return np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.stride)[:, : drawn.width]


class UnreadableError(Exception):
    """The page's text layer cannot serve as truth (vertical text, unmapped characters)."""


def layer_lines(sheet: Sheet) -> list[tuple[list[tuple[str, tuple[float, ...]]], float, float, float, float]]:
    """Returns visual lines: (characters with boxes, baseline, size, x0, x1), in the order of the text layer."""
    lines: list[tuple[list[tuple[str, tuple[float, ...]]], float, float, float, float]] = []
    odd = total = 0
    for block in pymupdf.TextPage(sheet.display.get_textpage(_FLAGS)).extractRAWDICT()["blocks"]:
        for line in block.get("lines", ()):
            chars: list[tuple[str, tuple[float, ...]]] = []
            size, baseline = 0.0, 0.0
            for span in line["spans"]:
                for char in span["chars"]:
                    total += 1
                    mark = char["c"]
                    if (
                        abs(line["dir"][0] - 1) > 0.01
                        or ord(mark[0]) < 32
                        or unicodedata.category(mark[0]) in ("Co", "Cn")
                    ):
                        odd += 1
                        continue
                    x0, _, x1, _ = char["bbox"]
                    y = char["origin"][1]
                    chars.append((mark, (x0, y - 0.68 * span["size"], x1, y + 0.04 * span["size"])))
                    if span["size"] > size:
                        size, baseline = span["size"], y
            if any(c.strip() for c, _ in chars):
                lines.append((chars, baseline, size, line["bbox"][0], line["bbox"][2]))
    if odd > 0.02 * total + 2:
        raise UnreadableError(f"{odd} of {total} characters are vertical or unmapped")
    return lines


def clean(mark: str) -> str:
    """Returns a character as the truth has it: ligatures spelled out, NFC, one kind of hyphen and of space."""
    mark = unicodedata.normalize("NFKC" if "\ufb00" <= mark <= "\ufb06" else "NFC", mark)
    return _REPLACED.get(mark, mark)


def extract(sheet: Sheet) -> Glyphs:
    """Returns the page's characters in reading order, with the band from baseline to capital height of each.

    Raises UnreadableError if more than 2% of the characters cannot be truth.
    """
    text: list[str] = []
    boxes: list[tuple[float, ...]] = []
    nowhere = (float("nan"),) * 4

    def put(marks: str, box: tuple[float, ...]) -> None:
        for mark in marks:
            if mark == " " and (not text or text[-1] in " \n"):
                continue
            text.append(mark)
            boxes.append(nowhere if mark in " \n" else box)

    def end_line(marks: str) -> None:
        while text and text[-1] == " ":
            text.pop()
            boxes.pop()
        put(marks, nowhere)

    previous: tuple[float, float, float] | None = None
    for chars, baseline, size, x0, x1 in layer_lines(sheet):
        if previous is not None:
            drop, largest = baseline - previous[0], max(size, previous[1])
            if abs(drop) < 0.5 * largest and x0 > previous[2] - 0.2 * size:
                put(" ", nowhere) if x0 > previous[2] + 0.12 * size else None
            else:
                end_line("\n" if 0 < drop < _BREAK_GAP * largest else "\n\n")
        for mark, box in chars:
            put(clean(mark), box)
        previous = (baseline, size, x1)
    end_line("")
    return Glyphs(text="".join(text), box_pt=np.asarray(boxes, np.float32).reshape(-1, 4))


def transform(glyphs: Glyphs, matrix: pymupdf.Matrix) -> npt.NDArray[np.float32]:
    """Returns [N, 4] boxes in pixels: the bounding box of each transformed box."""
    x0, y0, x1, y1 = glyphs.box_pt.T
    xs = np.stack([x * matrix.a + y * matrix.c + matrix.e for x in (x0, x1) for y in (y0, y1)])
    ys = np.stack([x * matrix.b + y * matrix.d + matrix.f for x in (x0, x1) for y in (y0, y1)])
    return np.stack([xs.min(0), ys.min(0), xs.max(0), ys.max(0)], 1).astype(np.float32)
