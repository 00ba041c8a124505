"""Finds the lines of a page and reads them. No text is invented: each line's text is what its pixels show."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
from PIL import Image

from encoders.views import UInt8Array
from ocr.line_reader.finder_cells import Cells, lines_of
from ocr.line_reader.found_lines import Floats, Ints, LineWord, ReadLine, Shades, TextLine
from ocr.line_reader.label_boxes import label_boxes
from ocr.line_reader.line_ends import joined, lengthened
from ocr.line_reader.line_images import ABOVE, BELOW, HEIGHT_PX, line_image, normalised, page_scale, pieces
from ocr.line_reader.line_parting import parted
from ocr.line_reader.line_words import Letter, placed_words, widest_hole
from ocr.line_reader.networks import DEEPEST_PX, DROP_PX, SIZE_PX, STRIDE_PX, Frames, Networks, OnnxNetworks
from ocr.line_reader.raised_figures import with_raised
from ocr.line_reader.rule_lines import Marks, is_ornament, marks_of, may_be_rule, rules_among
from ocr.line_reader.scales import Look, is_worth_halving, merged
from ocr.model_files.locate import CONFIDENCE
from ocr.transcript.confidence import Calibration

# The finder was trained on pages at 50 to 150 dpi: A4 at 100 dpi has this long side.
FINDER_PX = 1174
# In the finder's input: type that is too small for it, and type that is not.
_SMALL_SIZE_PX, _GOOD_SIZE_PX = 6.5, 11.0
# Strips and banners, such as till rolls, chats and pages of the web, are so many times as long as wide; and their
# narrower side in the finder's input.
_STRIP, _STRIP_PX = 4, 400
# Longer sides to which a page without lines is reduced in turn: A4 with letters of 40 to 400 points has some then.
_SIDES_PX = (600, 300, 100, 50)
# A page that is reduced so much is looked at again from near where nothing was found.
_FAR_SCALE, _CLOSE_SCALE = 0.2, 0.5
_GAP = 1.5  # pages are averaged to no less than so many times the size that they are resized to
# Of 90 pages with photographs and without print one has a line with 0.61, the others at most 0.50: a hole is like a 0,
# a pillar like a 1. The least of ten posters, a II, has 0.56.
_LEAST_SURE = 0.53
# Type sizes that a finder may tell, in its input's pixels: a line of less would be magnified without bound.
_SIZES_PX = (3.0, 600.0)
_HINT = -3.5  # a logit: in two of three parts of scans none is higher, in none where letters stand
_BLANK = 0
# A letter or digit that is so likely in one or the other of two frames is read there, though blank is likelier in each.
_SPLIT = 0.6
# Of equal letters with one frame between, the least, the less sure is none below this; never if narrow, if wide always.
_LEAST_TWICE, _TWICE = 0.85, dict.fromkeys("fijlrtI1", 0.0) | dict.fromkeys("mwMW", 2.0)
_INK = 38  # cells of a page whose darkness differs by no more levels have none
_SURE = 0.85  # what is read with less in lines that were not found for sure is no text
_UNLIKELY = 0.5  # what is read with less is left out of a page's text: a border, perhaps


class LineReader:
    """Finds and reads lines of text. calibration: of its confidence, None for a reader without one."""

    def __init__(self, networks: Networks, calibration: Calibration | None = None) -> None:
        self._networks = networks
        self.calibration = calibration
        self._names = ("", " ", *networks.characters)

    @classmethod
    def load(cls, folder: Path, threads: int = 1, networks: Networks | None = None) -> "LineReader":
        """Returns the reader stored in a folder: finder.safetensors, reader.safetensors and reader.json.

        A confidence.json there is its calibration. networks: what runs them, None for ONNX Runtime.
        Raises: CheckpointError where one of them cannot be read.
        """
        fitted = folder / CONFIDENCE
        calibration = Calibration.read(fitted) if fitted.exists() else None
        return cls(networks or OnnxNetworks(folder, threads), calibration)

    def find(self, darkness: Shades, of: Shades | None = None) -> list[TextLine]:
        """Returns the page's lines in no order. darkness: [H, W].

        Small print is looked at a second time, enlarged: the page may be a sheet of newspaper. Large type is looked for
        on the page reduced. of: the page of which this is a part; at its scale, nothing may hint at a line.
        """
        if of is not None:
            seen = self._networks.cells([_reduced(darkness, min(1.0, FINDER_PX / max(of.shape)))])
            if seen[0][0].max() < _HINT:
                return []
        first, page = self._first_look(darkness)
        further = [(_reduced(page, 1 / 4), first.scale / 4)]
        while max((half := _reduced(further[-1][0], 1 / 2)).shape) > DEEPEST_PX:
            further.append((half, further[-1][1] / 2))
        looks = [first, *self._looks(further, darkness.shape[1])]
        if is_worth_halving(*looks[:2]):
            looks += self._looks([(_reduced(page, 1 / 2), first.scale / 2)], darkness.shape[1])
        lines = merged(looks, lambda lines: self._sure_letters(darkness, lines))
        whole = joined(darkness, lengthened(darkness, parted(darkness, lines)))
        return [part for line in whole for part in self._with_labels(darkness, line)]

    def _with_labels(self, darkness: Shades, line: TextLine) -> list[TextLine]:
        """Returns a line, in parts if more is read so as it runs over boxes with light letters."""
        labels, ends = list[TextLine](), [line.left]
        for start, end, likely in label_boxes(darkness, line):
            if read := self.read(darkness, [replace(own, is_sure=False) for own in likely]):
                labels.append(max(read, key=lambda own: own.num_letters * own.confidence).line)
                ends += [start, end]
        sides = zip(ends[::2], [*ends[1::2], line.right], strict=True)
        parts = [*labels, *(line.between(*side) for side in sides if side[1] - side[0] > line.size / 2)]
        readings = (self.read(darkness, own) for own in (parts, [line]) if labels)
        both = [sum(own.num_letters * own.confidence for own in read) for read in readings]
        return parts if labels and both[0] > both[1] else [line]

    def shows_large_print(self, darkness: Shades) -> bool:
        """Returns whether letters or digits are read on the page, [H, W], once it is reduced, as those of a poster."""
        scales = (side / max(darkness.shape) for side in _SIDES_PX if side < max(darkness.shape))
        pages = (_reduced(darkness, scale, Image.Resampling.BOX) for scale in scales)
        return any(self._sure_letters(page, self.find(page)) for page in pages)

    def _first_look(self, darkness: Shades) -> tuple[Look, Shades]:
        """Returns the lines of a page seen from so near that its small print is found, and the page reduced so far."""
        long_px, short_px = max(darkness.shape), min(darkness.shape)
        scale = min(1.0, _STRIP_PX / short_px if long_px > _STRIP * short_px else FINDER_PX / long_px)
        look, page = self._look(darkness, scale)
        if not look.lines and scale < _FAR_SCALE:
            look, page = self._look(darkness, _CLOSE_SCALE)
        size = median(look.sizes_px()) if look.lines else _GOOD_SIZE_PX
        if look.scale < 1 and size < _SMALL_SIZE_PX:
            scale = min(1.0, look.scale * _GOOD_SIZE_PX / size)
            look, page = self._look(darkness, scale)
        return look, page

    def _look(self, darkness: Shades, scale: float) -> tuple[Look, Shades]:
        """Returns the lines of a page that is reduced by scale first, and the page reduced."""
        page = _reduced(darkness, scale)
        return self._looks([(page, scale)], darkness.shape[1])[0], page

    def _looks(self, pages: Sequence[tuple[Shades, float]], width: int) -> list[Look]:
        """Returns the lines of a page of this width, each time it was reduced to [h, w], by a scale."""
        found = self._networks.cells([page for page, _ in pages])
        return [
            Look(scale=scale, lines=lines_of(_cells_of(page, cells), scale, width))
            for (page, scale), cells in zip(pages, found, strict=True)
        ]

    def _sure_letters(self, darkness: Shades, lines: Sequence[TextLine]) -> int:
        """Returns how many letters and digits the lines have, without those that are none perhaps."""
        return sum(line.num_letters for line in self.read(darkness, lines) if line.confidence > _LEAST_SURE)

    def read(self, darkness: Shades, lines: Sequence[TextLine]) -> list[ReadLine]:
        """Returns the lines with their texts, in the order given; what is a rule and no text has none.

        Lines that were neither found nor read for sure are left out.
        """
        parts = (pieces(line_image(darkness, line)) for line in lines)
        images = [(number, normalised(part)) for number, own in enumerate(parts) for part in own]
        texts: list[list[str]] = [[] for _ in lines]
        chances: list[list[float]] = [[] for _ in lines]
        words: list[list[LineWord]] = [[] for _ in lines]
        starts, holes = [0] * len(lines), [0.0] * len(lines)
        frames = self._networks.frames([image for _, image in images])
        for (line, image), own in zip(images, frames, strict=True):
            letters = with_raised(image, self._decoded(*own), above=ABOVE, below=BELOW)
            texts[line].append("".join(letter.text for letter in letters))
            chances[line] += [letter.chance for letter in letters]
            origin, step = page_scale(lines[line])
            placed = placed_words(image, letters, above=ABOVE, below=BELOW)
            origin += step * starts[line]
            words[line] += [LineWord(it, origin + step * a, origin + step * b, p) for it, a, b, p in placed]
            holes[line] = max(holes[line], widest_hole(image, letters, above=ABOVE, below=BELOW))
            starts[line] += image.shape[1]
        found = [
            ReadLine(
                line=line,
                text=" ".join(filter(None, map(str.strip, texts[number]))),
                confidence=float(np.mean(chances[number])) if chances[number] else 0.0,
                words=tuple(words[number]),
                hole=holes[number],
            )
            for number, line in enumerate(lines)
        ]
        ornaments = {n for n, image in images if found[n].confidence <= _UNLIKELY and is_ornament(image)}
        for number in ornaments.union(rules_among(found, _marks(images, found))):
            found[number] = replace(found[number], text="", confidence=0.0, words=(), is_rule=True)
        return [read for read in found if read.line.is_sure or (read.confidence > _SURE and read.num_letters)]

    def _decoded(self, classes: Ints, chances: Floats) -> list[Letter]:
        """Returns the characters that frames spell, with their best probabilities; no repeats, blanks, outer spaces."""
        frame_px = self._networks.sizes.step_px / self._networks.sizes.frames
        classes, chances = self._with_split(classes, chances)
        first = np.flatnonzero(classes[1:] != classes[:-1]) + 1
        first, last = np.append(0, first), np.append(first, len(classes)) - 1
        surest, is_read = np.maximum.reduceat(chances, first), classes[first] != _BLANK
        middles = frame_px * ((first + last) / 2 + 0.5)
        found = zip(*(own[is_read].tolist() for own in (classes[first], middles, surest)), strict=True)
        letters = [Letter(self._names[number], x, chance) for number, x, chance in found]
        near = [(a, b) for a, b in pairwise(letters) if a.text == b.text and b.x - a.x <= 2 * frame_px]
        again = (min(pair, key=lambda its: its.chance) for pair in near)
        twice = {id(it) for it in again if it.chance < _TWICE.get(it.text, _LEAST_TWICE * it.text.isalnum())}
        kept = [letter for letter in letters if id(letter) not in twice] if twice else letters
        text = "".join([letter.text for letter in kept])
        return kept[len(text) - len(text.lstrip()) : len(text.rstrip())] or kept[:1]

    def _with_split(self, classes: Ints, chances: Floats) -> Frames:
        """Returns frames of which none is negative: what blank is likelier than is read where two share a letter."""
        second, classes, chances = -classes, np.maximum(classes, _BLANK), chances.copy()
        for step in (1, 2):  # wide letters may have a frame between, which shows blank alone
            for at in np.flatnonzero((second[:-step] > _BLANK) & (second[:-step] == second[step:])):
                own, either = slice(at, at + step + 1), 1 - (1 - chances[at]) * (1 - chances[at + step])
                is_new = not classes[own].any() and second[at] not in classes[max(0, at - 1) : at + step + 2]
                if either >= _SPLIT and is_new and self._names[second[at]].isalnum():
                    classes[own], chances[own] = second[at], either
        return classes, chances


def _cells_of(page: Shades, cells: Floats) -> Cells:
    """Returns what the finder says of a page's cells, [3, h, w]."""
    text, drop, size_log = cells
    middles = (np.arange(text.shape[0], dtype=np.float32)[:, None] + 0.5) * STRIDE_PX
    return Cells(
        text=1 / (1 + np.exp(-text)),
        baseline=middles + DROP_PX * drop,
        size=np.clip(SIZE_PX * np.exp(np.clip(size_log, -9, 9)), *_SIZES_PX),
        inked=_contrasts(page, *text.shape) > _INK,
        stride_px=STRIDE_PX,
    )


def _contrasts(page: Shades, rows: int, columns: int) -> Shades:
    """Returns by how much the darkness of a page differs within each of its cells, [rows, columns]."""
    whole = np.pad(page, ((0, rows * STRIDE_PX - len(page)), (0, columns * STRIDE_PX - page.shape[1])))
    pixels = whole.reshape(rows, STRIDE_PX, -1, STRIDE_PX).transpose(1, 3, 0, 2).reshape(-1, rows, columns)
    contrasts: Shades = pixels.max(0) - pixels.min(0)
    return contrasts


def _reduced(page: Shades, scale: float, by: Image.Resampling = Image.Resampling.BILINEAR) -> Shades:
    """Returns the page [H, W] at a smaller scale; as it is at 1."""
    if scale >= 1:
        return page
    height, width = (max(1, round(side * scale)) for side in page.shape)
    return np.asarray(Image.fromarray(page).resize((width, height), by, reducing_gap=_GAP))


def _marks(images: Sequence[tuple[int, Floats]], lines: Sequence[ReadLine]) -> list[Marks | None]:
    """Returns what marks each line shows at its end, None where it has letters anywhere, or was surely read as such."""
    size_px = HEIGHT_PX / (ABOVE + BELOW)
    found: dict[int, Marks | None] = {}
    for number, image in images:
        own = marks_of(image, size_px) if may_be_rule(lines[number]) else None
        found[number] = own if found.get(number, own) is not None else None
    return [found[number] for number in range(len(lines))]


def darkness_of(grey: UInt8Array) -> Shades:
    """Returns how dark each pixel is, 0 white to 255 black. grey: [H, W] uint8."""
    return ~grey
