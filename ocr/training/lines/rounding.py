"""Networks that learn to compute in 8 bits: what will be rounded when they run is rounded while they are trained.

Weights as `package_lines` stores them, and what lies between convolutions as `ocr.line_reader.line_layers` does.
Source: Jacob et al. 2018, Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ocr.int8 import expand, is_quantised, quantise
from ocr.line_reader.line_layers import Arrays, Layers

LEAST = 1500  # tensors of fewer weights are stored at 16 bits
WIDE = {"finder.safetensors": 2, "reader.safetensors": 3}  # steps of weights, as ocr.int8.quantise has it
# A range holds what lies in so many of a batch's images, and follows the batches' mean at this rate.
_WITHIN, _NEW = 0.99, 0.02
_STEPS = 255


class Rounded(nn.Module):
    """A network with its weights rounded, and what its parts return; gradients pass as if nothing was.

    graph: that of ONNX Runtime, which says what parts; these have ranges, which follow what they see in training, and
    round in copies of the network, too. Batch norms keep their running means. file: where the weights will be stored.
    """

    def __init__(self, net: nn.Module, graph: Callable[[Arrays], Layers], file: str) -> None:
        super().__init__()
        self.net, self._wide = net, WIDE[file]
        stored = {name: tensor.cpu().numpy() for name, tensor in net.state_dict().items()}
        for module in map(net.get_submodule, graph(stored).met):
            if not hasattr(module, "range"):
                module.register_buffer("range", torch.zeros(2, device=next(net.parameters()).device))
            module.register_forward_hook(_rounded)
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()

    def forward(self, *inputs: Tensor) -> Any:
        """Returns what the network does, in float32: bfloat16 would round as coarsely."""
        weights = {
            name: weight + (expand(*quantise(weight.detach(), self._wide)) - weight.detach())
            for name, weight in self.net.named_parameters()
            if is_quantised(name, weight) and weight.numel() >= LEAST
        }
        with torch.autocast(inputs[0].device.type, enabled=False):
            return functional_call(self.net, weights, inputs)


def _rounded(module: nn.Module, _: object, made: Tensor) -> Tensor:
    limits = module.get_buffer("range")
    if torch.is_grad_enabled():
        least = made.detach().amin((1, 2, 3)).float().quantile(1 - _WITHIN).clamp(max=0)
        most = made.detach().amax((1, 2, 3)).float().quantile(_WITHIN).clamp(min=2**-10)
        met = torch.stack([least, most])
        limits.lerp_(met, torch.where(limits.any(), _NEW, 1.0))
    elif not limits.any():
        return made  # nothing was seen yet
    step = (limits[1] - limits[0]) / _STEPS
    zero = (-limits[0] / step).round().int()
    return torch.fake_quantize_per_tensor_affine(made.float(), step, zero, 0, _STEPS).to(made.dtype)
