"""What the layers of vision transformers over patches have in common, with fewer passes over memory than their modules.

transformers' modules hold the weights. On a CPU, or where a module's activation is another, the module computes.

Shapes: P patches, W hidden, F the feed-forward's width.
"""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from encoders.attention.switch import takes
from encoders.pointwise import gated_silu, linear_gelu

# Matrix products in 16 bits read 16 bytes at a time; a row that is no multiple of it takes a kernel half as fast.
_ALIGNED = 8
_PRODUCTS = (("linear_fc1", "linear_fc2"), ("fc1", "fc2"))


def feed_forward(mlp: Any, normed: Tensor) -> Tensor:
    """Returns what a layer's feed-forward makes of its normed input, [P, W]."""
    made: Tensor | None = None
    if takes((normed,)) and _is_gated(mlp):
        made = mlp.down_proj(gated_silu(mlp.gate_proj(normed), mlp.up_proj(normed)))
    elif takes((normed,)) and _activation(mlp) in ("GELUTanh", "PytorchGELUTanh"):
        for first, second in _PRODUCTS:
            if hasattr(mlp, first):
                made = getattr(mlp, second)(linear_gelu(normed, getattr(mlp, first), tanh=True))
    return mlp(normed) if made is None else made


def align(mlp: Any) -> None:
    """Pads a gated feed-forward's width with zeros to a multiple of 8, in place; what it computes stays the same.

    Qwen2.5-VL's is 3,420, for which matrix products took 21 of 47 ms of a page on an H200.
    """
    missing = -mlp.gate_proj.out_features % _ALIGNED if _is_gated(mlp) else 0
    if not missing:
        return
    for linear in (mlp.gate_proj, mlp.up_proj):
        linear.weight = _padded(linear.weight, (0, 0, 0, missing))
        if linear.bias is not None:
            linear.bias = _padded(linear.bias, (0, missing))
        linear.out_features += missing
    mlp.down_proj.weight = _padded(mlp.down_proj.weight, (0, missing))
    mlp.down_proj.in_features += missing


def _padded(weight: Tensor, places: tuple[int, ...]) -> nn.Parameter:
    return nn.Parameter(functional.pad(weight.detach(), places), requires_grad=weight.requires_grad)


def _is_gated(mlp: Any) -> bool:
    """Returns whether it computes down(silu(gate(x)) * up(x)), for which silu(0) * 0 is no channel."""
    gated = all(hasattr(mlp, name) for name in ("gate_proj", "up_proj", "down_proj"))
    return gated and _activation(mlp) in ("SiLU", "SiLUActivation")


def _activation(mlp: Any) -> str:
    return type(getattr(mlp, "act_fn", getattr(mlp, "activation_fn", None))).__name__
