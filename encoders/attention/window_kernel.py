# mypy: ignore-errors
"""Triton kernel for attention within the windows of a page, read straight from the projection of its tokens.

qkv: [B, S, S, 3, H, D], contiguous; bias: [3, H, D], the values at every position beyond S. out: [B, S, S, H, D].
Windows of W x W tokens start at the upper left, count = ceil(S / W) a side. Within one, token n lies in row n // W
and column n % W; the score of query m and key n, before the softmax, is
    q_m . k_n * scale + q_m . rel_h[row_m, row_n] + q_m . rel_w[col_m, col_n]
rel_h, rel_w: [W, W, D], contiguous, where entry (a, b) depends on a - b alone: 2*W - 1 vectors each.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def distance_vectors(rel, t, SIDE: tl.constexpr, D: tl.constexpr):
    """Returns [T, D]: the vector of distance t - (side - 1) for each t, zeros from t = 2*side - 1."""
    entry = tl.where(t < SIDE, SIDE - 1 - t, (t - SIDE + 1) * SIDE)  # (0, side-1-t) or (t-side+1, 0)
    d = tl.arange(0, D)
    return tl.load(rel + entry[:, None] * D + d[None, :], mask=(t < 2 * SIDE - 1)[:, None], other=0.0)


@triton.jit
def load_keys(
    page, bias, head, row0, col0, S, FIRST: tl.constexpr, BLOCK: tl.constexpr, BLOCK_S: tl.constexpr,
    H: tl.constexpr, W: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Returns keys and values from FIRST on [BLOCK, D], and [2 * BLOCK_S, BLOCK]: their one-hot rows, then columns.

    A key beyond the page is the bias. Such keys cannot be merged, as each has position terms of its own.
    """
    d = tl.arange(0, D)
    n = FIRST + tl.arange(0, BLOCK)
    s = tl.arange(0, 2 * BLOCK_S)
    row, col = n // W, n % W
    in_page = (n < W * W) & (row0 + row < S) & (col0 + col < S)
    token = ((row0 + row) * S + col0 + col) * (3 * H * D) + head * D
    key_bias = tl.load(bias + (H + head) * D + d)
    value_bias = tl.load(bias + (2 * H + head) * D + d)
    key_ptr = page + token[:, None] + (H * D + d)[None, :]
    key = tl.load(key_ptr, mask=in_page[:, None], other=key_bias[None, :])
    value = tl.load(key_ptr + H * D, mask=in_page[:, None], other=value_bias[None, :])
    axes = (s[:, None] == row[None, :]) | (s[:, None] == BLOCK_S + col[None, :])
    return key, value, axes.to(key.dtype)


@triton.jit
def scores(
    query, positions, key, axes,
    FIRST: tl.constexpr, BLOCK: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """Returns [M, BLOCK], in units of 1 / scale. Position terms are a product with the keys' one-hot rows and columns:
    the side is so small that this costs less than a bias of each pair of tokens."""
    score = tl.dot(query, tl.trans(key), input_precision="ieee")
    score = tl.dot(positions, axes, score, input_precision="ieee")
    if FIRST + BLOCK > W * W:
        score = tl.where((FIRST + tl.arange(0, BLOCK) < W * W)[None, :], score, float("-inf"))
    return score


@triton.jit
def both_vectors(rel_h, rel_w, W: tl.constexpr, D: tl.constexpr, BLOCK_T: tl.constexpr):
    """Returns [2 * BLOCK_T, D]: the vectors of all distances between rows, then, from BLOCK_T on, between columns."""
    t = tl.arange(0, 2 * BLOCK_T)
    of_rows = distance_vectors(rel_h, t, W, D)  # zeros from 2 * W - 1 on
    place = tl.where(t < BLOCK_T, 2 * W - 1, t - BLOCK_T)
    return tl.where((t < BLOCK_T)[:, None], of_rows, distance_vectors(rel_w, place, W, D))


@triton.jit
def position_terms(
    query, vectors, row, col, unscale, W: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_T: tl.constexpr
):
    """Returns [M, 2 * BLOCK_S]: query . vector to each key row, then key column, over scale. row, col: the queries'.

    Beyond the window's side the keys' one-hot entries are 0, so any finite number will do.
    """
    by_distance = tl.dot(query, tl.trans(vectors), input_precision="ieee") * unscale
    s = tl.arange(0, 2 * BLOCK_S)
    of_rows = (s < BLOCK_S)[None, :]
    distance = tl.where(of_rows, row[:, None] - s[None, :], col[:, None] - (s - BLOCK_S)[None, :]) + W - 1
    distance = tl.minimum(tl.maximum(distance, 0), BLOCK_T - 1) + tl.where(of_rows, 0, BLOCK_T)
    return tl.gather(by_distance.to(query.dtype), distance, 1)


@triton.jit
def page_windows(
    qkv, bias, rel_h, rel_w, out, scale, S, count,
    H: tl.constexpr, W: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr,
    PART_0: tl.constexpr, PART_1: tl.constexpr, PART_2: tl.constexpr,
    BLOCK_S: tl.constexpr, BLOCK_T: tl.constexpr,
):  # fmt: skip
    """Attends one head of one window, a program: its keys stay in shared memory while its queries pass in blocks.

    The keys form up to three blocks (0: none) that together hold W * W: 128 + 64 + 16 wastes 12 places on a window of
    14, where a single block of 256 wastes 60. All scores of a query are held at once, so no softmax is a running one.
    Queries beyond the page are left out, so they cost nothing.
    BLOCK_S >= W, BLOCK_T >= 2 * W - 1.
    """
    head = tl.program_id(0) % H
    window = tl.program_id(0) // H
    batch = (window // (count * count)).to(tl.int64)
    row0 = window // count % count * W
    col0 = window % count * W
    page = qkv + batch * S * S * (3 * H * D)
    out += batch * S * S * (H * D)
    key_0, value_0, axes_0 = load_keys(page, bias, head, row0, col0, S, 0, PART_0, BLOCK_S, H, W, D)
    if PART_1 > 0:
        key_1, value_1, axes_1 = load_keys(page, bias, head, row0, col0, S, PART_0, PART_1, BLOCK_S, H, W, D)
    if PART_2 > 0:
        key_2, value_2, axes_2 = load_keys(
            page, bias, head, row0, col0, S, PART_0 + PART_1, PART_2, BLOCK_S, H, W, D
        )
    d = tl.arange(0, D)
    vectors = both_vectors(rel_h, rel_w, W, D, BLOCK_T)
    to_log2 = scale * LOG2_E
    unscale = 1.0 / scale
    width = tl.minimum(S - col0, W)
    queries = tl.minimum(S - row0, W) * width
    for start in range(0, queries, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        in_m = (m < queries)[:, None]
        token = (row0 + m // width) * S + col0 + m % width
        query_ptr = page + (token * (3 * H * D) + head * D)[:, None] + d[None, :]
        query = tl.load(query_ptr, mask=in_m, other=0.0)
        positions = position_terms(query, vectors, m // width, m % width, unscale, W, BLOCK_S, BLOCK_T)
        score_0 = scores(query, positions, key_0, axes_0, 0, PART_0, W)
        peak = tl.max(score_0, 1)
        if PART_1 > 0:
            score_1 = scores(query, positions, key_1, axes_1, PART_0, PART_1, W)
            peak = tl.maximum(peak, tl.max(score_1, 1))
        if PART_2 > 0:
            score_2 = scores(query, positions, key_2, axes_2, PART_0 + PART_1, PART_2, W)
            peak = tl.maximum(peak, tl.max(score_2, 1))
        peak = (peak * to_log2)[:, None]
        weight = tl.exp2(score_0 * to_log2 - peak)
        total = tl.sum(weight, 1)
        sums = tl.dot(weight.to(query.dtype), value_0, input_precision="ieee")
        if PART_1 > 0:
            weight = tl.exp2(score_1 * to_log2 - peak)
            total += tl.sum(weight, 1)
            sums = tl.dot(weight.to(query.dtype), value_1, sums, input_precision="ieee")
        if PART_2 > 0:
            weight = tl.exp2(score_2 * to_log2 - peak)
            total += tl.sum(weight, 1)
            sums = tl.dot(weight.to(query.dtype), value_2, sums, input_precision="ieee")
        out_ptr = out + (token * (H * D) + head * D)[:, None] + d[None, :]
        tl.store(out_ptr, (sums * (1.0 / total)[:, None]).to(out.dtype.element_ty), mask=in_m)
