"""The two networks as they run, in ONNX Runtime on a CPU: no torch is imported, and a session is made in 0.1 s.

ocr.training.lines and ocr.learning have the same networks in torch, to train; a test holds them against each other.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ocr.line_reader.found_lines import Floats
from ocr.line_reader.line_images import HEIGHT_PX
from ocr.line_reader.onnx_graph import MICROSOFT, Arrays, Graph, session

STRIDE_PX = 4  # pixels of the finder's input that one cell of its output stands for
DEEPEST_PX = 32  # the sides of the finder's input are multiples of this
DROP_PX, SIZE_PX = 8.0, 12.0  # units of two of the finder's outputs, in pixels of its input
STEP_PX = 8  # of the image that the reader's convolutions see: a step of its transformer
KERNEL = 9

# Of a line image's frames: the class of each, and its probability.
Frames = tuple[npt.NDArray[np.intp], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSizes:
    """The sizes of the network that reads a line; ocr.line_networks.reader_net says what each is."""

    num_classes: int
    height: int = HEIGHT_PX
    frames: int = 2
    width: int = 256
    layers: int = 6
    heads: int = 4
    stem: Sequence[int] = (32, 64, 128)
    blocks: Sequence[int] = (1, 2, 2)

    @property
    def step_px(self) -> int:
        """A step in the pixels of a line image."""
        return STEP_PX * HEIGHT_PX // self.height


class Networks(Protocol):
    """Both networks. characters: that the one knows which reads lines. sizes: its own."""

    characters: str
    sizes: ReaderSizes

    def cells(self, pages: Sequence[Floats]) -> list[Floats]:
        """Returns [3, h, w] for each page [H, W] in 0..1 (0 is white), as it is to be searched.

        A cell is STRIDE_PX wide. The logit of being in a line's small letters; the baseline's distance below the cell's
        middle, in DROP_PX; the logarithm of the type size in SIZE_PX.
        """

    def frames(self, images: Sequence[Floats]) -> list[Frames]:
        """Returns what each frame of normalised line images [HEIGHT_PX, W] shows most likely, and how likely.

        The classes are the blank, the space, the characters.
        """


class OnnxNetworks(Networks):
    """The networks of a folder in ONNX Runtime: finder.safetensors, reader.safetensors and reader.json.

    threads: of each. Raises: CheckpointError where a file is missing or holds other tensors.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self.characters, self.sizes = read_sizes(folder)
        finder, reader = folder / "finder.safetensors", folder / "reader.safetensors"
        self._finder = session(finder, finder_graph, ("darkness", "cells"), threads)
        self._reader = session(reader, partial(reader_graph, self.sizes), ("line", "logits"), threads)

    def cells(self, pages: Sequence[Floats]) -> list[Floats]:
        """Returns [3, h, w] for each page [H, W]; see Networks."""
        return list(map(self._cells, pages))

    def frames(self, images: Sequence[Floats]) -> list[Frames]:
        """Returns what each frame of line images [HEIGHT_PX, W] shows; see Networks."""
        return list(map(self._frames, images))

    def _cells(self, darkness: Floats) -> Floats:
        height, width = darkness.shape
        page = np.pad(darkness, ((0, -height % DEEPEST_PX), (0, -width % DEEPEST_PX)))
        cells: Floats = self._finder.run(None, {"darkness": page[None, None]})[0][0]
        return cells

    def _frames(self, image: Floats) -> Frames:
        logits = self._logits(image)
        classes = logits.argmax(-1)
        logits -= np.take_along_axis(logits, classes[:, None], 1)
        return classes, 1 / np.exp(logits, out=logits).sum(-1)

    def _logits(self, image: Floats) -> Floats:
        white = np.zeros((HEIGHT_PX, -image.shape[1] % self.sizes.step_px), np.float32)
        line = np.concatenate([image, white], axis=1)[None, None]
        logits: Floats = self._reader.run(None, {"line": line})[0][0]
        return logits


def read_sizes(folder: Path) -> tuple[str, ReaderSizes]:
    """Returns the characters that a folder's network knows, and its sizes. Raises: OSError, ValueError, KeyError."""
    config: dict[str, Any] = json.loads((folder / "reader.json").read_text(encoding="utf-8"))
    characters: str = config.pop("characters")
    return characters, ReaderSizes(num_classes=len(characters) + 2, **config)


def finder_graph(stored: Arrays) -> Graph:
    """Returns the graph of the network that finds lines: darkness [1, 1, H, W] -> cells [1, 3, H / 4, W / 4].

    What may be rounded is called as in FinderNet. Half of the page is not, or dashes would be joined.
    """
    graph = Graph(stored)
    double = graph.constant([1.0, 1.0, 2.0, 2.0])

    def conv(x: str, name: str, stride: int = 1) -> str:
        return graph.op("Relu", graph.conv(x, f"{name}.0", f"{name}.1", strides=(stride, stride)))

    def residual(x: str, name: str) -> str:
        inner = graph.rounded(conv(x, f"{name}.a"), f"{name}.a.2")
        inner = graph.rounded(graph.conv(inner, f"{name}.b.0", f"{name}.b.1"), f"{name}.b.1")
        return graph.op("Relu", graph.op("Add", x, inner))

    def halved(x: str, name: str) -> str:
        x = graph.rounded(conv(x, f"{name}.0", 2), f"{name}.0.2")
        return graph.rounded(residual(x, f"{name}.1"), f"{name}.1")

    def joined(fine: str, coarse: str, level: int) -> str:
        narrow = graph.rounded(graph.conv(coarse, f"u{level}", kernel=(1, 1)), f"u{level}")
        nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        wide = graph.rounded(graph.op("Resize", narrow, "", double, **nearest), f"u{level}")
        both = graph.op("Add", fine, wide)
        return residual(graph.rounded(both, f"j{level}"), f"r{level}")

    quarter = halved(conv("darkness", "s2", 2), "s4")
    eighth = halved(quarter, "s8")
    sixteenth = halved(eighth, "s16")
    deepest = graph.rounded(residual(halved(sixteenth, "s32"), "s32.2"), "s32.2")
    found = graph.rounded(joined(sixteenth, deepest, 16), "r16")
    found = graph.rounded(joined(eighth, found, 8), "r8")
    graph.op("Identity", graph.conv(joined(quarter, found, 4), "head", kernel=(1, 1)), to="cells")
    return graph


def reader_graph(sizes: ReaderSizes, stored: Arrays) -> Graph:
    """Returns the graph of the network that reads a line: line [1, 1, HEIGHT_PX, W] -> logits [1, frames, classes].

    What may be rounded is called as in ReaderNet.
    """
    graph, x = Graph(stored), "line"
    if sizes.height != HEIGHT_PX:
        ratio = sizes.height / HEIGHT_PX
        x = graph.op("Resize", x, "", graph.constant([1.0, 1.0, ratio, ratio]), mode="linear")
    x = _stem(graph, x, sizes)
    x = graph.op("Reshape", graph.op("Transpose", x, perm=[0, 3, 1, 2]), graph.constant([0, 0, -1]))
    x = graph.linear(x, "collapse")
    for layer in range(sizes.layers):
        x = _trunk_block(graph, x, f"trunk.{layer}", sizes.width, sizes.heads)
    x = graph.linear(graph.layer_norm(x, "norm"), "head")
    graph.op("Reshape", x, graph.constant([0, -1, sizes.num_classes]), to="logits")
    return graph


def _stem(graph: Graph, x: str, sizes: ReaderSizes) -> str:
    place = 0
    for channels, number in zip(sizes.stem, sizes.blocks, strict=True):
        x = graph.op("Relu", graph.conv(x, f"stem.{place}", f"stem.{place + 1}", strides=(2, 2)))
        x, place = graph.rounded(x, f"stem.{place + 2}"), place + 3
        for name in (f"stem.{place + each}" for each in range(number)):
            inner = graph.conv(x, f"{name}.dw", f"{name}.n", group=channels)
            wide = graph.op(
                "Relu", graph.conv(graph.rounded(inner, f"{name}.n"), f"{name}.up", kernel=(1, 1))
            )
            wide = graph.rounded(wide, f"{name}.relu")
            narrow = graph.conv(wide, f"{name}.down", f"{name}.n2", kernel=(1, 1))
            x = graph.rounded(graph.op("Add", x, graph.rounded(narrow, f"{name}.n2")), name)
        place += number
    return x


def _trunk_block(graph: Graph, x: str, name: str, width: int, heads: int) -> str:
    plane = graph.op("Unsqueeze", graph.op("Transpose", x, perm=[0, 2, 1]), graph.constant([2]))
    along = graph.conv(plane, f"{name}.conv", kernel=(1, KERNEL), group=width)
    along = graph.op("Transpose", graph.op("Squeeze", along, graph.constant([2])), perm=[0, 2, 1])
    x = graph.op("Add", x, along)
    qkv = graph.linear(graph.layer_norm(x, f"{name}.n1"), f"{name}.qkv")
    qkv = graph.op("Reshape", qkv, graph.constant([0, 0, 3, heads, width // heads]))
    qkv = graph.op("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    query, key, value = (graph.op("Gather", qkv, graph.constant(part), axis=0) for part in range(3))
    scores = graph.op("MatMul", query, graph.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = graph.op("Mul", scores, graph.constant([(width // heads) ** -0.5]))
    attended = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
    attended = graph.op("Transpose", attended, perm=[0, 2, 1, 3])
    attended = graph.op("Reshape", attended, graph.constant([0, 0, -1]))
    x = graph.op("Add", x, graph.linear(attended, f"{name}.out"))
    wide = graph.linear(graph.layer_norm(x, f"{name}.n2"), f"{name}.up")
    wide = graph.op("FastGelu", wide, domain=MICROSOFT)
    return graph.op("Add", x, graph.linear(wide, f"{name}.down"))
