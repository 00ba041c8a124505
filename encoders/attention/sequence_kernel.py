# mypy: ignore-errors
"""A Triton kernel for attention within sequences that lie end to end, for heads of any width up to 128.

PyTorch's kernel computes heads of 72 channels, as SigLIP has them, as if they had 96. Here a head is a power of two and
a rest: 64 and 16, of which 8 are there. Blocks of queries are listed on the device, so that none is launched in vain.

P rows, H heads of D. query, key, value: [P, H, D] of any strides of rows and heads; out: [P, H, D], contiguous.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _next_keys(
    first, end, head, query, query_rest, keys, values, keys_rest, values_rest, peak, total, sums, sums_rest, factor,
    LOW: tl.constexpr, REST: tl.constexpr, BLOCK_N: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """Attends to the keys from `first` on. LAST: those from `end` on are of another sequence, whatever they hold."""
    key = keys.load([first, head, 0]).reshape(BLOCK_N, LOW)
    value = values.load([first, head, 0]).reshape(BLOCK_N, LOW)
    score = tl.dot(query, key.T, input_precision="ieee")
    if REST > 0:
        key_rest = keys_rest.load([first, head, LOW]).reshape(BLOCK_N, REST)
        score = tl.dot(query_rest, key_rest.T, score, input_precision="ieee")
    score *= factor
    if LAST:
        own = first + tl.arange(0, BLOCK_N) < end
        score = tl.where(own[None, :], score, float("-inf"))
        value = tl.where(own[:, None], value, 0.0)
    new_peak = tl.maximum(peak, tl.max(score, 1))
    weight = tl.exp2(score - new_peak[:, None])
    fade = tl.exp2(peak - new_peak)
    total = total * fade + tl.sum(weight, 1)
    weight = weight.to(value.dtype)
    sums = tl.dot(weight, value, sums * fade[:, None], input_precision="ieee")
    if REST > 0:
        value_rest = values_rest.load([first, head, LOW]).reshape(BLOCK_N, REST)
        if LAST:
            value_rest = tl.where(own[:, None], value_rest, 0.0)
        sums_rest = tl.dot(weight, value_rest, sums_rest * fade[:, None], input_precision="ieee")
    return new_peak, total, sums, sums_rest


@triton.jit
def sequence_attention(
    query, keys, values, keys_rest, values_rest, tiles, out, row_step, head_step, scale,
    H: tl.constexpr, D: tl.constexpr, LOW: tl.constexpr, REST: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Attends BLOCK_M queries of one head, a program, to all keys of their sequence.

    keys, values: in blocks of [BLOCK_N, 1, LOW], and keys_rest, values_rest: of [BLOCK_N, 1, REST], channels beyond D
    being zeros. tiles: int32 [T, 3], the first row of each block of queries, and where its sequence begins and ends;
    one without rows is none. row_step, head_step: the query's strides. D <= LOW + REST; REST = 0 if D = LOW.
    """
    num_tiles = tl.num_programs(0) // H
    tile, head = tl.program_id(0) % num_tiles, tl.program_id(0) // num_tiles
    begin = tl.load(tiles + 3 * tile + 1)
    end = tl.load(tiles + 3 * tile + 2)
    if begin >= end:
        return
    m = tl.load(tiles + 3 * tile) + tl.arange(0, BLOCK_M)
    in_m = (m < end)[:, None]
    d = tl.arange(0, LOW)
    at = query + m.to(tl.int64)[:, None] * row_step + head * head_step
    low = tl.load(at + d[None, :], mask=in_m, other=0.0)
    rest_width: tl.constexpr = REST if REST > 0 else 16
    r = LOW + tl.arange(0, rest_width)
    in_rest = in_m & (r < D)[None, :]
    rest = low
    if REST > 0:
        rest = tl.load(at + r[None, :], mask=in_rest, other=0.0)
    peak = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    sums = tl.zeros([BLOCK_M, LOW], tl.float32)
    sums_rest = tl.zeros([BLOCK_M, rest_width], tl.float32)
    factor = scale * LOG2_E
    whole = begin + (end - begin) // BLOCK_N * BLOCK_N
    for first in tl.range(begin, whole, BLOCK_N):
        peak, total, sums, sums_rest = _next_keys(
            first, end, head, low, rest, keys, values, keys_rest, values_rest, peak, total, sums, sums_rest, factor,
            LOW=LOW, REST=REST, BLOCK_N=BLOCK_N, LAST=False,
        )  # fmt: skip
    if whole < end:
        peak, total, sums, sums_rest = _next_keys(
            whole, end, head, low, rest, keys, values, keys_rest, values_rest, peak, total, sums, sums_rest, factor,
            LOW=LOW, REST=REST, BLOCK_N=BLOCK_N, LAST=True,
        )  # fmt: skip
    inverse = (1.0 / total)[:, None]
    to = out + (m.to(tl.int64)[:, None] * H + head) * D
    tl.store(to + d[None, :], (sums * inverse).to(out.dtype.element_ty), mask=in_m)
    if REST > 0:
        tl.store(to + r[None, :], (sums_rest * inverse).to(out.dtype.element_ty), mask=in_rest)
