# mypy: ignore-errors
"""Triton kernels for attention among all tokens of a page, read straight from their projection.

qkv: [B, SIDE, SIDE, 3, H, D], contiguous. Token m lies in grid row m // SIDE and column m % SIDE; N = SIDE * SIDE.
Score of query m and key n, before the softmax:
    q_m . k_n * scale + q_m . rel_h[row_m, row_n] + q_m . rel_w[col_m, col_n]
rel_h, rel_w: [SIDE, SIDE, D], contiguous. out: [B, SIDE, SIDE, H, D], contiguous.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def position_terms(
    qkv, rel_h, rel_w, rows, cols,
    H: tl.constexpr, SIDE: tl.constexpr, D: tl.constexpr, BLOCK_S: tl.constexpr,
):  # fmt: skip
    """Computes the last two terms, in units of log2: rows [B, H, SIDE, N] by key row and query, cols [B, H, N, SIDE].

    One program does the row terms of the queries in one grid row, for which rel_h is one tile, and the column terms of
    those in the grid column of the same index. BLOCK_S >= SIDE.
    """
    N: tl.constexpr = SIDE * SIDE
    TOKEN: tl.constexpr = 3 * H * D
    i = tl.program_id(0) % SIDE
    page = (tl.program_id(0) // SIDE).to(tl.int64)
    qkv += page // H * N * TOKEN + page % H * D
    rows += page * SIDE * N
    cols += page * SIDE * N
    s = tl.arange(0, BLOCK_S)
    d = tl.arange(0, D)
    real = (s < SIDE)[:, None]
    square = real & (s < SIDE)[None, :]
    entry = (i * SIDE + s)[:, None] * D + d[None, :]
    across = tl.load(qkv + (i * SIDE + s)[:, None] * TOKEN + d[None, :], mask=real, other=0.0)
    vectors = tl.load(rel_h + entry, mask=real, other=0.0)
    by_row = tl.dot(vectors, tl.trans(across), input_precision="ieee") * LOG2_E
    tl.store(rows + s[:, None] * N + (i * SIDE + s)[None, :], by_row, mask=square)
    down = tl.load(qkv + (s * SIDE + i)[:, None] * TOKEN + d[None, :], mask=real, other=0.0)
    vectors = tl.load(rel_w + entry, mask=real, other=0.0)
    by_col = tl.dot(down, tl.trans(vectors), input_precision="ieee") * LOG2_E
    tl.store(cols + (s * SIDE + i)[:, None] * SIDE + s[None, :], by_col, mask=square)


@triton.jit
def grid_attention(
    qkv, blocks_of, rows, cols, out, scale,
    H: tl.constexpr, SIDE: tl.constexpr, D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Attends BLOCK_M queries of one head, a program, to all keys, ROWS grid rows of keys at a time.

    Every block of keys then has the same columns, so the column term is one tile for the whole loop and the row term
    ROWS numbers a query. blocks_of: qkv as [B, N, 3 * H * D] in blocks of [1, BLOCK_N, D], BLOCK_N >= ROWS * SIDE;
    keys of a block beyond its rows get no weight, and beyond the page they are zeros.
    """
    N: tl.constexpr = SIDE * SIDE
    TOKEN: tl.constexpr = 3 * H * D
    PADDED: tl.constexpr = ROWS * SIDE != BLOCK_N
    programs = tl.cdiv(N, BLOCK_M)
    page = tl.program_id(0) // programs
    batch, head = page // H, page % H
    m = tl.program_id(0) % programs * BLOCK_M + tl.arange(0, BLOCK_M)
    in_m = m < N
    near = tl.minimum(m, N - 1)  # queries beyond the page may read anything
    d = tl.arange(0, D)
    j = tl.arange(0, BLOCK_N)
    rows += page.to(tl.int64) * SIDE * N
    cols += page.to(tl.int64) * SIDE * N
    query = tl.load(qkv + (batch.to(tl.int64) * N + near)[:, None] * TOKEN + (head * D + d)[None, :])
    col = tl.load(cols + near[:, None] * SIDE + (j % SIDE)[None, :])
    if PADDED:
        col = tl.where((j < ROWS * SIDE)[None, :], col, float("-inf"))
    peak = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    sums = tl.zeros([BLOCK_M, D], tl.float32)
    for first in tl.range(0, SIDE, ROWS):
        key = blocks_of.load([batch, first * SIDE, (H + head) * D]).reshape(BLOCK_N, D)
        value = blocks_of.load([batch, first * SIDE, (2 * H + head) * D]).reshape(BLOCK_N, D)
        row = tl.load(rows + first * N + near)
        score = tl.dot(query, key.T, input_precision="ieee") * (scale * LOG2_E) + col
        if ROWS == 1:  # the term is the same for every key here, so it joins the peak
            new_peak = tl.maximum(peak, tl.max(score, 1) + row)
            weight = tl.exp2(score - (new_peak - row)[:, None])
        else:
            row = tl.broadcast_to(row[:, None], [BLOCK_M, BLOCK_N])
            for r in tl.static_range(1, ROWS):
                there = in_m & (first + r < SIDE)
                other = tl.load(rows + (first + r) * N + m, mask=there, other=float("-inf"))
                row = tl.where((j >= r * SIDE)[None, :], other[:, None], row)
            score += row
            new_peak = tl.maximum(peak, tl.max(score, 1))
            weight = tl.exp2(score - new_peak[:, None])
        fade = tl.exp2(peak - new_peak)
        total = total * fade + tl.sum(weight, 1)
        sums = tl.dot(weight.to(value.dtype), value, sums * fade[:, None], input_precision="ieee")
        peak = new_peak
    out_ptr = out + ((batch.to(tl.int64) * N + m) * H + head)[:, None] * D + d[None, :]
    tl.store(out_ptr, (sums * (1.0 / total)[:, None]).to(out.dtype.element_ty), mask=in_m[:, None])
