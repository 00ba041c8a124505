# mypy: ignore-errors
"""Memory-bound Triton kernels: each element is read and written once, and computed in float32 in between."""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def add_norm(
    x, delta, weight, bias, total, normed, rows, delta_rows, eps,
    C: tl.constexpr, BLOCK_C: tl.constexpr, ROWS: tl.constexpr, ADD: tl.constexpr, REPEAT: tl.constexpr,
):  # fmt: skip
    """Adds and norms ROWS rows of C channels a program; BLOCK_C >= C, a power of two.

    x, total, normed: [rows, C]; delta: [rows, C], or [delta_rows, C] with REPEAT; all contiguous. Without ADD there is
    no delta, and total is not written. rows < 2^31. The mean is subtracted before the squares are summed, as the values
    are in registers anyway.
    """
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK_C)
    in_c = c < C
    there = (r < rows)[:, None] & in_c[None, :]
    place = r.to(tl.int64)[:, None] * C + c[None, :]
    value = tl.load(x + place, mask=there, other=0.0).to(tl.float32)
    if ADD:
        if REPEAT:
            other = tl.load(delta + (r % delta_rows)[:, None] * C + c[None, :], mask=there, other=0.0)
        else:
            other = tl.load(delta + place, mask=there, other=0.0)
        value += other.to(tl.float32)
        tl.store(total + place, value.to(total.dtype.element_ty), mask=there)
    scale = tl.load(weight + c, mask=in_c, other=0.0).to(tl.float32)
    shift = tl.load(bias + c, mask=in_c, other=0.0).to(tl.float32)
    mean = tl.sum(value, 1) / C
    centred = tl.where(in_c[None, :], value - mean[:, None], 0.0)
    inverse = tl.rsqrt(tl.sum(centred * centred, 1) / C + eps)
    result = centred * inverse[:, None] * scale[None, :] + shift[None, :]
    tl.store(normed + place, result.to(normed.dtype.element_ty), mask=there)


@triton.jit
def quick_gelu(x, count, BLOCK: tl.constexpr):
    """Overwrites x with x * sigmoid(1.702 x). One program: BLOCK elements."""
    start = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    there = i < count - start
    value = tl.load(x + start + i, mask=there, other=0.0).to(tl.float32)
    result = value / (1.0 + tl.exp2(value * (-1.702 * LOG2_E)))
    tl.store(x + start + i, result.to(x.dtype.element_ty), mask=there)
