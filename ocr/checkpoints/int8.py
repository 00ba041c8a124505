"""Stores weights in eight bits: int8 values with one float16 scale a row, expanded when loaded.

A tensor stored this way is `<key>` (int8, its own shape) beside `<key>.scale` (float16, [rows]).
"""

import torch
from torch import Tensor

SCALE_SUFFIX = ".scale"
# Small tensors that many results depend on: kept at 16 bits.
_SENSITIVE = ("rel_pos_h", "rel_pos_w", "position_embedding.weight", "mlp.gate.weight")


def is_quantised(key: str, tensor: Tensor) -> bool:
    """Returns whether a tensor is stored in eight bits: matrices and convolutions are, but for a few small ones."""
    return tensor.ndim >= 2 and not key.endswith(_SENSITIVE)


def quantise(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Returns int8 values of the tensor's shape and float16 scales [rows]; symmetric, -127..127.

    The error of a value is at most its row's largest magnitude / 254, plus float16's rounding of the scale.
    """
    matrix = _rows(tensor).float()
    scale = (matrix.abs().amax(dim=1) / 127).clamp(min=2**-20).half()
    values = (matrix / scale.float()[:, None]).round().clamp(-127, 127).to(torch.int8)
    return values.view(tensor.shape), scale


def expand(values: Tensor, scale: Tensor) -> Tensor:
    """Returns the float32 tensor that quantise stored, of the values' shape."""
    return _rows(values).float().mul_(scale.float()[:, None]).view(values.shape)


def num_rows(shape: tuple[int, ...] | torch.Size) -> int:
    """Returns the number of output rows of a weight; where its leading axis is 1 (a position grid), of its vectors."""
    return int(shape[0] if shape[0] > 1 else torch.Size(shape[:-1]).numel())


def _rows(tensor: Tensor) -> Tensor:
    return tensor.reshape(num_rows(tensor.shape), -1)
