"""The line reader's two networks as paths of the graph manager: `find` (pages, reduced), `line` (lines).

A unit is a stack of images (ocr.line_reader.stacks): those of one class of sizes that a page has. Its axis is height
and width in pixels. Tokens are a page's cells and a line's frames.
"""

import math
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from encoders.graphs.path import GraphPath, Tensors, Unit, Watch
from ocr.line_networks.finder_net import FinderNet
from ocr.line_networks.reader_net import ReaderNet
from ocr.line_reader.networks import LEAST, STEP_PX, STRIDE_PX
from ocr.line_reader.stacks import FIND, INK, LINE, MOST_IMAGES, WHITE, Axis, Stack, num_frames

# Pixels of the largest batch: more in one do not make a GPU faster.
_MOST_PX = {FIND: 1 << 25, LINE: 40 << 17}


class StackPath(GraphPath):
    """Stacks of images through a network that reads each by itself. dtype: of its weights."""

    least_tokens = 1

    def __init__(self, net: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
        self._net = folded(net.eval()).to(device, dtype)
        self._net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._device, self._dtype = device, dtype
        self._watched = Watch(self._net)

    @property
    def num_bytes(self) -> int:
        """The size of the weights."""
        return sum(tensor.nbytes for tensor in self._watched())

    def most_tokens(self, axis: Hashable) -> int:
        number = max(1, min(self.max_items, _MOST_PX[self.name] // math.prod(_axis(axis))))
        return self.captured_tokens(axis, number * self.unit_tokens(axis))

    def captured_tokens(self, axis: Hashable, budget: int) -> int:
        """Rounds down to powers of four images: padded batches cost little, and every graph takes time to capture."""
        number = min(budget // self.unit_tokens(axis), self.max_items)
        return number and 4 ** ((number.bit_length() - 1) // 2) * self.unit_tokens(axis)

    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        number = budget // self.unit_tokens(axis)
        return {
            "pixels": torch.full((number, *_axis(axis)), WHITE[self.name], dtype=torch.uint8, device=device),
            "sizes": torch.full((number, 2), STEP_PX, dtype=torch.int32, device=device),
        }

    def pad(self, name: str, buffer: Tensor, used: int, dirty: int) -> None:
        buffer[used:dirty].fill_(STEP_PX if name == "sizes" else WHITE[self.name])

    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        left, units = tokens // self.unit_tokens(axis), []
        while left:
            number = min(left, MOST_IMAGES[self.name])
            pixels = torch.randint(0, 256, (number, *_axis(axis)), dtype=torch.uint8)
            units.append(self._unit(axis, pixels, torch.tensor([_axis(axis)] * number, dtype=torch.int32)))
            left -= number
        return units

    def unit(self, stack: Stack) -> Unit:
        """Returns a stack as the manager takes it; it shares the stack's memory."""
        return self._unit(stack.axis, torch.from_numpy(stack.pixels), torch.from_numpy(stack.sizes))

    def rows(self, name: str, unit: Unit) -> int:
        return unit.items

    def watched(self, axis: Hashable) -> Sequence[Tensor]:
        return self._watched()

    def forward(self, inputs: Tensors) -> Tensors:
        """Runs as many images as a graph would have: 50 ms go by before a GPU knows how to run another number."""
        number = len(inputs["sizes"])
        missing = 4 ** (((number - 1).bit_length() + 1) // 2) - number
        white, ink = WHITE[self.name], INK[self.name]
        pixels = functional.pad(inputs["pixels"], (0, 0, 0, 0, 0, missing), value=white)
        sizes = functional.pad(inputs["sizes"], (0, 0, 0, missing), value=STEP_PX)
        outputs = self._outputs((pixels[:, None].to(self._dtype) - white) / ink, sizes)
        return {name: output[:number] for name, output in outputs.items()}

    @abstractmethod
    def _outputs(self, images: Tensor, sizes: Tensor) -> Tensors:
        """Returns the outputs, as ocr.line_reader.stacks.output_kinds says. images: [N, 1, H, W] as in training."""

    def _unit(self, axis: Hashable, pixels: Tensor, sizes: Tensor) -> Unit:
        number, inputs = len(pixels), {"pixels": pixels, "sizes": sizes}
        return Unit(tokens=number * self.unit_tokens(axis), axis=axis, inputs=inputs, items=number)


class FindPath(StackPath):
    """Pages, 8 bits of darkness each, to their cells."""

    name = FIND

    def __init__(self, net: FinderNet, device: torch.device, dtype: torch.dtype) -> None:
        super().__init__(net, device, dtype)

    def unit_tokens(self, axis: Hashable) -> int:
        return math.prod(_axis(axis)) // STRIDE_PX**2

    def _outputs(self, images: Tensor, sizes: Tensor) -> Tensors:
        return {"cells": self._net(images).to(torch.float16, memory_format=torch.contiguous_format)}


class LinePath(StackPath):
    """Line images to the class of each frame, and its probability."""

    name = LINE

    def __init__(self, net: ReaderNet, device: torch.device, dtype: torch.dtype) -> None:
        self._sizes = net.sizes
        super().__init__(net, device, dtype)

    def unit_tokens(self, axis: Hashable) -> int:
        return num_frames(self._sizes, _axis(axis)[1])

    def _outputs(self, images: Tensor, sizes: Tensor) -> Tensors:
        logits, _ = self._net(images, sizes[:, 1])
        best, classes = logits[..., 1:].float().max(-1)
        chances = (best - logits.float().logsumexp(-1)).exp()
        sign = (best > logits[..., 0]).to(classes) - (best <= logits[..., 0]).to(classes) * (chances >= LEAST)
        return {"classes": (sign * (classes + 1)).to(torch.int16), "chances": chances}


def folded(net: nn.Module) -> nn.Module:
    """Returns a network in which each convolution has taken the batch norm that follows it into itself."""
    for module in list(net.modules()):
        for (conv_name, conv), (norm_name, norm) in pairwise(list(module.named_children())):
            if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                module.register_module(conv_name, fuse_conv_bn_eval(conv, norm))
                module.register_module(norm_name, nn.Identity())
    return net


def _axis(axis: Hashable) -> Axis:
    assert isinstance(axis, tuple), "height and width"
    return axis
