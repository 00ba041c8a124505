# mypy: ignore-errors
"""Memory-bound Triton kernels: each element is read and written once, and computed in float32 in between."""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def add_norm(
    x, delta, weight, bias, total, normed, rows, delta_rows, eps,
    C: tl.constexpr, BLOCK_C: tl.constexpr, ROWS: tl.constexpr, ADD: tl.constexpr, REPEAT: tl.constexpr,
    RMS: tl.constexpr = False,
):  # fmt: skip
    """Adds and norms ROWS rows of C channels a program; BLOCK_C >= C, a power of two.

    x, total, normed: [rows, C]; delta: [rows, C], or [delta_rows, C] with REPEAT; all contiguous. Without ADD there is
    no delta, and total is not written. With RMS the norm has neither a mean nor a bias. rows < 2^31. The mean is
    subtracted before the squares are summed, as the values are in registers anyway.
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
    centred = value
    if not RMS:
        mean = tl.sum(value, 1) / C
        centred = tl.where(in_c[None, :], value - mean[:, None], 0.0)
    inverse = tl.rsqrt(tl.sum(centred * centred, 1) / C + eps)
    result = centred * inverse[:, None] * scale[None, :]
    if not RMS:
        result += tl.load(bias + c, mask=in_c, other=0.0).to(tl.float32)[None, :]
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


@triton.jit
def gated_silu(gate, up, count, BLOCK: tl.constexpr):
    """Overwrites gate with silu(gate) * up, silu rounded as by an operator of its own. One program: BLOCK elements."""
    start = tl.program_id(0).to(tl.int64) * BLOCK
    i = tl.arange(0, BLOCK)
    there = i < count - start
    value = tl.load(gate + start + i, mask=there, other=0.0).to(tl.float32)
    opened = (value / (1.0 + tl.exp2(value * -LOG2_E))).to(gate.dtype.element_ty).to(tl.float32)
    result = opened * tl.load(up + start + i, mask=there, other=0.0).to(tl.float32)
    tl.store(gate + start + i, result.to(gate.dtype.element_ty), mask=there)


@triton.jit
def rotated(
    query, key, cosines, sines, out, row_step, head_step, key_out,
    H: tl.constexpr, HALF: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Turns all heads of one row's query or key, a program of [P, 2]: each pair of channels HALF apart by its angle.

    query, key: [P, H, 2 * HALF], of the same strides. cosines, sines: float32 [P, 2 * HALF], of which the second half
    repeats the first. out: [P, H, 2 * HALF], contiguous, the key's key_out elements after the query's.
    """
    row, second = tl.program_id(0).to(tl.int64), tl.program_id(1)
    source = query
    if second == 1:
        source = key
        out += key_out
    h = tl.arange(0, BLOCK_H)[:, None]
    d = tl.arange(0, BLOCK_D)
    there = (h < H) & (d < HALF)[None, :]
    cosine = tl.load(cosines + row * 2 * HALF + d, mask=d < HALF, other=0.0)[None, :]
    sine = tl.load(sines + row * 2 * HALF + d, mask=d < HALF, other=0.0)[None, :]
    at = source + row * row_step + h * head_step + d[None, :]
    a = tl.load(at, mask=there, other=0.0).to(tl.float32)
    b = tl.load(at + HALF, mask=there, other=0.0).to(tl.float32)
    to = out + (row * H + h) * 2 * HALF + d[None, :]
    tl.store(to, (a * cosine - b * sine).to(out.dtype.element_ty), mask=there)
    tl.store(to + HALF, (b * cosine + a * sine).to(out.dtype.element_ty), mask=there)
