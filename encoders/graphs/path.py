"""The interface that a model family implements for one path of its vision encoder, with defaults.

The manager knows no model: it sees units of work, static buffers and a forward on fixed shapes.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from encoders.graphs.errors import UnitError
from encoders.graphs.settings import GraphSettings

Tensors = dict[str, Tensor]
Use = Literal["hit", "miss", "eager"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unit:
    """The smallest thing that can be batched: a view, a tile, a slice, an image or a video.

    tokens: output tokens, which budgets count. axis: units of different axes share neither a batch nor a graph (a
    view's size, a cap of the patch grid). inputs: tensors whose first dimension is the unit's own length. items: how
    many it counts as under its path's max_items (a video: its frames).
    """

    tokens: int
    axis: Hashable
    inputs: Mapping[str, Tensor]
    items: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodedUnit:
    """The result of one unit. outputs: its own rows; units of a batch share memory, which no later call touches.

    use: "hit" if it was replayed, "miss" if no graph fitted, "eager" if no graph was to be used.
    """

    outputs: Tensors
    use: Use


class GraphPath(ABC):
    """One independent set of graphs. least_tokens: the smallest unit, which every budget must have room for.

    max_items: most items in a batch; a unit of more runs alone, without a graph.
    """

    name: str
    least_tokens: int
    max_items: int = 32

    def limit(self, settings: GraphSettings) -> None:
        """Takes over max_items from the settings of a manager, before it uses the path."""
        self.max_items = settings.max_items

    @abstractmethod
    def unit_tokens(self, axis: Hashable) -> int:
        """Returns the number of tokens that captured sizes of this axis are multiples of."""

    @abstractmethod
    def most_tokens(self, axis: Hashable) -> int:
        """Returns the tokens of the largest batch worth capturing, where the user sets no budgets."""

    @abstractmethod
    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        """Returns static input buffers for at most `budget` tokens, filled with harmless padding.

        A larger budget's buffers differ in their first dimension only, which is never smaller: smaller budgets use
        prefixes of the largest one's buffers. Called with the meta device to learn shapes.
        """

    @abstractmethod
    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        """Returns random units of `tokens` tokens together, or as close below as possible, for timing and checks.

        At least one, on the device that real ones come from. tokens is at least unit_tokens(axis).
        """

    @abstractmethod
    def forward(self, inputs: Tensors) -> Tensors:
        """Runs the model on fixed shapes; the host must not look at values.

        Dimension 0 of outputs is proportional to tokens.
        """

    def watched(self, axis: Hashable) -> Sequence[Tensor]:
        """Returns tensors that a graph reads besides its buffers: weights, workspaces. Called before every replay."""
        return ()

    def kept(self, axis: Hashable) -> Sequence[Tensor]:
        """Returns further tensors that a graph reads, made from watched ones; valid as long as those, if kept alive."""
        return ()

    def captured_tokens(self, axis: Hashable, budget: int) -> int:
        """Returns how many tokens a graph of this budget can hold, 0 if none. Equal answers are one graph."""
        unit = self.unit_tokens(axis)
        return budget // unit * unit

    def pieces(self, units: Sequence[Unit]) -> dict[str, list[Tensor]]:
        """Returns each buffer's contents as tensors to be laid end to end."""
        return {name: [unit.inputs[name] for unit in units] for name in units[0].inputs}

    def pad(self, name: str, buffer: Tensor, used: int, dirty: int) -> None:
        """Restores the padding after the first `used` rows; from row `dirty` on the buffer still holds it."""
        buffer[used:dirty].zero_()

    def rows(self, name: str, unit: Unit) -> int:
        """Returns how many rows of this output are the unit's."""
        return unit.tokens

    def check(self, unit: Unit) -> None:
        """Raises UnitError for a number of tokens that no unit of this axis can have."""
        size = self.unit_tokens(unit.axis)
        if unit.tokens < 1 or unit.tokens % size or unit.items < 1:
            raise UnitError(
                f"path {self.name}, axis {unit.axis}: {unit.tokens} tokens in {unit.items} items; "
                f"expected a positive multiple of {size}"
            )

    def collate(self, units: Sequence[Unit], device: torch.device) -> Tensors:
        """Returns the units' inputs on the device, without padding. Staging does so with pieces() on the way there."""
        return {
            name: torch.cat([piece.to(device, non_blocking=True) for piece in pieces])
            for name, pieces in self.pieces(units).items()
        }

    def split(self, outputs: Mapping[str, Tensor], units: Sequence[Unit]) -> list[Tensors]:
        """Returns each unit's rows of the outputs, as views; rows after the last unit's are padding."""
        parts: list[Tensors] = [{} for _ in units]
        for name, output in outputs.items():
            rows = [self.rows(name, unit) for unit in units]
            total = sum(rows)
            if total > output.shape[0]:
                raise UnitError(f"path {self.name}: output {name} has {output.shape[0]} rows, not {total}")
            # One split for all: separate operations would each wait for another thread to release the GIL.
            for part, own in zip(parts, torch.split(output[:total], rows), strict=True):
                part[name] = own
        return parts


class UniformPath(GraphPath):
    """A path whose units of one axis all have the same number of tokens and one row of every output."""

    def most_tokens(self, axis: Hashable) -> int:
        return self.max_items * self.unit_tokens(axis)

    def captured_tokens(self, axis: Hashable, budget: int) -> int:
        unit = self.unit_tokens(axis)
        return min(budget // unit, self.max_items) * unit

    def rows(self, name: str, unit: Unit) -> int:
        return 1

    def check(self, unit: Unit) -> None:
        size = self.unit_tokens(unit.axis)
        if unit.tokens != size or unit.items != 1:
            raise UnitError(
                f"path {self.name}, axis {unit.axis}: {unit.tokens} tokens in {unit.items} items; "
                f"every unit of this axis is one item of {size}"
            )


class Watch:
    """A fast way to list the module's parameters and buffers repeatedly, replaced ones included.

    Submodules added later are not seen. A copy made together with one of the module lists the copy's.
    """

    def __init__(self, module: nn.Module) -> None:
        self._slots = [
            (held, name)
            for owner in module.modules()
            for held in (owner._parameters, owner._buffers)
            for name, tensor in held.items()
            if tensor is not None
        ]

    def __call__(self) -> list[Tensor]:
        return [tensor for held, name in self._slots if (tensor := held[name]) is not None]
