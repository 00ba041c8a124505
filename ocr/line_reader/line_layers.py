"""Layers of networks as ONNX operators, with the weights of a file. Matrices multiply in 8 bits, as they are stored.

So do convolutions whose file holds the ranges of what goes in and comes out, as `ocr.training.lines.rounding` learns
them: half of the float32 operators' time on a CPU with VNNI. Source: Jacob et al. 2018, Quantization and Training of
Neural Networks for Efficient Integer-Arithmetic-Only Inference.
"""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from safetensors import SafetensorError
from safetensors.numpy import load_file

from ocr.errors import CheckpointError
from ocr.line_reader.found_lines import Floats
from ocr.line_reader.onnx_graph import Graph

CODED, RANGE = ".scale", ".range"
_UNSEEN = np.zeros(2)
# Two products of an unsigned byte and such a weight fit in 16 bits, where CPUs without VNNI add them up.
# Those of depthwise convolutions are added up in 32.
MOST, _MOST_ALONE = 64, 127
_LEAST_SCALE = np.float32(2**-20)
MICROSOFT = "com.microsoft"
_EPSILON = 1e-5
Arrays = Mapping[str, npt.NDArray[Any]]


class Layers(Graph):
    """A graph in the making. stored: a file's arrays. met: the arrays that `rounded` was given, by name.

    Its methods raise KeyError, ValueError or zlib.error where a weight is missing or is none of its layer's.
    """

    def __init__(self, stored: Arrays) -> None:
        super().__init__()
        self.met: dict[str, str] = {}
        self._stored = stored
        self._steps: dict[str, np.float32] = {}  # of what was rounded: how far apart its values are

    def rounded(self, x: str, name: str) -> str:
        """Returns an array clipped to its range and rounded to 256 values, where the file has that range.

        ONNX Runtime makes one operator on bytes of what stands between two such arrays. The range: [2], around 0.
        """
        self.met[name] = x
        if not self._stored.get(name + RANGE, _UNSEEN).any():
            return x
        least, most = self._stored[name + RANGE].astype(np.float32)
        step = (most - least) / np.float32(255)
        coding = self.constant(step), self.constant(np.rint(-least / step).astype(np.uint8))
        x = self.op("DequantizeLinear", self.op("QuantizeLinear", x, *coding), *coding)
        self._steps[x] = step
        return x

    def conv(
        self,
        x: str,
        name: str,
        sizes: tuple[int, int],
        *,
        norm: str | None = None,
        kernel: tuple[int, int] = (3, 3),
        stride: int = 1,
        groups: int = 1,
    ) -> str:
        """Returns a convolution, with the batch norm that is named or else its bias; in 8 bits if x was rounded."""
        before, after = sizes
        shape, down, across = (after, before // groups, *kernel), kernel[0] // 2, kernel[1] // 2
        if norm:
            parts = ("weight", "bias", "running_mean", "running_var")
            factor, bias, mean, variance = (self._array(f"{norm}.{part}", after) for part in parts)
            factor = factor / np.sqrt(variance + np.float32(_EPSILON))
            bias = bias - mean * factor
        else:
            factor, bias = np.ones(after, np.float32), self._array(f"{name}.bias", after)
        if x in self._steps:
            values, scale = _in_bytes(f"{name}.weight", self._stored, MOST if groups == 1 else _MOST_ALONE)
            scale = np.maximum(scale * np.abs(factor), _LEAST_SCALE)
            values = values.reshape(shape) * np.sign(factor).astype(np.int8)[:, None, None, None]
            inputs = [x, self._decoded(f"{name}.weight", values, scale)]
            scale = scale * self._steps[x]
            inputs += [self._decoded(f"{name}.bias", np.rint(bias / scale).astype(np.int32), scale)]
        else:
            weight = self._array(f"{name}.weight", *shape) * factor[:, None, None, None]
            inputs = [x, self.weight(f"{name}.weight", weight), self.weight(f"{name}.bias", bias)]
        pads, strides = [down, across, down, across], [stride, stride]
        return self.op("Conv", *inputs, kernel_shape=kernel, pads=pads, strides=strides, group=groups)

    def linear(self, x: str, name: str, before: int, after: int) -> str:
        """Returns a product with a matrix, and its bias; x is rounded by its own range, whatever that is."""
        values, scale = _in_bytes(f"{name}.weight", self._stored)
        matrix = self.weight(f"{name}.weight", np.ascontiguousarray(values.reshape(after, before).T))
        scales = self.weight(f"{name}.weight{CODED}", scale)
        bias = self.weight(f"{name}.bias", self._array(f"{name}.bias", after))
        return self.op("DynamicQuantizeMatMul", x, matrix, scales, "", bias, domain=MICROSOFT)

    def layer_norm(self, x: str, name: str, width: int) -> str:
        """Returns a layer norm."""
        parts = [
            self.weight(f"{name}.{part}", self._array(f"{name}.{part}", width)) for part in ("weight", "bias")
        ]
        return self.op("LayerNormalization", x, *parts, axis=-1, epsilon=_EPSILON)

    def session(
        self, given: str, wanted: Mapping[str, int], threads: int = 1
    ) -> onnxruntime.InferenceSession:
        """Returns the graph ready to run. given: its input, [1, 1, H, W]. wanted: outputs, with how many axes."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.enable_cpu_mem_arena = False  # pages and lines are of all sizes: it would only grow
        options.log_severity_level = 3
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(weight) for weight in self.weights.values()]
        options.add_external_initializers(list(self.weights), values)
        outputs = {name: [1, *"xyz"[: num_axes - 1]] for name, num_axes in wanted.items()}
        model = self.model({given: [1, 1, "H", "W"]}, outputs)
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def _array(self, name: str, *shape: int) -> Floats:
        return np.ascontiguousarray(expanded(name, self._stored).reshape(shape))

    def _decoded(self, name: str, values: npt.NDArray[Any], scale: Floats) -> str:
        """Returns whole numbers, each row times its scale."""
        zeros = self.weight(f"{name}.zero", np.zeros(len(values), values.dtype))
        coded = self.weight(name, values), self.weight(name + CODED, scale), zeros
        return self.op("DequantizeLinear", *coded, axis=0)


def stored_in(file: Path) -> dict[str, npt.NDArray[Any]]:
    """Returns the arrays in a safetensors file, by name. Raises: CheckpointError where it cannot be read."""
    try:
        stored: dict[str, npt.NDArray[Any]] = load_file(file)
    except (OSError, SafetensorError) as error:
        raise damaged(file, error) from error
    return stored


def damaged(file: Path, error: Exception) -> CheckpointError:
    """Returns what is raised for a file that cannot be read, or that holds other arrays."""
    return CheckpointError(f"{file} does not hold the line reader's weights ({error}); install it again")


def _in_bytes(name: str, stored: Arrays, most: int = MOST) -> tuple[npt.NDArray[np.int8], Floats]:
    """Returns a matrix's int8 values and its rows' scales: those stored, unless they are too large to be added up.

    most: the largest magnitude that is not.
    """
    if name + CODED in stored:
        values, scale = _bytes_of(stored[name]), stored[name + CODED].astype(np.float32)
        if np.abs(values).max() <= most:
            return values, scale
    matrix = expanded(name, stored)
    matrix = matrix.reshape(len(matrix), -1)
    scale = np.maximum(np.abs(matrix).max(axis=1) / most, _LEAST_SCALE).astype(np.float32)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def expanded(name: str, stored: Arrays) -> Floats:
    """Returns a weight in float32, whatever it is stored in; a matrix stored in 8 bits as its rows."""
    if name + CODED not in stored:
        return stored[name].astype(np.float32)
    scale = stored[name + CODED].astype(np.float32)
    return _bytes_of(stored[name]).reshape(len(scale), -1) * scale[:, None]


def _bytes_of(stored: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
    """Returns int8 values, which are a zlib stream where they are stored as uint8: see ocr.int8."""
    return np.frombuffer(zlib.decompress(stored.tobytes()), np.int8) if stored.dtype == np.uint8 else stored
