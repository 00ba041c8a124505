# mypy: ignore-errors
"""Triton kernels: exact attention over a square of side x side tokens with decomposed relative positions.

Token m lies in grid row m // side and column m % side. Score of query m and key n, before the softmax:
    q_m . k_n * scale + q_m . rel_h[row_m, row_n] + q_m . rel_w[col_m, col_n]
rel_h, rel_w: [side, side, D], contiguous, where entry (a, b) depends on a - b alone: 2*side - 1 vectors each.
q, k, v: batch, head and token strides given, channels contiguous. out: [B, N, H, D], contiguous.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def distance_vectors(rel, t, SIDE: tl.constexpr, D: tl.constexpr):
    """[T, D]: the vector of distance t - (side - 1) for each t, zeros from t = 2*side - 1."""
    entry = tl.where(t < SIDE, SIDE - 1 - t, (t - SIDE + 1) * SIDE)  # (0, side-1-t) or (t-side+1, 0)
    d = tl.arange(0, D)
    return tl.load(rel + entry[:, None] * D + d[None, :], mask=(t < 2 * SIDE - 1)[:, None], other=0.0)


@triton.jit
def grid_attention(
    q, k, v, rel_h, rel_w, rows, cols, out,
    q_batch, q_head, q_token, k_batch, k_head, k_token, v_batch, v_head, v_token,
    scale,
    H: tl.constexpr, SIDE: tl.constexpr, D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_T: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """One program: BLOCK_M queries of one head against all keys, ROWS grid rows of keys at a time.

    A block of keys then always has the same columns, so the column term is one tile for the whole loop, and the
    row term is ROWS numbers a query. BLOCK_N >= ROWS * side. rows: [B, H, side, N] and cols: [B, H, N, side],
    float32, are scratch: each program writes and reads its own queries' part.
    """
    N: tl.constexpr = SIDE * SIDE
    PADDED: tl.constexpr = ROWS * SIDE != BLOCK_N or SIDE % ROWS != 0
    blocks = tl.cdiv(N, BLOCK_M)
    batch = (tl.program_id(0) // (blocks * H)).to(tl.int64)
    head = tl.program_id(0) // blocks % H
    m = tl.program_id(0) % blocks * BLOCK_M + tl.arange(0, BLOCK_M)
    in_m = m < N
    d = tl.arange(0, D)
    j = tl.arange(0, BLOCK_N)
    k += batch * k_batch + head * k_head
    v += batch * v_batch + head * v_head
    rows += (batch * H + head) * SIDE * N
    cols += (batch * H + head) * SIDE * N
    query_ptr = q + batch * q_batch + head * q_head + m[:, None] * q_token + d[None, :]
    query = tl.load(query_ptr, mask=in_m[:, None], other=0.0)

    # All distances at once: which of them a query needs depends on its own row and column, so each product is
    # stored where its key row or column belongs. In units of log2, as exp2 is the cheaper function.
    for start in tl.range(0, 2 * SIDE - 1, BLOCK_T, num_stages=1):
        t = start + tl.arange(0, BLOCK_T)
        by_row = tl.dot(distance_vectors(rel_h, t, SIDE, D), tl.trans(query), input_precision="ieee")
        key_row = (m // SIDE)[None, :] - t[:, None] + SIDE - 1
        needed = (key_row >= 0) & (key_row < SIDE) & in_m[None, :]
        tl.store(rows + key_row * N + m[None, :], by_row * LOG2_E, mask=needed)
        by_col = tl.dot(query, tl.trans(distance_vectors(rel_w, t, SIDE, D)), input_precision="ieee")
        key_col = (m % SIDE)[:, None] - t[None, :] + SIDE - 1
        needed = (key_col >= 0) & (key_col < SIDE) & in_m[:, None]
        tl.store(cols + m[:, None] * SIDE + key_col, by_col * LOG2_E, mask=needed)
    tl.debug_barrier()  # other threads of the program read what these wrote

    col = tl.load(cols + m[:, None] * SIDE + (j % SIDE)[None, :], mask=in_m[:, None], other=0.0)
    if PADDED:
        col = tl.where((j < ROWS * SIDE)[None, :], col, float("-inf"))
    peak = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    sums = tl.zeros([BLOCK_M, D], tl.float32)
    for first in range(0, SIDE, ROWS):
        n = first * SIDE + j
        key_ptr = k + n[None, :] * k_token + d[:, None]
        value_ptr = v + n[:, None] * v_token + d[None, :]
        if PADDED:
            real = (j < ROWS * SIDE) & (n < N)
            key = tl.load(key_ptr, mask=real[None, :], other=0.0)
            value = tl.load(value_ptr, mask=real[:, None], other=0.0)
        else:
            key = tl.load(key_ptr)
            value = tl.load(value_ptr)
        row = tl.load(rows + first * N + m, mask=in_m, other=0.0)
        score = tl.dot(query, key, input_precision="ieee") * (scale * LOG2_E) + col
        if ROWS == 1:  # the same for every key here: it goes with the peak
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
    out_ptr = out + ((batch * N + m) * H + head)[:, None] * D + d[None, :]
    tl.store(out_ptr, (sums * (1.0 / total)[:, None]).to(out.dtype.element_ty), mask=in_m[:, None])


@triton.jit
def window_attention(
    q, k, v, rel_h, rel_w, out,
    q_batch, q_head, q_token, k_batch, k_head, k_token, v_batch, v_head, v_token,
    scale,
    H: tl.constexpr, SIDE: tl.constexpr, D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_T: tl.constexpr,
):  # fmt: skip
    """One program: one head of one window, whose keys are one block: BLOCK_N >= side^2, BLOCK_S >= side,
    BLOCK_T >= 2*side - 1, powers of two. No running softmax, and nothing is stored but the output.

    The windows at a page's lower and right edge are filled up with zeros before the qkv projection, so that a
    filled position's key and value are the bias of that projection. They take part in the softmax, as published.
    Their keys are all the same, but their position terms are not, so they can't be merged into one; their queries
    could be skipped, as no one reads what comes out there (16 % of all on a grid of 64).
    """
    N: tl.constexpr = SIDE * SIDE
    batch = (tl.program_id(0) // H).to(tl.int64)
    head = tl.program_id(0) % H
    d = tl.arange(0, D)
    n = tl.arange(0, BLOCK_N)
    s = tl.arange(0, BLOCK_S)
    q += batch * q_batch + head * q_head
    key_ptr = k + batch * k_batch + head * k_head + n[:, None] * k_token + d[None, :]
    value_ptr = v + batch * v_batch + head * v_head + n[:, None] * v_token + d[None, :]
    key = tl.load(key_ptr, mask=(n < N)[:, None], other=0.0)
    value = tl.load(value_ptr, mask=(n < N)[:, None], other=0.0)
    # The position terms join the scores as a product with each key's one-hot row and column: side is so small that
    # this costs less than a bias of each pair of tokens.
    key_row = (s[:, None] == (n // SIDE)[None, :]).to(key.dtype)
    key_col = (s[:, None] == (n % SIDE)[None, :]).to(key.dtype)
    t = tl.arange(0, BLOCK_T)
    vectors_h = distance_vectors(rel_h, t, SIDE, D)
    vectors_w = distance_vectors(rel_w, t, SIDE, D)
    unscale = 1.0 / scale
    for start in range(0, N, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        query_ptr = q + m[:, None] * q_token + d[None, :]
        query = tl.load(query_ptr, mask=(m < N)[:, None], other=0.0)
        by_row = tl.dot(query, tl.trans(vectors_h), input_precision="ieee")
        by_col = tl.dot(query, tl.trans(vectors_w), input_precision="ieee")
        # Beyond the window's side the keys' one-hot entries are 0, so any finite number will do there.
        distance = (m // SIDE)[:, None] - s[None, :] + SIDE - 1
        row = tl.gather(by_row, tl.minimum(tl.maximum(distance, 0), BLOCK_T - 1), 1)
        distance = (m % SIDE)[:, None] - s[None, :] + SIDE - 1
        col = tl.gather(by_col, tl.minimum(tl.maximum(distance, 0), BLOCK_T - 1), 1)
        score = tl.dot(query, tl.trans(key), input_precision="ieee")
        score = tl.dot((row * unscale).to(key.dtype), key_row, score, input_precision="ieee")
        score = tl.dot((col * unscale).to(key.dtype), key_col, score, input_precision="ieee")
        score = tl.where((n < N)[None, :], score, float("-inf"))
        peak = tl.max(score, 1) * (scale * LOG2_E)
        weight = tl.exp2(score * (scale * LOG2_E) - peak[:, None])
        total = tl.sum(weight, 1)
        sums = tl.dot(weight.to(value.dtype), value, input_precision="ieee")
        out_ptr = out + ((batch * N + m) * H + head)[:, None] * D + d[None, :]
        tl.store(out_ptr, (sums * (1.0 / total)[:, None]).to(out.dtype.element_ty), mask=(m < N)[:, None])
