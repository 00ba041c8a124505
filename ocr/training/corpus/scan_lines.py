"""Reads transcribed lines of scans (ALTO or PAGE XML), and says where they stand, by what a line finder sees, and which
of them can be learned.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal
from xml.etree import ElementTree as ET

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from ocr.line_reader.found_lines import Shades, TextLine
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.training.lines.page_lines import Place
from ocr.training.pages.page_truth import clean

# A word that is not typed, and letters struck out or added by hand: what such a line shows is not all in its text.
_UNSURE = re.compile("~~~|[⟦⟧]")
_BASELINE = 0.75  # of a box's height, where a line has no baseline
# In type sizes: how far a found line's baseline may be from a transcribed one. Shares: how much of the shorter must
# lie beside the other; how much of a line found lines must cover for their ends and baseline to be its own.
_NEAR, _BESIDE, _COVERS = 0.6, 0.6, 0.85
_OTHERWISE = 0.55  # share of wrong characters from which a text is hardly that of the line
_STEEPEST = 0.08
# Type sizes of white that part a line for the finder, as in ocr.training.lines.page_lines; what is ink, as a share of
# the darkest.
_GAP, _INKED = 2.2, 0.4
_PRINTED = 0.8  # confidence from which a line among handwriting is print
Kind = Literal["text", "parted", "unsure", "hand"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TranscribedLine:
    """A line of a scan. text: empty where it is not surely all that the line shows.

    baseline: [K, 2] x and y in pixels of the scan, from left to right.
    """

    text: str
    baseline: npt.NDArray[np.float64]


def transcribed_lines(xml: bytes) -> list[TranscribedLine]:
    """Returns the lines that have a place, in the order of the file. Raises ET.ParseError for what is no XML."""
    found = []
    for element in ET.fromstring(xml).iter():
        if _name(element) != "TextLine":
            continue
        baseline = _baseline(element)
        if baseline is not None:
            found.append(TranscribedLine(text=plain(_text(element)), baseline=baseline))
    return found


def plain(text: str) -> str:
    """Returns a line as the reader should write it, without transcribers' signs; empty where it is unsure."""
    if _UNSURE.search(text):
        return ""
    text = re.sub(r"(?<!\S)_(?=\S)|\^", "", text)
    text = re.sub("-?[¬⸗]", "-", text)
    return " ".join("".join(map(clean, text)).split())


def _text(line: ET.Element) -> str:
    words = [element.get("CONTENT", "") for element in _within(line, "String")]
    if words:
        return " ".join(words)
    # The line's own text, not its words': the last of its children.
    own = [child for child in line if _name(child) == "TextEquiv"]
    return next((element.text or "" for child in own[-1:] for element in _within(child, "Unicode")), "")


def _baseline(line: ET.Element) -> npt.NDArray[np.float64] | None:
    given = line.get("BASELINE") or next((e.get("points", "") for e in _within(line, "Baseline")), "")
    values = _numbers(given)
    if len(values) < 4 or len(values) % 2:
        outline = [
            _numbers(e.get("POINTS") or e.get("points") or "") for e in _within(line, "Polygon", "Coords")
        ]
        box = _box(line, outline[0] if outline else [])
        if box is None:
            return None
        y = values[0] if len(values) == 1 else box[1] + _BASELINE * (box[3] - box[1])
        values = [box[0], y, box[2], y]
    points = np.asarray(values, np.float64).reshape(-1, 2)
    points = points[np.argsort(points[:, 0], kind="stable")]
    return points if points[-1, 0] > points[0, 0] else None


def _box(line: ET.Element, outline: list[float]) -> tuple[float, float, float, float] | None:
    if len(outline) >= 4:
        return min(outline[::2]), min(outline[1::2]), max(outline[::2]), max(outline[1::2])
    sides = [_numbers(line.get(name, "")) for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT")]
    if not all(sides):
        return None
    left, top, width, height = (side[0] for side in sides)
    return left, top, left + width, top + height


def _within(element: ET.Element, *names: str) -> Iterator[ET.Element]:
    return (child for child in element.iter() if _name(child) in names)


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLine:
    """A line of a scan.

    kind: text; text that wide white parts, so that a finder sees several lines; a text that is unsure; or handwriting,
    which is none.
    """

    place: Place
    text: str
    kind: Kind

    def scaled(self, factor: float) -> "ScanLine":
        """Returns the line on a page of `factor` times the size."""
        return replace(self, place=self.place.moved(factor, factor))

    def listed(self) -> list[object]:
        """Returns the line as index.json has it."""
        return [
            *(round(value, 4 if n == 3 else 1) for n, value in enumerate(self.place)),
            self.kind,
            self.text,
        ]


def placed(
    grey: npt.NDArray[np.uint8], lines: list[TranscribedLine], reader: LineReader, *, handwriting: bool
) -> list[ScanLine]:
    """Returns the transcribed lines, and those that only the finder saw (unsure, or handwriting).

    grey: [H, W]. handwriting: all lines are.
    """
    darkness = darkness_of(grey)
    seen = reader.find(darkness)
    if handwriting:
        # Letterheads and stamps are print.
        read = reader.read(darkness, seen)
        printed = {id(own.line) for own in read if own.confidence > _PRINTED and len(own.text) > 2}
        return [
            ScanLine(place=_of(line), text="", kind="unsure" if id(line) in printed else "hand")
            for line in seen
        ]
    if not seen:
        return []
    usual = float(np.median([line.size for line in seen]))
    near = [[other for other in seen if _is_near(line, other)] for line in lines]
    offsets = [_height(line, other) for line, others in zip(lines, near, strict=True) for other in others[:1]]
    offset = float(np.median(offsets)) if offsets else 0.0
    found = [_place(line, others, usual, offset) for line, others in zip(lines, near, strict=True)]
    read = reader.read(darkness, [_line(place, grey.shape[1]) for place in found])
    made = []
    for place, line, own in zip(found, lines, read, strict=True):
        sure: Kind = "parted" if _is_parted(darkness, place) else "text"
        wrong = Levenshtein.distance(line.text, own.text)
        is_alike = bool(line.text) and wrong <= _OTHERWISE * max(len(line.text), 2)
        made.append(ScanLine(place=place, text=line.text, kind=sure if is_alike else "unsure"))
    used = {id(other) for others in near for other in others}
    made += [ScanLine(place=_of(line), text="", kind="unsure") for line in seen if id(line) not in used]
    return made


def _is_parted(darkness: Shades, place: Place) -> bool:
    """Returns whether wide white is within a line."""
    left, right = max(0, round(place.x0)), round(place.x1)
    levels = place.baseline + place.slope * (np.arange(left, right) - place.x0)
    rows = np.arange(-round(0.7 * place.size), round(0.1 * place.size) + 1)[:, None]
    band = darkness[
        (levels + rows).astype(int).clip(0, len(darkness) - 1),
        np.arange(left, right).clip(max=darkness.shape[1] - 1),
    ]
    paper, ink = np.quantile(band, (0.5, 0.98))
    inked = np.flatnonzero(band.max(0) > paper + _INKED * (ink - paper))
    return bool((np.diff(inked) > _GAP * place.size).any())


def _is_near(line: TranscribedLine, other: TextLine) -> bool:
    left, right = line.baseline[0, 0], line.baseline[-1, 0]
    shared = min(right, other.right) - max(left, other.left)
    if shared < _BESIDE * min(right - left, other.right - other.left):
        return False
    return abs(_height(line, other)) < _NEAR * other.size


def _height(line: TranscribedLine, other: TextLine) -> float:
    """Returns how far below the transcribed baseline the found one is, in the middle of what they share."""
    left, right = line.baseline[0, 0], line.baseline[-1, 0]
    x = (max(left, other.left) + min(right, other.right)) / 2
    at = other.baseline[min(max(int(x) - other.left, 0), len(other.baseline) - 1)]
    return float(at - np.interp(x, line.baseline[:, 0], line.baseline[:, 1]))


def _place(line: TranscribedLine, others: list[TextLine], usual: float, offset: float) -> Place:
    """Returns a line's place: as found if it was found whole, else as transcribed. offset: of the page's baselines."""
    left, right = float(line.baseline[0, 0]), float(line.baseline[-1, 0])
    widths = [other.right - other.left for other in others]
    size = float(np.average([other.size for other in others], weights=widths)) if others else usual
    covered = sum(min(right, other.right) - max(left, other.left) for other in others)
    if others and covered > _COVERS * (right - left):
        x = np.concatenate([np.arange(other.left, other.right) + 0.5 for other in others])
        y = np.concatenate([other.baseline for other in others])
        first, last = min(other.left for other in others), max(other.right for other in others)
        # A found line may run on into its neighbour.
        first = first if left - first < size else round(left)
        last = last if last - right < size else round(right)
    else:
        x = np.linspace(left, right, 16)
        y = np.interp(x, line.baseline[:, 0], line.baseline[:, 1]) + offset
        first, last = round(left), round(right)
    slope = float(np.polyfit(x, y, 1)[0]) if right - left > 4 * size else 0.0
    slope = slope if abs(slope) <= _STEEPEST else 0.0
    return Place(first, last, float(np.median(y - slope * (x - first))), slope, size)


def _of(line: TextLine) -> Place:
    x = np.arange(len(line.baseline)) + 0.5
    slope = float(np.polyfit(x, line.baseline, 1)[0]) if len(x) > 4 * line.size else 0.0
    return Place(line.left, line.right, float(np.median(line.baseline - slope * x)), slope, line.size)


def _line(place: Place, width_px: int) -> TextLine:
    left, right = max(0, round(place.x0)), min(width_px, max(round(place.x1), round(place.x0) + 2))
    x = np.arange(left, right) + 0.5
    return TextLine(
        left=left,
        right=right,
        baseline=(place.baseline + place.slope * (x - place.x0)).astype(np.float32),
        size=place.size,
    )
