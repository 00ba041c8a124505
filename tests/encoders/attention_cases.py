"""Inputs and the reference for the tests of encoders/attention."""

from dataclasses import dataclass

import torch
from torch import Tensor

from encoders.sam import relative_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """q, k, v: [B, H, N, d], strided views of one projection. rows, cols: [side, side, d]."""

    q: Tensor
    k: Tensor
    v: Tensor
    rows: Tensor
    cols: Tensor

    @property
    def scale(self) -> float:
        return float(self.q.shape[-1] ** -0.5)

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        return self.q, self.k, self.v, self.rows, self.cols


def random_case(
    side: int,
    *,
    batch: int = 1,
    heads: int = 2,
    head_dim: int = 64,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    seed: int = 0,
) -> Case:
    """The projection lies among NaN, so that a read beyond it shows in the result."""
    generator = torch.Generator(device).manual_seed(seed)
    size = (batch, side * side, 3, heads, head_dim)
    around = torch.full((batch + 2, side * side + 9, *size[2:]), float("nan"), dtype=dtype, device=device)
    qkv = around[1:-1, 4:-5]
    qkv.copy_(torch.randn(size, generator=generator, device=device))
    q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    rel_pos = 0.3 * torch.randn(2, 2 * side - 1, head_dim, generator=generator, device=device)
    rows, cols = (relative_table(table, side).to(dtype) for table in rel_pos)
    return Case(q=q, k=k, v=v, rows=rows, cols=cols)


def reference(case: Case, dtype: torch.dtype = torch.float64) -> Tensor:
    """[B, H, N, d] by the definition: every score, with its bias, in one matrix."""
    q, k, v, rows, cols = (tensor.to(dtype) for tensor in case.tensors)
    token = torch.arange(q.shape[2], device=q.device)
    row, col = token // rows.shape[0], token % rows.shape[0]
    heads = []
    for head in range(q.shape[1]):  # one at a time: [N, N, d] tables would not fit for every head
        by_row = torch.einsum("bnd,nkd->bnk", q[:, head], rows[row])[:, :, row]
        by_col = torch.einsum("bnd,nkd->bnk", q[:, head], cols[col])[:, :, col]
        score = q[:, head] @ k[:, head].transpose(1, 2) * case.scale + by_row + by_col
        heads.append(score.softmax(-1) @ v[:, head])
    return torch.stack(heads, dim=1)


def relative_error(got: Tensor, want: Tensor) -> float:
    """Size of the difference by that of what is wanted. NaN if either holds one."""
    return float((got.to(want.dtype) - want).norm() / want.norm())
