"""Networks that learn to compute in 8 bits: what will be rounded when they run is rounded while they are trained.

Source: Jacob et al. 2018, Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from ocr.int8 import expand, quantise
from ocr.line_reader.onnx_graph import MOST, Arrays, Graph

# A range holds what lies in so many of a batch's images, and follows the batches' mean at this rate.
_WITHIN, _NEW, _STEPS = 0.99, 0.02, 255
_UNMET = 16.0


def wide(weight: Tensor) -> float:
    """Returns how wide the steps of a weight are, as ocr.int8.quantise has it: those of a matrix are deflated."""
    return 127 / MOST if weight.ndim > 3 else 3


class Rounded(nn.Module):
    """A network with its weights rounded, and what its parts return; gradients pass as if nothing was.

    graph: that of ONNX Runtime, which says what is rounded; those parts have ranges, which follow what they see in
    training, and round in copies of the network, too. Batch norms keep their running means.
    """

    def __init__(self, net: nn.Module, graph: Callable[[Arrays], Graph]) -> None:
        super().__init__()
        stored = {name: tensor.cpu().numpy() for name, tensor in net.state_dict().items()}
        parts, self.net = graph(stored).met, net.eval()
        for module in map(net.get_submodule, parts):
            module.register_buffer("range", next(net.parameters()).new_tensor([-_UNMET, _UNMET]))
            module.register_forward_hook(_rounded)
        self._names = graph(stored | {f"{part}.range": np.arange(2.0) for part in parts}).in_bytes & stored.keys()

    def forward(self, *inputs: Tensor) -> Any:
        """Returns what the network does, in float32: bfloat16 would round as coarsely."""
        weights: dict[str, Tensor] = {name: self.net.get_parameter(name) for name in self._names}
        for name, weight in weights.items():
            weights[name] = weight + (expand(*quantise(weight.detach(), wide(weight))) - weight.detach())
        with torch.autocast(inputs[0].device.type, enabled=False):
            return functional_call(self.net, weights, inputs)


def _rounded(module: nn.Module, _: object, made: Tensor) -> Tensor:
    limits = module.get_buffer("range")
    if torch.is_grad_enabled():
        least = made.detach().amin((1, 2, 3)).float().quantile(1 - _WITHIN).clamp(max=0)
        most = made.detach().amax((1, 2, 3)).float().quantile(_WITHIN).clamp(min=2**-10)
        limits.lerp_(torch.stack([least, most]), torch.where(limits[1] == _UNMET, 1.0, _NEW))
    step = (limits[1] - limits[0]) / _STEPS
    zero = (-limits[0] / step).round().int()
    return torch.fake_quantize_per_tensor_affine(made.float(), step, zero, 0, _STEPS).to(made.dtype)
