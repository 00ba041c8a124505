"""The memory that graphs of one path and axis own: inputs and outputs, as large as the largest graph needs."""

from collections.abc import Hashable, Mapping, Sequence

import torch
from torch import Tensor

from encoders.graphs.errors import UnitError
from encoders.graphs.path import GraphPath, Tensors, Unit
from encoders.graphs.staging import Staging, lay, num_rows

META = torch.device("meta")


class StaticBuffers:
    """Static inputs and outputs. Smaller graphs use prefixes of the same tensors, whose addresses never change."""

    def __init__(self, path: GraphPath, axis: Hashable, budget: int, device: torch.device) -> None:
        self._path = path
        self._axis = axis
        self._dirty: dict[str, int] = {}
        self.inputs = path.buffers(axis, budget, device)
        self.outputs: Tensors = {}

    @property
    def num_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in (*self.inputs.values(), *self.outputs.values()))

    def prefix(self, tokens: int) -> Tensors:
        """Returns the inputs of a graph of this many tokens."""
        wanted = self._path.buffers(self._axis, tokens, META)
        views = {name: self.inputs[name][: like.shape[0]] for name, like in wanted.items()}
        for name, like in wanted.items():
            if views[name].shape != like.shape or views[name].dtype != like.dtype:
                raise UnitError(
                    f"path {self._path.name}, axis {self._axis}: buffer {name} of {tokens} tokens is "
                    f"{tuple(like.shape)}, which is no prefix of the largest, {tuple(self.inputs[name].shape)}"
                )
        return views

    def write(self, units: Sequence[Unit], staging: Staging | None = None) -> None:
        """Writes the units' inputs to the front, and restores the padding that the previous write left behind them.

        staging: carries them to the device.
        """
        pieces = self._path.pieces(units)
        dirty = {name: max(num_rows(parts), self._dirty.get(name, 0)) for name, parts in pieces.items()}
        self._dirty |= dirty  # even if the copies fail half-way
        if staging is not None:
            staging.write(pieces, self.inputs)
        else:
            for name, parts in pieces.items():
                lay(parts, self.inputs[name])
        for name, parts in pieces.items():
            used = num_rows(parts)
            self._path.pad(name, self.inputs[name], used, dirty[name])
            self._dirty[name] = used

    def own(self, outputs: Mapping[str, Tensor]) -> Tensors:
        """Returns prefixes of the owned output buffers, shaped like these outputs; the largest come first."""
        owned = {}
        for name, like in outputs.items():
            if name not in self.outputs:
                self.outputs[name] = torch.empty_like(like, memory_format=torch.contiguous_format)
            owned[name] = self.outputs[name][: like.shape[0]]
            if owned[name].shape != like.shape or owned[name].dtype != like.dtype:
                raise UnitError(
                    f"path {self._path.name}, axis {self._axis}: output {name} is {tuple(like.shape)}, which is no "
                    f"prefix of the largest, {tuple(self.outputs[name].shape)}"
                )
        return owned


def check_units(path: GraphPath, units: Sequence[Unit], templates: dict[Hashable, Tensors]) -> None:
    """Raises UnitError for a unit that does not match its path's buffers. templates: kept between calls."""
    for unit in units:
        path.check(unit)
        if unit.axis not in templates:
            templates[unit.axis] = path.buffers(unit.axis, path.unit_tokens(unit.axis), META)
        template = templates[unit.axis]
        pieces = path.pieces([unit])
        if pieces.keys() != template.keys():
            raise UnitError(f"path {path.name} wants the inputs {sorted(template)}, not {sorted(pieces)}")
        for name, parts in pieces.items():
            like = template[name]
            for part in parts:
                if part.dtype != like.dtype or part.shape[1:] != like.shape[1:]:
                    raise UnitError(
                        f"path {path.name}, axis {unit.axis}: input {name} is {part.dtype} {tuple(part.shape)}; "
                        f"expected {like.dtype}, [n, {', '.join(map(str, like.shape[1:]))}]"
                    )


def input_rows(path: GraphPath, units: Sequence[Unit]) -> dict[str, int]:
    """Returns how many rows of each buffer the units fill: a video's frames may overflow where its tokens do not."""
    return {name: num_rows(parts) for name, parts in path.pieces(units).items()}


def have_room(inputs: Mapping[str, Tensor], rows: Mapping[str, int]) -> bool:
    """Returns whether a graph's inputs have room for this many rows."""
    return all(rows[name] <= tensor.shape[0] for name, tensor in inputs.items())
