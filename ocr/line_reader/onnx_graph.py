"""Writes networks as graphs for ONNX Runtime, layer by layer, with the weights of a safetensors file.

The package `onnx` would do the same, at 18 MB and a quarter of a second for every process that imports it; a graph is a
message of a few kinds of fields. ONNX Runtime refuses what it cannot read. Source: onnx/onnx, onnx.proto3, whose field
numbers these are.

Matrices multiply in 8 bits, and so do convolutions of what the file has a range for, as `ocr.training.lines.rounding`
learns it: in half of the time on a CPU with VNNI. Source: Jacob et al. 2018, Quantization and Training of Neural
Networks for Efficient Integer-Arithmetic-Only Inference.
"""

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import onnxruntime
from safetensors import SafetensorError
from safetensors.numpy import load_file

from ocr.errors import CheckpointError
from ocr.line_reader.found_lines import Floats

CODED, RANGE = ".scale", ".range"
MOST = 64  # two products of an unsigned byte and such a weight fit in 16 bits, where CPUs without VNNI add them up
MICROSOFT = "com.microsoft"
_EPSILON = 1e-5
_FLOAT = 1
_KINDS = {"float32": _FLOAT, "uint8": 2, "int8": 3, "int64": 7}  # TensorProto.DataType
Value = int | float | str | Sequence[int]
Arrays = Mapping[str, npt.NDArray[Any]]
Bytes = npt.NDArray[np.int8]
Made = TypeVar("Made")

# Of ONNX, and of what ONNX Runtime adds to it.
_OPSETS = {"": 17, MICROSOFT: 1}
_IR_VERSION = 8


class Graph:
    """A graph in the making. stored: a file's arrays. met: names of arrays that may be rounded. in_bytes: what is.

    Methods raise KeyError, ValueError or zlib.error where a weight is missing or is none of its layer's.
    """

    def __init__(self, stored: Arrays) -> None:
        self.met: set[str] = set()
        self.in_bytes: set[str] = set()
        self._stored = stored
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def op(
        self, kind: str, *inputs: str, domain: str = "", to: str | None = None, **attributes: Value
    ) -> str:
        """Adds an operator and returns the name of its output. inputs: names, "" for one left out. to: that name."""
        output = to or f"{kind}.{len(self._nodes)}"
        fields = [_field(1, name) for name in inputs]
        fields += [_field(2, output), _field(4, kind), _field(7, domain)]
        fields += [_field(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join(fields))
        return output

    def constant(self, values: npt.ArrayLike) -> str:
        """Adds an array, in float32 where it would be in float64, and returns its name."""
        array = np.asarray(values)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        name = f"constant.{len(self._constants)}"
        fields = [_field(1, size) for size in array.shape]
        fields += [_field(2, _KINDS[array.dtype.name]), _field(8, name), _field(9, array.tobytes())]
        self._constants.append(b"".join(fields))
        return name

    def rounded(self, x: str, name: str) -> str:
        """Returns an array clipped to its range and rounded to 256 values, where the file has a range of that name.

        ONNX Runtime makes one operator on bytes of what stands between two such arrays. The range: [2], around 0.
        """
        self.met.add(name)
        if name + RANGE not in self._stored:
            return x
        least, most = self._stored[name + RANGE].astype(np.float32)
        step = (most - least) / np.float32(255)
        coding = self.constant(step), self.constant(np.rint(-least / step).astype(np.uint8))
        x = self.op("DequantizeLinear", self.op("QuantizeLinear", x, *coding), *coding)
        self.in_bytes.add(x)
        return x

    def conv(self, x: str, name: str, norm: str = "", kernel: Sequence[int] = (3, 3), **more: Any) -> str:
        """Returns a convolution, with the batch norm that is named or else its bias; in 8 bits if x was rounded."""
        bias = self._array(f"{norm or name}.bias")
        weight = self._array(f"{name}.weight").reshape(len(bias), -1)
        if norm:
            factor = self._array(f"{norm}.weight") / np.sqrt(self._array(f"{norm}.running_var") + _EPSILON)
            weight, bias = weight * factor[:, None], bias - self._array(f"{norm}.running_mean") * factor
        shape = len(bias), -1, *kernel
        if x in self.in_bytes:
            self.in_bytes.add(f"{name}.weight")
            values, scale = _in_bytes(weight)
            used = self.op(
                "DequantizeLinear", self.constant(values.reshape(shape)), self.constant(scale), axis=0
            )
        else:
            used = self.constant(weight.reshape(shape))
        pads = [size // 2 for size in kernel] * 2
        return self.op("Conv", x, used, self.constant(bias), kernel_shape=kernel, pads=pads, **more)

    def linear(self, x: str, name: str) -> str:
        """Returns a product with a matrix, and its bias; x is rounded by its own range, whatever that is."""
        self.in_bytes.add(f"{name}.weight")
        values, scale = matrix_of(f"{name}.weight", self._stored)
        matrix, scales = self.constant(values.T), self.constant(scale)
        bias = self.constant(self._array(f"{name}.bias"))
        return self.op("DynamicQuantizeMatMul", x, matrix, scales, "", bias, domain=MICROSOFT)

    def layer_norm(self, x: str, name: str) -> str:
        """Returns a layer norm."""
        parts = [self.constant(self._array(f"{name}.{part}")) for part in ("weight", "bias")]
        return self.op("LayerNormalization", x, *parts, axis=-1, epsilon=_EPSILON)

    def _array(self, name: str) -> Floats:
        return expanded(name, self._stored)

    def model(self, given: str, wanted: str) -> bytes:
        """Returns the model. given: its input, [1, 1, H, W]. wanted: its output. Both are in float32."""
        fields = [_field(1, node) for node in self._nodes] + [_field(2, "network")]
        fields += [_field(5, constant) for constant in self._constants]
        fields += [_field(11, _value(given, 1, 1, "H", "W")), _field(12, _value(wanted))]
        opsets = [_field(8, _field(1, domain) + _field(2, version)) for domain, version in _OPSETS.items()]
        return b"".join([_field(1, _IR_VERSION), _field(7, b"".join(fields)), *opsets])


def session(
    file: Path, written: Callable[[Arrays], Graph], names: tuple[str, str], threads: int
) -> onnxruntime.InferenceSession:
    """Returns a network with the weights in a file, ready to run. names: of its input and its output in the graph.

    Raises: CheckpointError where the file is missing or holds other arrays.
    """
    model = made_of(file, lambda stored: written(stored).model(*names))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.enable_cpu_mem_arena = False  # pages and lines are of all sizes: it would only grow
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def made_of(file: Path, made: Callable[[Arrays], Made]) -> Made:
    """Returns what is made of the arrays in a safetensors file. Raises: CheckpointError where nothing can be."""
    try:
        return made(load_file(file))
    except (OSError, SafetensorError, KeyError, ValueError, zlib.error) as error:
        raise CheckpointError(
            f"{file} does not hold the line reader's weights ({error}); install it again"
        ) from error


def expanded(name: str, stored: Arrays) -> Floats:
    """Returns a weight in float32, whatever it is stored in; a matrix stored in 8 bits as its rows."""
    if name + CODED not in stored:
        return stored[name].astype(np.float32)
    values, scale = _coded(name, stored)
    return values * scale[:, None]


def matrix_of(name: str, stored: Arrays) -> tuple[Bytes, Floats]:
    """Returns a matrix's int8 values and its rows' scales: those stored, unless they are too large to be added up."""
    if name + CODED in stored:
        values, scale = _coded(name, stored)
        if np.abs(values).max() <= MOST:
            return values, scale
    return _in_bytes(expanded(name, stored))


def _coded(name: str, stored: Arrays) -> tuple[Bytes, Floats]:
    """Returns int8 values, which are a zlib stream where they are stored as uint8 (see ocr.int8), and rows' scales."""
    values, scale = stored[name], stored[name + CODED].astype(np.float32)
    if values.dtype == np.uint8:
        values = np.frombuffer(zlib.decompress(values.tobytes()), np.int8)
    return values.reshape(len(scale), -1), scale


def _in_bytes(matrix: Floats) -> tuple[Bytes, Floats]:
    scale = np.maximum(np.abs(matrix).max(axis=1) / MOST, np.float32(2**-20)).astype(np.float32)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def _attribute(name: str, value: Value) -> bytes:
    number, kind = (3, 2) if isinstance(value, int) else (2, 1) if isinstance(value, float) else (4, 3)
    if isinstance(value, int | float | str):
        return _field(1, name) + _field(number, value) + _field(20, kind)
    return _field(1, name) + b"".join(_field(8, each) for each in value) + _field(20, 7)


def _value(name: str, *shape: int | str) -> bytes:
    """Returns a tensor of float32 by its name, with sizes or names of sizes, none where they are left open."""
    sizes = (_field(1, _field(1 if isinstance(size, int) else 2, size)) for size in shape)
    kind = _field(1, _FLOAT) + (_field(2, b"".join(sizes)) if shape else b"")
    return _field(1, name) + _field(2, _field(1, kind))


def _field(number: int, value: int | float | str | bytes) -> bytes:
    """Returns a field of a message: a tag with the number and the kind of coding, and the value."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    coded = bytearray()
    while number > 127:
        coded.append(number & 127 | 128)
        number >>= 7
    return bytes([*coded, number])
