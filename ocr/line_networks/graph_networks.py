"""The line reader's networks in torch, in the graph manager's batches: on a GPU in 16 bits, else in float32."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt
import torch

from encoders.graphs.path import EncodedUnit, Unit
from ocr.errors import CheckpointError
from ocr.int8 import fill
from ocr.line_networks.finder_net import FinderNet
from ocr.line_networks.line_paths import FindPath, LinePath, StackPath
from ocr.line_networks.reader_net import open_net
from ocr.line_reader.line_images import HEIGHT_PX
from ocr.line_reader.stacks import FIND, LINE, WIDTHS, Axis, Outputs, Stack, StackedNetworks, axis_of

# Runs units, by path: EncoderGraphManager.encode, or what is around it.
Encode = Callable[[Mapping[str, Sequence[Unit]]], Mapping[str, Sequence[EncodedUnit]]]
# Of the 16 bits' two kinds the one with more digits: nothing in these networks is as large as 65,504.
DTYPES = {"cuda": torch.float16, "cpu": torch.float32}


class LinePaths:
    """The paths of a line reader's networks. characters: that it knows. paths: `find` and `line`."""

    def __init__(self, folder: Path, device: torch.device, dtype: torch.dtype | None = None) -> None:
        """Loads the networks of a folder. dtype: another than the device's own. Raises: CheckpointError."""
        reader, self.characters = open_net(folder)
        finder, dtype = FinderNet(), dtype or DTYPES[device.type]
        try:
            fill(finder, folder / "finder.safetensors")
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise CheckpointError(f"{folder} holds no network that finds lines ({error})") from error
        self.sizes, self.device = reader.sizes, device
        self.paths: Sequence[StackPath] = FindPath(finder, device, dtype), LinePath(reader, device, dtype)

    @property
    def num_bytes(self) -> int:
        """The size of the weights."""
        return sum(path.num_bytes for path in self.paths)

    @property
    def usual_axes(self) -> dict[str, list[Axis]]:
        """The axes of lines, and of an A4 page as the finder looks at it, by path."""
        pages = [axis_of(FIND, 1174 >> halvings, 830 >> halvings) for halvings in (0, 2, 3, 4, 5)]
        return {FIND: pages, LINE: [(HEIGHT_PX, width) for width in WIDTHS]}


class GraphNetworks(StackedNetworks):
    """The networks behind a graph manager. encode: runs their paths' units."""

    def __init__(self, paths: LinePaths, encode: Encode) -> None:
        super().__init__(paths.characters, paths.sizes)
        self._paths, self._encode = {path.name: path for path in paths.paths}, encode

    def run(self, stacks: Sequence[Stack]) -> list[Outputs]:
        """Returns each stack's outputs. Stacks of many pages go in the same batches."""
        units: dict[str, list[Unit]] = {}
        for stack in stacks:
            units.setdefault(stack.path, []).append(self._paths[stack.path].unit(stack))
        hosted = {path: iter(_on_host(units[path], done)) for path, done in self._encode(units).items()}
        return [next(hosted[stack.path]) for stack in stacks]


def _on_host(units: Sequence[Unit], done: Sequence[EncodedUnit]) -> list[Outputs]:
    """Returns the outputs of each unit as arrays: one copy from the device for all of an axis."""
    outputs: list[dict[str, npt.NDArray[Any]]] = [{} for _ in units]
    members: dict[Any, list[int]] = {}
    for number, unit in enumerate(units):
        members.setdefault(unit.axis, []).append(number)
    for some in members.values():
        for name in done[some[0]].outputs:
            parts = [done[number].outputs[name] for number in some]
            whole = torch.cat(parts).cpu().numpy()
            start = 0
            for number, part in zip(some, parts, strict=True):
                outputs[number][name] = whole[start : (start := start + len(part))]
    return list(outputs)
