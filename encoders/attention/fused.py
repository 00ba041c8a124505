"""Launches the Triton kernels, and makes one operator of them that torch.compile and CUDA graphs take as it is.

Import only where Triton is installed. Run once outside a graph capture: the first call compiles.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from encoders.attention import kernels

MAX_WINDOW = 16  # side up to which all keys make one block
MAX_SIDE = 128
HEAD_DIMS = (16, 32, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchConfig:
    """block_m: queries of a program, a power of two from 16. rows: grid rows in a block of keys (not for windows).

    max_registers: of a thread; a lower number lets more programs share a multiprocessor.
    """

    block_m: int
    num_warps: int
    num_stages: int
    rows: int = 1
    max_registers: int | None = None


def supports(q: Tensor, k: Tensor, v: Tensor, rows_qkd: Tensor, cols_qkd: Tensor) -> bool:
    """Whether attend() takes these: on NVIDIA from Ampere on, 16-bit, no gradient wanted."""
    tensors = (q, k, v, rows_qkd, cols_qkd)
    if q.device.type != "cuda" or torch.version.hip is not None:
        return False
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return False
    if q.dtype not in (torch.float16, torch.bfloat16) or any(tensor.dtype != q.dtype for tensor in tensors):
        return False
    if q.shape[-1] not in HEAD_DIMS or rows_qkd.shape[0] > MAX_SIDE:
        return False
    return torch.cuda.get_device_properties(q.device).major >= 8


def power_of_two(count: int) -> int:
    """The smallest one that is at least count, and at least 16, as matrix instructions want."""
    return max(16, 1 << (count - 1).bit_length())


def best_rows(side: int) -> int:
    """Grid rows in a block of keys: the fewest padding keys in blocks of at most 128, 64 if that is a draw.

    With a side of 40 three rows fill 120 of 128 places and the last block 40: 89 % against one row's 62 %.
    """
    fitting = [rows for rows in range(1, side + 1) if rows == 1 or power_of_two(rows * side) <= 128]

    def cost(rows: int) -> tuple[int, int]:
        block = power_of_two(rows * side)
        return -(-side // rows) * block, abs(block - 64)

    return min(fitting, key=cost)


def default_config(side: int) -> LaunchConfig:
    if side <= MAX_WINDOW:
        return LaunchConfig(block_m=64, num_warps=4, num_stages=1)
    rows = best_rows(side)
    if power_of_two(rows * side) == 128:  # no cap: the tiles need every register
        return LaunchConfig(block_m=128, num_warps=8, num_stages=2, rows=rows)
    return LaunchConfig(block_m=128, num_warps=8, num_stages=3, rows=rows, max_registers=128)


def launch(
    q: Tensor, k: Tensor, v: Tensor, rows_qkd: Tensor, cols_qkd: Tensor, scale: float, config: LaunchConfig
) -> Tensor:
    """q, k, v: [B, H, N, d], any strides -> [B, N, H, d], contiguous. Copies those whose channels are strided.

    rows_qkd, cols_qkd: [side, side, d] with N = side * side; entry (a, b) depends on a - b alone.
    """
    q, k, v = (tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in (q, k, v))
    B, H, N, d = q.shape
    side = rows_qkd.shape[0]
    out = torch.empty(B, N, H, d, dtype=q.dtype, device=q.device)
    if B == 0:
        return out
    tensors = [q, k, v, rows_qkd.contiguous(), cols_qkd.contiguous()]
    strides = [stride for tensor in (q, k, v) for stride in tensor.stride()[:3]]
    constants = {"H": H, "SIDE": side, "D": d, "BLOCK_M": config.block_m}
    options: dict[str, int] = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    if config.max_registers is not None:
        options["maxnreg"] = config.max_registers
    if side <= MAX_WINDOW:
        kernel, programs = kernels.window_attention, B * H
        constants |= {"BLOCK_N": power_of_two(N), "BLOCK_S": power_of_two(side)}
        constants |= {"BLOCK_T": power_of_two(2 * side - 1)}
    else:
        kernel, programs = kernels.grid_attention, -(-N // config.block_m) * B * H
        constants |= {"BLOCK_N": power_of_two(config.rows * side), "BLOCK_T": 64, "ROWS": config.rows}
        tensors += torch.empty(2, B * H, N * side, dtype=torch.float32, device=q.device).unbind(0)
    kernel[(programs,)](*tensors, out, *strides, scale, **constants, **options)
    return out


@torch.library.custom_op("ocrbatch::rel_pos_attention", mutates_args=(), device_types="cuda")
def rel_pos_attention(
    q: Tensor, k: Tensor, v: Tensor, rows_qkd: Tensor, cols_qkd: Tensor, scale: float
) -> Tensor:
    """launch() with the side's own configuration."""
    with torch.cuda.device(q.device):  # Triton launches on the current device
        return launch(q, k, v, rows_qkd, cols_qkd, scale, default_config(rows_qkd.shape[0]))


@rel_pos_attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, rows_qkd: Tensor, cols_qkd: Tensor, scale: float) -> Tensor:
    B, H, N, d = q.shape
    return q.new_empty(B, N, H, d)


def attend(q: Tensor, k: Tensor, v: Tensor, rows_qkd: Tensor, cols_qkd: Tensor, scale: float) -> Tensor:
    """q, k, v: [B, H, N, d] -> [B, H, N, d], of which transpose(1, 2) is contiguous."""
    out: Tensor = rel_pos_attention(q, k, v, rows_qkd, cols_qkd, scale)
    return out.transpose(1, 2)
