"""Inputs and the reference for the tests of encoders/attention."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from encoders.deepseek.sam import relative_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """qkv: [B, side, side, 3 * H * d], a projection. rows, cols: [side, side, d]."""

    qkv: Tensor
    rows: Tensor
    cols: Tensor
    num_heads: int

    @property
    def scale(self) -> float:
        return float(self.rows.shape[-1] ** -0.5)

    @property
    def arguments(self) -> tuple[Tensor, Tensor, Tensor, float, int]:
        """The arguments of grid_attention()."""
        return self.qkv, self.rows, self.cols, self.scale, self.num_heads

    @property
    def heads(self) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v, each [B, H, N, d]: strided views."""
        B, side = self.qkv.shape[:2]
        q, k, v = self.qkv.reshape(B, side * side, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        return q, k, v


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
    size = (batch, side, side, 3 * heads * head_dim)
    around = torch.full((batch + 2, *size[1:]), float("nan"), dtype=dtype, device=device)
    qkv = around[1:-1]
    qkv.copy_(torch.randn(size, generator=generator, device=device))
    rel_pos = 0.3 * torch.randn(2, 2 * side - 1, head_dim, generator=generator, device=device)
    rows, cols = (relative_table(table, side).to(dtype) for table in rel_pos)
    return Case(qkv=qkv, rows=rows, cols=cols, num_heads=heads)


def reference(case: Case, dtype: torch.dtype = torch.float64) -> Tensor:
    """[B, side, side, H * d] by the definition: every score, with its bias, in one matrix."""
    q, k, v, rows, cols = (tensor.to(dtype) for tensor in (*case.heads, case.rows, case.cols))
    token = torch.arange(q.shape[2], device=q.device)
    row, col = token // rows.shape[0], token % rows.shape[0]
    heads = []
    for head in range(q.shape[1]):  # one at a time: [N, N, d] tables would not fit for every head
        by_row = torch.einsum("bnd,nkd->bnk", q[:, head], rows[row])[:, :, row]
        by_col = torch.einsum("bnd,nkd->bnk", q[:, head], cols[col])[:, :, col]
        score = q[:, head] @ k[:, head].transpose(1, 2) * case.scale + by_row + by_col
        heads.append(score.softmax(-1) @ v[:, head])
    return torch.stack(heads, dim=2).reshape(*case.qkv.shape[:3], -1)


def relative_error(got: Tensor, want: Tensor) -> float:
    """Size of the difference by that of what is wanted. NaN if either holds one."""
    return float((got.to(want.dtype) - want).norm() / want.norm())


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCase:
    """x: [B, S, S, C] with a projection of it to 3 * C. rows, cols: [window, window, d]."""

    x: Tensor
    weight: Tensor
    bias: Tensor
    rows: Tensor
    cols: Tensor
    num_heads: int

    @property
    def scale(self) -> float:
        return float(self.rows.shape[-1] ** -0.5)

    @property
    def qkv(self) -> Tensor:
        return functional.linear(self.x, self.weight, self.bias)

    @property
    def arguments(self) -> tuple[Tensor, Tensor, Tensor, Tensor, float, int]:
        """The arguments of window_attention()."""
        return self.qkv, self.bias, self.rows, self.cols, self.scale, self.num_heads


def random_page(
    side: int,
    *,
    window: int = 14,
    batch: int = 1,
    heads: int = 2,
    head_dim: int = 64,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    seed: int = 0,
) -> PageCase:
    generator = torch.Generator(device).manual_seed(seed)
    width = heads * head_dim

    def normal(*size: int) -> Tensor:
        return torch.randn(size, generator=generator, device=device)

    weight, bias = (width**-0.5 * normal(3 * width, width)).to(dtype), normal(3 * width).to(dtype)
    rows, cols = (relative_table(0.3 * normal(2 * window - 1, head_dim), window).to(dtype) for _ in range(2))
    x = normal(batch, side, side, width).to(dtype)
    return PageCase(x=x, weight=weight, bias=bias, rows=rows, cols=cols, num_heads=heads)


def page_reference(case: PageCase, dtype: torch.dtype = torch.float64) -> Tensor:
    """[B, S, S, C] as SAM does it: zeros fill the page to whole windows, then all is projected; window by window."""
    window, (B, side, _, C) = case.rows.shape[0], case.x.shape
    full = -(-side // window) * window
    x = functional.pad(case.x.to(dtype), (0, 0, 0, full - side, 0, full - side))
    qkv = functional.linear(x, case.weight.to(dtype), case.bias.to(dtype))
    out = torch.empty(B, full, full, C, dtype=dtype, device=x.device)
    for top in range(0, full, window):
        for left in range(0, full, window):
            here = qkv[:, top : top + window, left : left + window]
            alone = Case(qkv=here, rows=case.rows, cols=case.cols, num_heads=case.num_heads)
            out[:, top : top + window, left : left + window] = reference(alone, dtype)
    return out[:, :side, :side]
