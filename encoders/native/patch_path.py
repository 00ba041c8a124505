"""The paths of encoders that take patches end to end: images, and videos as sequences of frames.

Any sizes share a batch: patches lie end to end, and attention stays within an image or a frame. A graph has room for a
number of tokens, of sequences, and of windows; a batch with more of any of them runs eagerly.

Pixels go to the device as they are, uint8 and not rearranged: a patch's pixels are collected there by the place of its
first ones, which takes 16 bytes a patch to say. Rearranging them on the host would copy each page once more.
"""

import math
from collections.abc import Hashable, Sequence
from itertools import accumulate
from operator import add

import torch
from torch import Tensor

from encoders.graphs.errors import UnitError
from encoders.graphs.path import GraphPath, Tensors, Unit, Watch
from encoders.graphs.settings import GraphSettings
from encoders.native.grid_plans import image_plan, video_plan
from encoders.native.patch_vision import PatchVision
from encoders.native.vision_grid import Kind, VisionGrid

# Units of all sizes share their batches.
AXIS = "any"
# Tokens of an example image, and of one temporal patch of an example video.
_EXAMPLE_TOKENS = {"image": 2048, "video": 256}
_CHANNELS = 3
# A graph has room for sequences of this many tokens, on average; icons of 224 px have 49.
_SEQUENCE_TOKENS, _LEAST_SEQUENCES = 32, 8


class PatchPath(GraphPath):
    """The path of images, one a unit, or of videos. Outputs: tokens [N, D_out * (1 + deepstack features)].

    Items are sequences: images, or temporal patches of videos (frames, or pairs of them). The largest batch has 8192
    tokens (32,768 patches) unless the user sets budgets, on a CPU one unit, as it gains nothing from larger batches.
    least_tokens: what budgets are multiples of. A unit's note is its VisionGrid.
    """

    def __init__(
        self,
        name: Kind,
        vision: PatchVision,
        *,
        least_tokens: int = 64,
    ) -> None:
        self.name: Kind = name
        self.least_tokens = least_tokens
        self._vision = vision
        self._geometry = vision.geometry
        self._patches_a_token = self._geometry.merge**2
        self._patch_frames = self._geometry.temporal if name == "video" else 1
        self._weights = Watch(vision.module)

    def unit_tokens(self, axis: Hashable) -> int:
        return self.least_tokens

    def limit(self, settings: GraphSettings) -> None:
        self.max_items = settings.max_frames if self.name == "video" else settings.max_items

    def most_tokens(self, axis: Hashable) -> int:
        return self.least_tokens if self._vision.device.type == "cpu" else 8192

    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        """Returns zeros: patches of padding show the first pixels, and no sequence contains them."""
        patches, side = budget * self._patches_a_token, self._geometry.patch_px
        num_runs = patches * self._patch_frames * _CHANNELS * side
        shapes = {
            "runs": ((num_runs, side), torch.uint8),
            "sources": ((patches, 2 + self._patch_frames), torch.int32),
            "positions": ((patches, 2), torch.int32),
            "cu_seqlens": ((self._max_sequences(budget) + 1,), torch.int32),
            "longest": ((patches, 0), torch.uint8),
        }
        if self._geometry.position_side is not None:
            shapes |= {"taps": ((patches, 4), torch.int32), "tap_weights": ((patches, 4), torch.float32)}
        if self._geometry.window is not None:
            shapes |= {
                "cu_windows": ((self._max_windows(budget) + 1,), torch.int32),
                "order": ((budget,), torch.int32),
            }
        return {
            name: torch.zeros(shape, dtype=dtype, device=device) for name, (shape, dtype) in shapes.items()
        }

    def pieces(self, units: Sequence[Unit]) -> dict[str, list[Tensor]]:
        """Returns the units' inputs, with places counted from the beginning of the batch."""
        inputs = [unit.inputs for unit in units]
        pieces = {name: [each[name] for each in inputs] for name in inputs[0]}
        lengths, windows = pieces.pop("lengths"), pieces.pop("window_lengths", None)
        starts = accumulate(map(len, pieces["runs"]), initial=0)
        pieces["sources"] = list(map(_shifted, pieces["sources"], starts))
        pieces["cu_seqlens"] = _offsets(lengths)
        pieces["longest"] = [max(pieces["longest"], key=len)]
        if windows is not None:
            pieces["cu_windows"] = _offsets(windows)
            starts = accumulate((unit.tokens for unit in units), initial=0)
            pieces["order"] = list(map(add, pieces["order"], starts))
        return pieces

    def pad(self, name: str, buffer: Tensor, used: int, dirty: int) -> None:
        """Restores the padding: no sequence after the last one, and no pixels, which nothing but sources refers to."""
        if name.startswith("cu_"):
            buffer[used:] = buffer[used - 1]
        elif name != "runs":
            super().pad(name, buffer, used, dirty)

    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        """Returns images of up to 2,048 tokens, about square, or one video with frames of up to 256."""
        count = min(-(-tokens // _EXAMPLE_TOKENS[self.name]), self.max_items)
        rows = math.isqrt(tokens // count)
        side = self._geometry.token_px
        frames = count * self._patch_frames
        shape = (frames, _CHANNELS, rows * side, tokens // count // rows * side)
        pixels = torch.randint(0, 256, shape, dtype=torch.uint8)
        return [self.unit(some) for some in torch.split(pixels, frames if self.name == "video" else 1)]

    def forward(self, inputs: Tensors) -> Tensors:
        return {"tokens": self._vision.encode(inputs)}

    def watched(self, axis: Hashable) -> Sequence[Tensor]:
        return self._weights()

    def check(self, unit: Unit) -> None:
        patches = len(unit.inputs["sources"]) if "sources" in unit.inputs else 0
        if unit.tokens < 1 or unit.items < 1 or patches != unit.tokens * self._patches_a_token:
            raise UnitError(
                f"path {self.name}: {unit.tokens} tokens in {unit.items} items of {patches} patches; "
                f"expected {self._patches_a_token} patches for each token"
            )

    def grid(self, shape: Sequence[int]) -> VisionGrid:
        """Returns the patches of pixels [F, 3, H, W]. Raises UnitError where H or W is no multiple of a token."""
        num_frames, _, height, width = shape
        if min(shape) < 1 or height % self._geometry.token_px or width % self._geometry.token_px:
            raise UnitError(
                f"path {self.name}: {num_frames} frames of {width} x {height} px; sides must be multiples of "
                f"{self._geometry.token_px}"
            )
        return VisionGrid(
            kind=self.name,
            frames=-(-num_frames // self._patch_frames),
            rows=height // self._geometry.patch_px,
            columns=width // self._geometry.patch_px,
            merge=self._geometry.merge,
        )

    def unit(self, pixels: Tensor) -> Unit:
        """Returns the unit of an image, uint8 [1, 3, H, W], or of a video's frames [F, 3, H, W].

        It shares their memory. Raises UnitError as grid() does.
        """
        grid = self.grid(pixels.shape)
        size = grid.rows, grid.columns
        moving = self.name == "video"
        plan = video_plan(self._geometry, len(pixels), *size) if moving else image_plan(self._geometry, *size)
        runs = pixels.contiguous().view(-1, self._geometry.patch_px)
        return Unit(
            tokens=grid.num_tokens,
            axis=AXIS,
            inputs={"runs": runs, **plan.inputs()},
            items=grid.frames,
        )

    def _max_sequences(self, budget: int) -> int:
        """Returns the sequences that a graph has room for, two at least: one alone would seem to fill its rows.

        Attention is launched for each of them, empty or not.

        In a graph of 1,024 tokens, 64 of them made attention a fifth slower on an H200 than one did.
        """
        return max(2, min(self.max_items, max(_LEAST_SEQUENCES, budget // _SEQUENCE_TOKENS)))

    def _max_windows(self, budget: int) -> int:
        """Returns the windows that a graph has room for: half full ones, and one more for each image."""
        assert self._geometry.window is not None, "a model without windows"
        return 2 * budget // self._geometry.window**2 + self._max_sequences(budget)


def _shifted(sources: Tensor, start: int) -> Tensor:
    """Returns the sources of pixels that begin at this run of the batch."""
    if start == 0:
        return sources
    shifted = sources.clone()
    shifted[:, 2:] += start
    return shifted


def _offsets(lengths: Sequence[Tensor]) -> list[Tensor]:
    """Returns 0 and the ends of sequences of these lengths."""
    return [torch.zeros(1, dtype=torch.int32), torch.cat(list(lengths)).cumsum(0, dtype=torch.int32)]
