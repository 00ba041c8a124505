# mypy: ignore-errors
"""Triton kernels of a decoder layer for few tokens, where launches cost more than arithmetic.

T tokens, D width, E experts, K of them a token, INNER their inner width, P = T * K pairs of token and expert.
"""

import triton
import triton.language as tl


@triton.jit
def rms_norm(x, weight, out, x_s, eps, D: tl.constexpr, WIDTH: tl.constexpr):
    """Normalises one token a program. x: [T, D], row stride x_s. out: [T, D], contiguous. WIDTH: power of two >= D."""
    row = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, WIDTH)
    real = d < D
    values = tl.load(x + row * x_s + d, mask=real, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, 0) / D + eps)
    gain = tl.load(weight + d, mask=real, other=0.0)
    normed = (values * scale).to(out.dtype.element_ty)
    tl.store(out + row * D + d, (gain * normed).to(out.dtype.element_ty), mask=real)


@triton.jit
def rotate_append(
    query, new_keys, new_values, cos, sin, out, keys, values, plan, plan_s, cos_s,
    H: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    WIDTH_Q: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Applies rotary positions to one token's queries and keys a program; writes its keys and values into the pool.

    query, out: [S, H * GROUP, D], new_keys, new_values: [S, H, D], contiguous. cos, sin: [S, D], strided.
    WIDTH_Q, WIDTH: the powers of two that hold all heads of queries and of keys. The rest:
    ocr.decoding.gpu.kernels.paged_kernels.append.
    """
    slot = tl.program_id(0).to(tl.int64)
    position = tl.load(plan + slot * plan_s)
    block = tl.load(plan + slot * plan_s + 1 + position // BLOCK).to(tl.int64)
    cos += slot * cos_s
    sin += slot * cos_s
    at = tl.arange(0, WIDTH_Q)
    real = at < H * GROUP * D
    d = at % D
    other = at - d + (d + D // 2) % D
    sign = tl.where(d < D // 2, -1.0, 1.0)
    base = query + slot * (H * GROUP * D)
    rotated = tl.load(base + at, mask=real, other=0.0).to(tl.float32) * tl.load(cos + d).to(tl.float32)
    turned = tl.load(base + other, mask=real, other=0.0).to(tl.float32) * sign
    rotated += turned * tl.load(sin + d).to(tl.float32)
    tl.store(out + slot * (H * GROUP * D) + at, rotated.to(out.dtype.element_ty), mask=real)
    at = tl.arange(0, WIDTH)
    real = at < H * D
    head, d = at // D, at % D
    other = at - d + (d + D // 2) % D
    sign = tl.where(d < D // 2, -1.0, 1.0)
    base = new_keys + slot * (H * D)
    rotated = tl.load(base + at, mask=real, other=0.0).to(tl.float32) * tl.load(cos + d).to(tl.float32)
    turned = tl.load(base + other, mask=real, other=0.0).to(tl.float32) * sign
    rotated += turned * tl.load(sin + d).to(tl.float32)
    target = (block * H + head) * (BLOCK * D) + position % BLOCK * D + d
    tl.store(keys + target, rotated.to(keys.dtype.element_ty), mask=real)
    value = tl.load(new_values + slot * (H * D) + at, mask=real)
    tl.store(values + target, value, mask=real)


@triton.jit
def silu_product(gate, up, out, count, BLOCK: tl.constexpr):
    """Computes out = silu(gate) * up, element by element, all contiguous."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    real = at < count
    x = tl.load(gate + at, mask=real, other=0.0).to(tl.float32)
    y = tl.load(up + at, mask=real, other=0.0).to(tl.float32)
    tl.store(out + at, (x / (1.0 + tl.exp(-x)) * y).to(out.dtype.element_ty), mask=real)


@triton.jit
def route(
    x, weight, experts, shares, x_s, scale,
    D: tl.constexpr, E: tl.constexpr, K: tl.constexpr, PADDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Finds one token's K likeliest experts (int64 [T, K]) and their probabilities times scale (fp32 [T, K]) a program.

    x: [T, D], row stride x_s. weight: [E, D]. Products are summed in fp32. PADDED: power of two >= E.
    D is a multiple of BLOCK. Among equal probabilities the lower expert comes first.
    """
    row = tl.program_id(0).to(tl.int64)
    e = tl.arange(0, PADDED)
    d = tl.arange(0, BLOCK)
    real = e < E
    scores = tl.zeros([PADDED], tl.float32)
    for first in tl.range(0, D, BLOCK):
        values = tl.load(x + row * x_s + first + d).to(tl.float32)
        rows = tl.load(weight + e[:, None] * D + (first + d)[None, :], mask=real[:, None], other=0.0)
        scores += tl.sum(rows.to(tl.float32) * values[None, :], 1)
    scores = tl.where(real, scores, float("-inf"))
    chances = tl.exp(scores - tl.max(scores, 0))
    chances = chances / tl.sum(chances, 0)
    for k in tl.static_range(0, K):
        best = tl.max(chances, 0)
        expert = tl.min(tl.where(chances == best, e, PADDED), 0)
        # Among NaNs no expert is the best; any will do, as the result is NaN too.
        expert = tl.minimum(expert, E - 1)
        tl.store(experts + row * K + k, expert.to(tl.int64))
        tl.store(shares + row * K + k, best * scale)
        chances = tl.where(e == expert, -1.0, chances)


@triton.jit
def assign(experts, lists, counts, pairs, PADDED: tl.constexpr):
    """Lists one expert's pairs a program, in order. lists: int32 [E, pairs]. counts: int32 [E]. PADDED: >= pairs."""
    e = tl.program_id(0)
    at = tl.arange(0, PADDED)
    mine = (tl.load(experts + at, mask=at < pairs, other=-1) == e).to(tl.int32)
    place = tl.cumsum(mine, 0) - 1
    tl.store(lists + e.to(tl.int64) * pairs + place, at, mask=mine == 1)
    tl.store(counts + e, tl.sum(mine, 0))


@triton.jit
def gate_up(
    x, weight, lists, counts, inner, pairs, x_s,
    K: tl.constexpr, D: tl.constexpr, INNER: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Computes silu(gate) * up: BLOCK_N inner numbers of one expert for all its pairs a program.

    x: [T, D], row stride x_s. weight: [E, 2 * INNER, D], gates first. inner: [pairs, INNER]. D is a
    multiple of BLOCK_K and INNER of BLOCK_N. Most experts have no more pairs than BLOCK_M: weights are read once.
    """
    e = tl.program_id(0).to(tl.int64)
    count = tl.load(counts + e)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    gates = weight + e * (2 * INNER * D) + n[:, None] * D + k[None, :]
    for first in tl.range(0, count, BLOCK_M):
        m = first + tl.arange(0, BLOCK_M)
        real = m < count
        pair = tl.load(lists + e * pairs + m, mask=real, other=0)
        rows = x + (pair // K).to(tl.int64)[:, None] * x_s + k[None, :]
        gate = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        up = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for at in tl.range(0, D, BLOCK_K):
            values = tl.load(rows + at, mask=real[:, None], other=0.0)
            gate += tl.dot(values, tl.trans(tl.load(gates + at)), input_precision="ieee")
            up += tl.dot(values, tl.trans(tl.load(gates + INNER * D + at)), input_precision="ieee")
        product = gate / (1.0 + tl.exp(-gate)) * up
        tl.store(
            inner + pair.to(tl.int64)[:, None] * INNER + n[None, :],
            product.to(inner.dtype.element_ty),
            mask=real[:, None],
        )


@triton.jit
def down(
    inner, weight, lists, counts, shares, out, pairs,
    D: tl.constexpr, INNER: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Computes BLOCK_N outputs of one expert for all its pairs, times their shares, a program.

    inner: [pairs, INNER]. weight: [E, D, INNER]. shares: fp32 [pairs]. out: fp32 [pairs, D]. D is a multiple of
    BLOCK_N and INNER of BLOCK_K.
    """
    e = tl.program_id(0).to(tl.int64)
    count = tl.load(counts + e)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    columns = weight + e * (D * INNER) + n[:, None] * INNER + k[None, :]
    for first in tl.range(0, count, BLOCK_M):
        m = first + tl.arange(0, BLOCK_M)
        real = m < count
        pair = tl.load(lists + e * pairs + m, mask=real, other=0).to(tl.int64)
        rows = inner + pair[:, None] * INNER + k[None, :]
        sums = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for at in tl.range(0, INNER, BLOCK_K):
            values = tl.load(rows + at, mask=real[:, None], other=0.0)
            sums += tl.dot(values, tl.trans(tl.load(columns + at)), input_precision="ieee")
        share = tl.load(shares + pair, mask=real, other=0.0)
        tl.store(out + pair[:, None] * D + n[None, :], sums * share[:, None], mask=real[:, None])


@triton.jit
def combine(pairs, out, D: tl.constexpr, K: tl.constexpr, WIDTH: tl.constexpr):
    """Sums one token's experts a program. pairs: fp32 [T * K, D]. out: [T, D]."""
    row = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, WIDTH)
    real = d < D
    total = tl.zeros([WIDTH], tl.float32)
    for k in tl.static_range(0, K):
        total += tl.load(pairs + (row * K + k) * D + d, mask=real, other=0.0)
    tl.store(out + row * D + d, total.to(out.dtype.element_ty), mask=real)
