"""What a model family implements for one path of its vision encoder, and what it gets for nothing.

The manager knows no model: it sees units of work, static buffers and a forward on fixed shapes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from encoders.graphs.errors import UnitError

Tensors = dict[str, Tensor]
Use = Literal["hit", "miss", "eager"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unit:
    """The smallest thing that can be batched: a view, a tile, a slice, an image or a video.

    tokens: output tokens, the measure of a budget. axis: units of different axes share neither a batch nor a
    graph (a view's size, a cap of the patch grid). inputs: tensors whose first dimension is the unit's own
    length. items: what it counts for under max_items (a video: its frames). note: whatever the path's
    finish() needs to know; no part of the graph.
    """

    tokens: int
    axis: Hashable
    inputs: Mapping[str, Tensor]
    items: int = 1
    note: object = None


class GraphPath(ABC):
    """One independent set of graphs. least_tokens: the smallest unit that a budget must have room for."""

    name: str
    least_tokens: int

    @abstractmethod
    def unit_tokens(self, axis: Hashable) -> int:
        """Captured sizes of this axis are multiples of so many tokens."""

    @abstractmethod
    def most_tokens(self, axis: Hashable, max_items: int) -> int:
        """The largest batch worth capturing, where the user sets no budgets."""

    @abstractmethod
    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        """Static input buffers for at most `budget` tokens, filled with harmless padding.

        A larger budget's buffers differ in their first dimension only, and never have a smaller one: smaller
        budgets read prefixes of the largest one's. Called with the meta device to learn shapes.
        """

    @abstractmethod
    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        """Random units of `tokens` tokens together, or as near below as it gets, for timing and checks.

        At least one, on the device from which real ones come. tokens is at least unit_tokens(axis).
        """

    @abstractmethod
    def forward(self, inputs: Tensors) -> Tensors:
        """The model on fixed shapes: no host-side look at values. Outputs are proportional to tokens in dim 0."""

    def watched(self, axis: Hashable) -> Sequence[Tensor]:
        """Tensors that a graph reads beside its buffers: weights, workspaces. Asked before every replay."""
        return ()

    def kept(self, axis: Hashable) -> Sequence[Tensor]:
        """Further tensors that a graph reads, made from watched ones: right as long as those are, if kept alive."""
        return ()

    def captured_tokens(self, axis: Hashable, budget: int, max_items: int) -> int:
        """How many tokens a graph of this budget can hold at all; 0 if none. Equal ones are one graph."""
        unit = self.unit_tokens(axis)
        return budget // unit * unit

    def pieces(self, units: Sequence[Unit]) -> dict[str, list[Tensor]]:
        """Each buffer's contents, to be laid end to end."""
        return {name: [unit.inputs[name] for unit in units] for name in units[0].inputs}

    def pad(self, name: str, buffer: Tensor, used: int, dirty: int) -> None:
        """Restores the padding behind the first `used` rows; rows from `dirty` on still hold it."""
        buffer[used:dirty].zero_()

    def rows(self, name: str, unit: Unit) -> int:
        """How many rows of this output are the unit's."""
        return unit.tokens

    def probed(self, outputs: Tensors) -> Tensors:
        """The outputs that show NaN and infinity wherever they arise: those made from all others are enough."""
        return outputs

    def finish(self, unit: Unit, outputs: Tensors) -> Tensors:
        """What is left to do for one unit, outside the graph; outputs are the unit's own rows."""
        return outputs

    def finish_all(self, units: Sequence[Unit], parts: Sequence[Tensors]) -> list[Tensors]:
        """finish() for the units of a batch. parts: each unit's own rows."""
        return [self.finish(unit, part) for unit, part in zip(units, parts, strict=True)]

    def check(self, unit: Unit) -> None:
        """Raises UnitError for a number of tokens that no unit of this axis can have."""
        size = self.unit_tokens(unit.axis)
        if unit.tokens < 1 or unit.tokens % size or unit.items < 1:
            raise UnitError(
                f"path {self.name}, axis {unit.axis}: {unit.tokens} tokens in {unit.items} items; "
                f"expected a positive multiple of {size}"
            )

    def collate(self, units: Sequence[Unit], device: torch.device) -> Tensors:
        """The units' inputs without any padding, on the device. What staging does with pieces() on the way there."""
        return {
            name: torch.cat([piece.to(device, non_blocking=True) for piece in pieces])
            for name, pieces in self.pieces(units).items()
        }

    def split(self, outputs: Mapping[str, Tensor], units: Sequence[Unit]) -> list[Tensors]:
        """Each unit's rows of the outputs, as views; rows behind the last unit's are padding."""
        parts: list[Tensors] = [{} for _ in units]
        for name, output in outputs.items():
            rows = [self.rows(name, unit) for unit in units]
            total = sum(rows)
            if total > output.shape[0]:
                raise UnitError(f"path {self.name}: output {name} has {output.shape[0]} rows, not {total}")
            # One operation for all: each by itself is a turn that another thread must give this one.
            for part, own in zip(parts, torch.split(output[:total], rows), strict=True):
                part[name] = own
        return parts


class UniformPath(GraphPath):
    """A path whose units of one axis all have the same number of tokens and one row of every output."""

    def most_tokens(self, axis: Hashable, max_items: int) -> int:
        return max_items * self.unit_tokens(axis)

    def captured_tokens(self, axis: Hashable, budget: int, max_items: int) -> int:
        unit = self.unit_tokens(axis)
        return min(budget // unit, max_items) * unit

    def rows(self, name: str, unit: Unit) -> int:
        return 1

    def check(self, unit: Unit) -> None:
        size = self.unit_tokens(unit.axis)
        if unit.tokens != size or unit.items != 1:
            raise UnitError(
                f"path {self.name}, axis {unit.axis}: {unit.tokens} tokens in {unit.items} items; "
                f"every unit of this axis is one item of {size}"
            )


def watch(module: nn.Module) -> Callable[[], list[Tensor]]:
    """A quick way to list the module's parameters and buffers again and again, replaced ones included.

    Submodules that are added later are not seen.
    """
    slots = [
        (held, name)
        for owner in module.modules()
        for held in (owner._parameters, owner._buffers)
        for name, tensor in held.items()
        if tensor is not None
    ]
    return lambda: [tensor for held, name in slots if (tensor := held[name]) is not None]
