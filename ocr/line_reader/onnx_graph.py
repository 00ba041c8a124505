"""Writes networks as graphs for ONNX Runtime, without their weights: a session is handed these when it is made.

The package `onnx` would do the same, at 18 MB and a quarter of a second for every process that imports it; a graph is a
message of a few kinds of fields. ONNX Runtime refuses what it cannot read. Source: onnx/onnx, onnx.proto3, whose field
numbers these are.
"""

import struct
from collections.abc import Mapping, Sequence

import numpy as np

FLOAT, INT8, INT64 = 1, 3, 7  # TensorProto.DataType
Value = int | float | str | Sequence[int]
Shape = Sequence[int | str]

# Of ONNX, and of what ONNX Runtime adds to it.
_OPSETS = {"": 17, "com.microsoft": 1}
_IR_VERSION = 8
_EXTERNAL = 1


class Graph:
    """A graph in the making. weights: the names of its weights, with their kinds and shapes, as they were added."""

    def __init__(self) -> None:
        self.weights: dict[str, tuple[int, tuple[int, ...]]] = {}
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

    def weight(self, name: str, *shape: int, kind: int = FLOAT) -> str:
        """Adds a weight that a session is handed, and returns its name."""
        self.weights[name] = kind, shape
        return name

    def constant(self, values: int | Sequence[int] | Sequence[float]) -> str:
        """Adds whole numbers as int64, others as float32, and returns their name."""
        array = np.asarray(values)
        array = array.astype(np.int64 if array.dtype.kind == "i" else np.float32)
        name = f"constant.{len(self._constants)}"
        kind = INT64 if array.dtype == np.int64 else FLOAT
        self._constants.append(_tensor(name, kind, array.shape) + _field(9, array.tobytes()))
        return name

    def model(self, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> bytes:
        """Returns the model. inputs, outputs: float32 tensors by their names, with sizes or names of sizes."""
        fields = [_field(1, node) for node in self._nodes] + [_field(2, "network")]
        fields += [_field(5, constant) for constant in self._constants]
        for name, (kind, shape) in self.weights.items():
            place = _field(1, "location") + _field(2, "given")
            fields.append(_field(5, _tensor(name, kind, shape) + _field(13, place) + _field(14, _EXTERNAL)))
        fields += [_field(11, _value(name, shape)) for name, shape in inputs.items()]
        fields += [_field(12, _value(name, shape)) for name, shape in outputs.items()]
        opsets = [_field(8, _field(1, domain) + _field(2, version)) for domain, version in _OPSETS.items()]
        return b"".join([_field(1, _IR_VERSION), _field(7, b"".join(fields)), *opsets])


def _attribute(name: str, value: Value) -> bytes:
    number, kind = (3, 2) if isinstance(value, int) else (2, 1) if isinstance(value, float) else (4, 3)
    if isinstance(value, int | float | str):
        return _field(1, name) + _field(number, value) + _field(20, kind)
    return _field(1, name) + b"".join(_field(8, each) for each in value) + _field(20, 7)


def _tensor(name: str, kind: int, shape: Sequence[int]) -> bytes:
    return b"".join([*(_field(1, size) for size in shape), _field(2, kind), _field(8, name)])


def _value(name: str, shape: Shape) -> bytes:
    sizes = (_field(1, _field(1 if isinstance(size, int) else 2, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, FLOAT) + _field(2, b"".join(sizes))))


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
