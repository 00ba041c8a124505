"""Reads lines and their texts from transcriptions of scans: ALTO or PAGE XML."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import numpy as np
import numpy.typing as npt

from ocr.training.pages.page_truth import clean

# A word that is not typed, and letters struck out or added by hand: what such a line shows is not all in its text.
_UNSURE = re.compile("~~~|[⟦⟧]")
_BASELINE = 0.75  # of a box's height, where a line has no baseline


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
    words = [element.get("CONTENT", "") for element in _of(line, "String")]
    if words:
        return " ".join(words)
    # The line's own text, not its words': the last of its children.
    own = [child for child in line if _name(child) == "TextEquiv"]
    return next((element.text or "" for child in own[-1:] for element in _of(child, "Unicode")), "")


def _baseline(line: ET.Element) -> npt.NDArray[np.float64] | None:
    given = line.get("BASELINE") or next((e.get("points", "") for e in _of(line, "Baseline")), "")
    values = _numbers(given)
    if len(values) < 4 or len(values) % 2:
        outline = [_numbers(e.get("POINTS") or e.get("points") or "") for e in _of(line, "Polygon", "Coords")]
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


def _of(element: ET.Element, *names: str) -> Iterator[ET.Element]:
    return (child for child in element.iter() if _name(child) in names)


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]
