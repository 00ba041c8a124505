"""Pages and line images of any size as stacks of few sizes, in bytes: what networks on a GPU take, from any process."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ocr.line_reader.found_lines import Floats, Shades
from ocr.line_reader.line_images import HEIGHT_PX, MAX_WIDTH_PX
from ocr.line_reader.networks import DEEPEST_PX, STRIDE_PX, Frames, Networks, ReaderSizes

FIND, LINE = "find", "line"
Outputs = Mapping[str, npt.NDArray[Any]]
Axis = tuple[int, int]

# White, and how many steps darker ink is: line images reach from -0.3 to 1.3.
WHITE = {FIND: 0, LINE: 47}
INK = {FIND: 255, LINE: 156}
WIDTHS = (128, 256, 512, 1024, MAX_WIDTH_PX)
# A stack is not divided: so many images of it are a part of the largest batch.
MOST_IMAGES = {FIND: 4, LINE: 32}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stack:
    """Images of one class of sizes. path: FIND for pages, LINE for line images. pixels: [N, H, W], padded with white.

    sizes: int32 [N, 2], height and width of each. members: their numbers among those asked for.
    """

    path: str
    pixels: Shades
    sizes: npt.NDArray[np.int32]
    members: Sequence[int]

    @property
    def axis(self) -> Axis:
        """Returns the class: height and width with padding."""
        return self.pixels.shape[1], self.pixels.shape[2]


class StackedNetworks(Networks, ABC):
    """Networks that get pages and line images in stacks."""

    def __init__(self, characters: str, sizes: ReaderSizes) -> None:
        self.characters, self.sizes = characters, sizes

    @abstractmethod
    def run(self, stacks: Sequence[Stack]) -> list[Outputs]:
        """Returns each stack's outputs, as output_kinds() says."""

    def cells(self, pages: Sequence[Shades]) -> list[Floats]:
        """Returns [3, h, w] for each page [H, W]; see Networks."""
        sizes = ([_up(side, DEEPEST_PX) // STRIDE_PX for side in page.shape] for page in pages)
        found = zip(self._read(FIND, pages), sizes, strict=True)
        return [own["cells"][:, :height, :width].astype(np.float32) for own, (height, width) in found]

    def frames(self, images: Sequence[Floats]) -> list[Frames]:
        """Returns what each frame of line images [HEIGHT_PX, W] shows; see Networks."""
        numbers = (num_frames(self.sizes, image.shape[1]) for image in images)
        coded = [np.rint(image * INK[LINE] + WHITE[LINE]).astype(np.uint8) for image in images]
        found = zip(self._read(LINE, coded), numbers, strict=True)
        return [(own["classes"][:num].astype(np.intp), own["chances"][:num]) for own, num in found]

    def _read(self, path: str, images: Sequence[Shades]) -> list[Outputs]:
        stacks = list(stacked(path, images))
        found: list[Outputs] = [{}] * len(images)
        for stack, outputs in zip(stacks, self.run(stacks), strict=True):
            for place, member in enumerate(stack.members):
                found[member] = {name: output[place] for name, output in outputs.items()}
        return found


def stacked(path: str, images: Sequence[Shades]) -> Iterator[Stack]:
    """Yields images [H, W] of any sizes as stacks. path: FIND for pages, LINE for line images in bytes."""
    members: dict[Axis, list[int]] = {}
    for number, image in enumerate(images):
        members.setdefault(axis_of(path, *image.shape), []).append(number)
    for axis, all_ in members.items():
        for start in range(0, len(all_), MOST_IMAGES[path]):
            some = all_[start : start + MOST_IMAGES[path]]
            pixels = np.full((len(some), *axis), WHITE[path], np.uint8)
            for place, image in zip(pixels, (images[number] for number in some), strict=True):
                height, width = image.shape
                place[:height, :width] = image
            sizes = np.array([images[number].shape for number in some], np.int32)
            yield Stack(path=path, pixels=pixels, sizes=sizes, members=some)


def output_kinds(sizes: ReaderSizes, path: str, axis: Axis) -> dict[str, tuple[tuple[int, ...], type]]:
    """Returns the shape of one image's outputs and their kind, by name.

    A page's cells; the class of each of a line's frames, and how likely it is.
    """
    if path == FIND:
        return {"cells": ((3, axis[0] // STRIDE_PX, axis[1] // STRIDE_PX), np.float16)}
    frames = num_frames(sizes, axis[1])
    return {"classes": ((frames,), np.int16), "chances": ((frames,), np.float32)}


def num_frames(sizes: ReaderSizes, width_px: int) -> int:
    """Returns how many frames a line image of this width has."""
    return -(-width_px // sizes.step_px) * sizes.frames


def axis_of(path: str, height: int, width: int) -> Axis:
    """Returns the height and width that an image has with its padding."""
    if path == LINE:
        return HEIGHT_PX, next(size for size in WIDTHS if size >= width)
    return _class_of(height), _class_of(width)


def _class_of(side: int) -> int:
    """Returns a page's side with its padding: a power of two up to 1,024, four classes from there to each next one."""
    bits = (side - 1).bit_length()
    return _up(side, 1 << bits - 3) if side > 1024 else max(128, 1 << bits)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
