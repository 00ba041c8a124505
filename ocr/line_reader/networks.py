"""The two networks as they run, in ONNX Runtime on a CPU: no torch is imported, and a session is made in 0.1 s.

ocr.training.lines and ocr.learning have the same networks in torch, to train; a test holds them against each other.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnxruntime
from safetensors import SafetensorError
from safetensors.numpy import load_file

from ocr.errors import CheckpointError
from ocr.line_reader.found_lines import Floats, Shades
from ocr.line_reader.line_images import HEIGHT_PX
from ocr.line_reader.onnx_graph import INT8, Graph

STRIDE_PX = 4  # pixels of the finder's input that one cell of its output stands for
DEEPEST_PX = 32  # the sides of the finder's input are multiples of this
WIDTHS = (16, 32, 48, 64, 96)
DROP_PX, SIZE_PX = 8.0, 12.0  # units of two of the finder's outputs, in pixels of its input
STEP_PX = 8  # of the image that the reader's convolutions see: a step of its transformer
KERNEL = 9

# Two products of an unsigned byte and such a weight fit in 16 bits, where CPUs without VNNI add them up.
_MOST = 64
_MICROSOFT = "com.microsoft"
_EPSILON = 1e-5
CODED = ".scale"

# Of a line image's frames: the class of each, and its probability. Where blank is likelier than this class, it is
# negative, or blank's if less likely than LEAST.
LEAST = 0.2
Frames = tuple[npt.NDArray[np.intp], Floats]
Pair = tuple[int, int]


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

    def cells(self, pages: Sequence[Shades]) -> list[Floats]:
        """Returns [3, h, w] for each page [H, W], as it is to be searched.

        A cell is STRIDE_PX wide. The logit of being in a line's small letters; the baseline's distance below the cell's
        middle, in DROP_PX; the logarithm of the type size in SIZE_PX.
        """

    def frames(self, images: Sequence[Floats]) -> list[Frames]:
        """Returns what each frame of normalised line images [HEIGHT_PX, W] shows most likely, and how likely.

        The classes are the blank, the space, the characters; Frames tells which are negative.
        """


class OnnxNetworks(Networks):
    """The networks of a folder in ONNX Runtime: finder.safetensors, reader.safetensors and reader.json.

    threads: of each. Raises: CheckpointError where a file is missing or holds other tensors.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self.characters, self.sizes = read_sizes(folder)
        self._finder = _session(finder_graph(), ("darkness", "cells"), folder / "finder.safetensors", threads)
        self._reader = _session(
            reader_graph(self.sizes), ("line", "chances"), folder / "reader.safetensors", threads
        )

    def cells(self, pages: Sequence[Shades]) -> list[Floats]:
        """Returns [3, h, w] for each page [H, W]; see Networks."""
        whole = (np.pad(its / np.float32(255), [(0, -n % DEEPEST_PX) for n in its.shape]) for its in pages)
        return [self._finder.run(None, {"darkness": page[None, None]})[0][0] for page in whole]

    def frames(self, images: Sequence[Floats]) -> list[Frames]:
        """Returns what each frame of line images [HEIGHT_PX, W] shows; see Networks."""
        return list(map(self._frames, images))

    def _frames(self, image: Floats) -> Frames:
        shown = self._shown(image)
        classes = 1 + shown[:, 1:].argmax(-1)
        chances = shown[np.arange(len(shown)), classes]
        return np.where(chances > shown[:, 0], classes, np.where(chances < LEAST, 0, -classes)), chances

    def _shown(self, image: Floats) -> Floats:
        white = np.zeros((HEIGHT_PX, -image.shape[1] % self.sizes.step_px), np.float32)
        line = np.concatenate([image, white], 1)[None, None]
        chances: Floats = self._reader.run(None, {"line": line})[0][0]
        return chances


def read_sizes(folder: Path) -> tuple[str, ReaderSizes]:
    """Returns the characters that a folder's network knows, and its sizes. Raises: OSError, ValueError, KeyError."""
    config: dict[str, Any] = json.loads((folder / "reader.json").read_text(encoding="utf-8"))
    characters: str = config.pop("characters")
    return characters, ReaderSizes(num_classes=len(characters) + 2, **config)


def finder_graph() -> Graph:
    """Returns the graph of the network that finds lines: darkness [1, 1, H, W] -> cells [1, 3, H / 4, W / 4]."""
    graph, (a, b, c, d, e) = Graph(), WIDTHS
    double = graph.constant([1.0, 1.0, 2.0, 2.0])

    def conv(x: str, name: str, sizes: Pair, stride: int = 1) -> str:
        return graph.op("Relu", _normed(graph, x, f"{name}.0", f"{name}.1", sizes, stride=stride))

    def residual(x: str, name: str, size: int) -> str:
        inner = conv(x, f"{name}.a", (size, size))
        inner = _normed(graph, inner, f"{name}.b.0", f"{name}.b.1", (size, size))
        return graph.op("Relu", graph.op("Add", x, inner))

    def joined(fine: str, coarse: str, level: int, sizes: Pair) -> str:
        narrow = _conv(graph, coarse, f"u{level}", sizes, kernel=(1, 1), bias=True)
        nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        wide = graph.op("Resize", narrow, "", double, **nearest)
        return residual(graph.op("Add", fine, wide), f"r{level}", sizes[1])

    quarter = residual(conv(conv("darkness", "s2", (1, a), 2), "s4.0", (a, b), 2), "s4.1", b)
    eighth = residual(conv(quarter, "s8.0", (b, c), 2), "s8.1", c)
    sixteenth = residual(conv(eighth, "s16.0", (c, d), 2), "s16.1", d)
    deepest = residual(residual(conv(sixteenth, "s32.0", (d, e), 2), "s32.1", e), "s32.2", e)
    found = joined(sixteenth, deepest, 16, (e, d))
    found = joined(quarter, joined(eighth, found, 8, (d, c)), 4, (c, b))
    graph.op("Identity", _conv(graph, found, "head", (b, 3), kernel=(1, 1), bias=True), to="cells")
    return graph


def reader_graph(sizes: ReaderSizes) -> Graph:
    """Returns the graph of the network that reads a line: line [1, 1, HEIGHT_PX, W] -> chances [1, frames, classes].

    Its matrices multiply in 8 bits, each row of a matrix with a scale of its own, as they are stored.
    """
    graph, x, width = Graph(), "line", sizes.width
    if sizes.height != HEIGHT_PX:
        ratio = sizes.height / HEIGHT_PX
        x = graph.op("Resize", x, "", graph.constant([1.0, 1.0, ratio, ratio]), mode="linear")
    x = _stem(graph, x, sizes)
    depth = sizes.stem[-1] * (sizes.height // STEP_PX)
    x = graph.op("Reshape", graph.op("Transpose", x, perm=[0, 3, 1, 2]), graph.constant([0, 0, depth]))
    x = _linear(graph, x, "collapse", depth, width)
    for layer in range(sizes.layers):
        x = _trunk_block(graph, x, f"trunk.{layer}", width, sizes.heads)
    x = _linear(graph, _layer_norm(graph, x, "norm", width), "head", width, sizes.frames * sizes.num_classes)
    x = graph.op("Reshape", x, graph.constant([0, -1, sizes.num_classes]))
    graph.op("Softmax", x, axis=-1, to="chances")
    return graph


def _stem(graph: Graph, x: str, sizes: ReaderSizes) -> str:
    before, place = 1, 0
    for channels, number in zip(sizes.stem, sizes.blocks, strict=True):
        x = _normed(graph, x, f"stem.{place}", f"stem.{place + 1}", (before, channels), stride=2)
        x, before, place = graph.op("Relu", x), channels, place + 3
        for _ in range(number):
            name, both = f"stem.{place}", (channels, 2 * channels)
            inner = _normed(graph, x, f"{name}.dw", f"{name}.n", (channels, channels), groups=channels)
            wide = graph.op("Relu", _conv(graph, inner, f"{name}.up", both, kernel=(1, 1), bias=True))
            narrow = _normed(graph, wide, f"{name}.down", f"{name}.n2", both[::-1], kernel=(1, 1))
            x, place = graph.op("Add", x, narrow), place + 1
    return x


def _trunk_block(graph: Graph, x: str, name: str, width: int, heads: int) -> str:
    plane = graph.op("Unsqueeze", graph.op("Transpose", x, perm=[0, 2, 1]), graph.constant([2]))
    along = _conv(graph, plane, f"{name}.conv", (width, width), kernel=(1, KERNEL), groups=width, bias=True)
    along = graph.op("Transpose", graph.op("Squeeze", along, graph.constant([2])), perm=[0, 2, 1])
    x = graph.op("Add", x, along)
    qkv = _linear(graph, _layer_norm(graph, x, f"{name}.n1", width), f"{name}.qkv", width, 3 * width)
    qkv = graph.op("Reshape", qkv, graph.constant([0, 0, 3, heads, width // heads]))
    qkv = graph.op("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    query, key, value = (graph.op("Gather", qkv, graph.constant(part), axis=0) for part in range(3))
    scores = graph.op("MatMul", query, graph.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = graph.op("Mul", scores, graph.constant([(width // heads) ** -0.5]))
    attended = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
    attended = graph.op("Transpose", attended, perm=[0, 2, 1, 3])
    attended = graph.op("Reshape", attended, graph.constant([0, 0, width]))
    x = graph.op("Add", x, _linear(graph, attended, f"{name}.out", width, width))
    wide = _linear(graph, _layer_norm(graph, x, f"{name}.n2", width), f"{name}.up", width, 3 * width)
    wide = graph.op("FastGelu", wide, domain=_MICROSOFT)
    return graph.op("Add", x, _linear(graph, wide, f"{name}.down", 3 * width, width))


def _conv(
    graph: Graph, x: str, name: str, sizes: Pair, *, kernel: Pair = (3, 3), bias: bool = False, **more: int
) -> str:
    (before, after), down, across = sizes, kernel[0] // 2, kernel[1] // 2
    pads, strides, groups = [down, across] * 2, [more.get("stride", 1)] * 2, more.get("groups", 1)
    inputs = [x, graph.weight(f"{name}.weight", after, before // groups, *kernel)]
    inputs += [graph.weight(f"{name}.bias", after)] if bias else []
    return graph.op("Conv", *inputs, kernel_shape=kernel, pads=pads, strides=strides, group=groups)


def _normed(graph: Graph, x: str, name: str, norm: str, sizes: Pair, **more: Any) -> str:
    """Returns a convolution with its batch norm, which become one as the session is made."""
    names = "weight", "bias", "running_mean", "running_var"
    parts = [graph.weight(f"{norm}.{part}", sizes[1]) for part in names]
    return graph.op("BatchNormalization", _conv(graph, x, name, sizes, **more), *parts, epsilon=_EPSILON)


def _linear(graph: Graph, x: str, name: str, before: int, after: int) -> str:
    matrix = graph.weight(f"{name}.weight", before, after, kind=INT8)
    scale, bias = graph.weight(f"{name}.weight{CODED}", after), graph.weight(f"{name}.bias", after)
    return graph.op("DynamicQuantizeMatMul", x, matrix, scale, "", bias, domain=_MICROSOFT)


def _layer_norm(graph: Graph, x: str, name: str, width: int) -> str:
    parts = graph.weight(f"{name}.weight", width), graph.weight(f"{name}.bias", width)
    return graph.op("LayerNormalization", x, *parts, axis=-1, epsilon=_EPSILON)


def _session(graph: Graph, names: tuple[str, str], file: Path, threads: int) -> onnxruntime.InferenceSession:
    """Returns the graph with the weights in a file, ready to run. names: of its input and its output."""
    weights, options = _weights(graph, file), onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.enable_cpu_mem_arena = False  # pages and lines are of all sizes: it would only grow
    options.log_severity_level = 3
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(weight) for weight in weights.values()]
    options.add_external_initializers(list(weights), values)
    output: Sequence[int | str] = [1, *("xyz" if names[1] == "cells" else "xy")]
    model = graph.model({names[0]: [1, 1, "H", "W"]}, {names[1]: output})
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def stored_in(file: Path) -> dict[str, npt.NDArray[Any]]:
    """Returns the arrays in a safetensors file, by name. Raises: CheckpointError where it cannot be read."""
    try:
        stored: dict[str, npt.NDArray[Any]] = load_file(file)
    except (OSError, SafetensorError) as error:
        raise _damaged(file, error) from error
    return stored


def _damaged(file: Path, error: Exception) -> CheckpointError:
    return CheckpointError(f"{file} does not hold the line reader's weights ({error}); install it again")


def _weights(graph: Graph, file: Path) -> dict[str, npt.NDArray[Any]]:
    """Returns the weights in a file as a graph takes them, whether stored in 8 bits, float16 or float32."""
    stored = stored_in(file)
    weights: dict[str, npt.NDArray[Any]] = {}
    try:
        for name, (kind, shape) in graph.weights.items():
            if kind == INT8:
                values, scale = _in_bytes(name, stored)
                weights[name] = np.ascontiguousarray(values.reshape(shape[::-1]).T)
                weights[name + CODED] = scale
            elif name not in weights:
                weights[name] = np.ascontiguousarray(expanded(name, stored).reshape(shape))
    except (KeyError, ValueError, zlib.error) as error:
        raise _damaged(file, error) from error
    return weights


def _in_bytes(name: str, stored: Mapping[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[np.int8], Floats]:
    """Returns a matrix's int8 values and its rows' scales: those stored, unless they are too large to be added up."""
    if name + CODED in stored:
        values, scale = _bytes_of(stored[name]), stored[name + CODED].astype(np.float32)
        if np.abs(values).max() <= _MOST:
            return values, scale
    matrix = expanded(name, stored)
    matrix = matrix.reshape(len(matrix), -1)
    scale = np.maximum(np.abs(matrix).max(axis=1) / _MOST, np.float32(2**-20)).astype(np.float32)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def expanded(name: str, stored: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """Returns a weight in float32, whatever it is stored in; a matrix stored in 8 bits as its rows."""
    if name + CODED not in stored:
        return stored[name].astype(np.float32)
    scale = stored[name + CODED].astype(np.float32)
    return _bytes_of(stored[name]).reshape(len(scale), -1) * scale[:, None]


def _bytes_of(stored: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
    """Returns int8 values, which are a zlib stream where they are stored as uint8: see ocr.int8."""
    return np.frombuffer(zlib.decompress(stored.tobytes()), np.int8) if stored.dtype == np.uint8 else stored
