"""MiniCPM-V's path for the graph manager: slices, or groups of frames, under a cap of patches.

Vision transformer and resampler are one graph. A slice's patches lie in rows under the smallest cap that holds them, so
slices of any aspect share a batch and little is padded: published slicing makes all of about 32 x 32 patches. Frames of
a group become one set of tokens; a table of indices gathers them from all frames of the batch. Pixels go to the device
as they are, and become rows of patches in the graph (encoders.minicpm.packed_patches).

Shapes: U units, S slices or frames, N the cap, F frames a group at most, Q queries, D language model width.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, isqrt

import torch
from torch import Tensor

from encoders.graphs.errors import UnitError
from encoders.graphs.path import Tensors, UniformPath, Unit, Watch
from encoders.minicpm.packed_patches import (
    collected,
    grid_of,
    padded_positions,
    runs_a_patch,
    size_of,
    valid_patches,
)
from encoders.minicpm.resampler import Resampler
from encoders.minicpm.siglip import SiglipVit

# Caps, as parts of the number of patches that slices are made to have. By its aspect a slice has a little more or less:
# all whose sides differ less than threefold fit under the second usual cap, 59 of 100 aspects under the first.
_USUAL_CAPS = (1.0, 1.03125)
_CAPS = (0.25, 0.5625, *_USUAL_CAPS, 1.125, 1.5, 2.0)
# Beyond the largest cap units run eagerly, each number of patches rounded up to a multiple of this.
_STEP = 64


@dataclass(frozen=True, slots=True)
class Tier:
    """An axis. cap: patches of a slice at most. frames: of a group at most; 1 for slices."""

    cap: int
    frames: int = 1

    def __str__(self) -> str:
        return str(self.cap) if self.frames == 1 else f"{self.cap}x{self.frames}"


class SlicePath(UniformPath):
    """The path of slices and groups of frames; a unit's tokens are the queries.

    patches: how many a slice is made to have. flat_positions: positions run along one row of all patches (2.5).
    has_times: frames have temporal ids and groups (4.5).
    """

    name = "slices"

    def __init__(
        self, vit: SiglipVit, resampler: Resampler, *, patches: int, flat_positions: bool, has_times: bool
    ) -> None:
        self._vit, self._resampler = vit, resampler
        self._flat_positions, self._has_times = flat_positions, has_times
        self._weights = (Watch(vit), Watch(resampler))
        self._caps = [_rounded(patches * part) for part in _CAPS]
        self.usual_tiers = [Tier(_rounded(patches * part)) for part in _USUAL_CAPS]
        self.least_tokens = resampler.config.num_queries

    def unit_tokens(self, axis: Hashable) -> int:
        return self.least_tokens

    def most_tokens(self, axis: Hashable) -> int:
        return max(1, self.max_items // _tier(axis).frames) * self.least_tokens

    def captured_tokens(self, axis: Hashable, budget: int) -> int:
        return min(budget // self.least_tokens, self.max_items // _tier(axis).frames) * self.least_tokens

    def check(self, unit: Unit) -> None:
        frames = _tier(unit.axis).frames
        if unit.tokens != self.least_tokens or not 1 <= unit.items <= frames:
            raise UnitError(
                f"path {self.name}, axis {unit.axis}: {unit.tokens} tokens of {unit.items} frames; every unit is "
                f"{self.least_tokens} tokens of 1 to {frames}"
            )

    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        tier, vit = _tier(axis), self._vit.config
        units = budget // self.least_tokens
        slots = units * tier.frames
        num_runs = slots * tier.cap * runs_a_patch(vit.patch_size)
        held = {
            "runs": torch.zeros(num_runs, vit.patch_size, dtype=torch.uint8, device=device),
            "starts": torch.zeros(slots, dtype=torch.int32, device=device),
            "positions": torch.zeros(slots, tier.cap, dtype=torch.int32, device=device),
            "sizes": torch.zeros(slots, 2, dtype=torch.int32, device=device),
        }
        if self._has_times:
            held["times"] = torch.full((slots,), -1, dtype=torch.int32, device=device)
        if tier.frames > 1:
            held["members"] = torch.full((units, tier.frames), -1, dtype=torch.int32, device=device)
        return held

    def pieces(self, units: Sequence[Unit]) -> dict[str, list[Tensor]]:
        """Returns each buffer's contents: what is small as one tensor, since each costs the host a copy.

        Starts are counted from the batch's first run; members count from a unit's first frame, here from the batch's.
        """
        pieces = super().pieces(units)
        if "members" in pieces:
            starts = accumulate((unit.items for unit in units[:-1]), initial=0)
            pieces["members"] = [
                torch.where(members < 0, members, members + start)
                for members, start in zip(pieces["members"], starts, strict=True)
            ]
        if len(units) > 1:
            pieces = {name: parts if name == "runs" else [torch.cat(parts)] for name, parts in pieces.items()}
        return pieces | {"starts": [_starts(units)]}

    def pad(self, name: str, buffer: Tensor, used: int, dirty: int) -> None:
        """Restores the padding, but for pixels, which nothing but starts and sizes refers to."""
        if name in ("times", "members"):
            buffer[used:dirty].fill_(-1)
        elif name != "runs":
            super().pad(name, buffer, used, dirty)

    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        """Returns units of noise with as many patches as a slice nearly square has under the cap."""
        tier, patch_px = _tier(axis), self._vit.config.patch_size
        rows = isqrt(tier.cap)
        shape = (tier.frames, 3, rows * patch_px, tier.cap // rows * patch_px)
        times = range(tier.frames) if tier.frames > 1 else [-1]
        return [
            self._unit(torch.randint(0, 256, shape, dtype=torch.uint8), list(times), tier)
            for _ in range(tokens // self.least_tokens)
        ]

    def forward(self, inputs: Tensors) -> Tensors:
        """Returns the tokens, [U, Q, D]. Normalises the pixels inside the graph."""
        positions, sizes = inputs["positions"], inputs["sizes"]
        pixels = collected(inputs["runs"], inputs["starts"], sizes, positions.shape[1])
        features = self._vit(pixels, positions, valid_patches(sizes, positions.shape[1]))
        tokens = self._resampler(features, sizes, inputs.get("times"), inputs.get("members"))
        return {"tokens": tokens}

    def watched(self, axis: Hashable) -> Sequence[Tensor]:
        return [tensor for weights in self._weights for tensor in weights()]

    def slice_unit(self, pixels: Tensor) -> Unit:
        """Returns the unit of a slice, or of a frame by itself, [3, h, w] uint8, whose memory it shares.

        Raises: UnitError for its size.
        """
        return self._unit(pixels[None], [-1], Tier(self._cap(pixels)))

    def group_unit(self, frames: Tensor, times: Sequence[int], most: int) -> Unit:
        """Returns the unit of a group of frames [f, 3, h, w] uint8, whose temporal ids are times.

        most: frames of the video's largest group; groups of one video share batches. Raises: UnitError.
        """
        if not self._has_times:
            raise UnitError("this version of the model has no groups of frames")
        if not 1 <= len(times) == len(frames) <= most:
            raise UnitError(
                f"{len(frames)} frames with {len(times)} temporal ids in groups of at most {most}"
            )
        return self._unit(frames, times, Tier(self._cap(frames), most))

    def _unit(self, frames: Tensor, times: Sequence[int], tier: Tier) -> Unit:
        vit, num = self._vit.config, len(frames)
        rows, columns = grid_of(frames.shape[-2], frames.shape[-1], vit.patch_size)
        if rows * columns > tier.cap:
            raise UnitError(f"a slice of {rows} x {columns} patches does not fit under a cap of {tier.cap}")
        places = (1, rows * columns) if self._flat_positions else (rows, columns)
        inputs = {
            "runs": frames.contiguous().view(-1, vit.patch_size),
            "positions": padded_positions(*places, vit.image_size // vit.patch_size, tier.cap).expand(
                num, -1
            ),
            "sizes": size_of(rows, columns).expand(num, -1),
        }
        if self._has_times:
            inputs["times"] = torch.tensor(times, dtype=torch.int32)
        if tier.frames > 1:
            index = torch.arange(tier.frames, dtype=torch.int32)[None]
            inputs["members"] = torch.where(index < num, index, -1)
        return Unit(tokens=self.least_tokens, axis=tier, inputs=inputs, items=num)

    def _cap(self, pixels: Tensor) -> int:
        """Returns the smallest cap that holds a slice's patches."""
        rows, columns = grid_of(pixels.shape[-2], pixels.shape[-1], self._vit.config.patch_size)
        count = rows * columns
        return next((cap for cap in self._caps if count <= cap), -(-count // _STEP) * _STEP)


def _starts(units: Sequence[Unit]) -> Tensor:
    """Returns the first run of each slice or frame, of all units end to end, [S] int32."""
    lengths = [len(unit.inputs["runs"]) // unit.items for unit in units for _ in range(unit.items)]
    return torch.tensor(list(accumulate(lengths[:-1], initial=0)), dtype=torch.int32)


def _tier(axis: Hashable) -> Tier:
    assert isinstance(axis, Tier), "the axis is a tier"
    return axis


def _rounded(patches: float) -> int:
    """Returns the smallest cap that holds this many patches: a multiple of 16, as masks of 16 bits are read."""
    return -(-ceil(patches) // 16) * 16
