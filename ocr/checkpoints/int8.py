"""Eight-bit storage of weights: int8 values with one float16 scale a row, expanded when loaded.

A tensor stored this way is `<key>` (int8, its own shape) beside `<key>.scale` (float16, [rows]).
"""

import torch
from torch import Tensor

SCALE_SUFFIX = ".scale"
# Few numbers that many results hang on: left at 16 bits.
_SENSITIVE = ("rel_pos_h", "rel_pos_w", "position_embedding.weight", "mlp.gate.weight")


def is_quantised(key: str, tensor: Tensor) -> bool:
    """Whether eight-bit storage takes this tensor: matrices and convolutions, but for a few small ones."""
    return tensor.ndim >= 2 and not key.endswith(_SENSITIVE)


def quantise(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """(int8 values of the tensor's shape, float16 scales [rows]); symmetric, -127..127.

    The error of a value is at most its row's largest magnitude / 254, and what float16 takes from the scale.
    """
    matrix = _rows(tensor).float()
    scale = (matrix.abs().amax(dim=1) / 127).clamp(min=2**-20).half()
    values = (matrix / scale.float()[:, None]).round().clamp(-127, 127).to(torch.int8)
    return values.view(tensor.shape), scale


def expand(values: Tensor, scale: Tensor) -> Tensor:
    """The float32 tensor that quantise stored, of the values' shape."""
    return _rows(values).float().mul_(scale.float()[:, None]).view(values.shape)


def num_rows(shape: tuple[int, ...] | torch.Size) -> int:
    """Output rows of a weight. A leading axis of 1 (a position grid) is none: its rows are the vectors."""
    return int(shape[0] if shape[0] > 1 else torch.Size(shape[:-1]).numel())


def _rows(tensor: Tensor) -> Tensor:
    return tensor.reshape(num_rows(tensor.shape), -1)
