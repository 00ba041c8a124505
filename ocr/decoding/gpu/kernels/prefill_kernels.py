# mypy: ignore-errors
"""Triton kernels of a decoder layer for the many tokens of prompts, where arithmetic and memory traffic count.

T tokens, D width, E experts, K of them a token, INNER their inner width, P = T * K pairs of token and expert. Pairs
are put in the order of their experts: those of expert e are at starts[e] to starts[e + 1]. CHUNK tokens at a time
count their pairs, then find their places.
Numbers that differ from prompt to prompt are not specialised, so that a kernel is compiled once and never again in a
run.
Source of the tiles over ragged groups: MegaBlocks (Gale et al. 2022), arXiv:2211.15841; here without padding.
"""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["residual_s"])
def sum_norm(
    residual, other, rows, places, shares, weight, out, normed, eps, residual_s,
    D: tl.constexpr, WIDTH: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Sums one token's residual, other, and its K experts' rows times their shares a program; and norms the sum.

    residual: [T, D], row stride residual_s. other, out, normed: [T, D], contiguous. rows: [P, D] in the order of
    experts, places: int32 [T, K], the rows of each token, shares: fp32 [T, K]. Sums are fp32, rounded once. K may be 0.
    """
    row = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, WIDTH)
    real = d < D
    total = tl.zeros([WIDTH], tl.float32)
    for k in tl.static_range(0, K):
        place = tl.load(places + row * K + k).to(tl.int64)
        states = tl.load(rows + place * D + d, mask=real, other=0.0).to(tl.float32)
        total += states * tl.load(shares + row * K + k)
    total += tl.load(other + row * D + d, mask=real, other=0.0).to(tl.float32)
    total += tl.load(residual + row * residual_s + d, mask=real, other=0.0).to(tl.float32)
    kept = total.to(out.dtype.element_ty)
    tl.store(out + row * D + d, kept, mask=real)
    values = kept.to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, 0) / D + eps)
    gain = tl.load(weight + d, mask=real, other=0.0)
    scaled = (values * scale).to(normed.dtype.element_ty)
    tl.store(normed + row * D + d, (gain * scaled).to(normed.dtype.element_ty), mask=real)


@triton.jit(do_not_specialize=["length", "room"])
def rotate_write(
    query, key, value, cos, sin, turned_query, turned_key, keys, values, blocks, length, room,
    H: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    WIDTH_Q: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Applies rotary positions to the queries and keys of one place of a prompt's blocks a program.

    Writes keys and values into the pool; places after the prompt are filled with zeros.

    query, turned_query: [N, length, H * GROUP, D], key, value, turned_key: [N, length, H, D], contiguous. cos, sin:
    [length, D]. keys, values: a layer's pools [blocks, H, BLOCK, D]. blocks: int64 [N * room // BLOCK]. WIDTH_Q,
    WIDTH: the powers of two that hold all heads of queries and of keys.
    """
    place = tl.program_id(0).to(tl.int64)
    page, t = place // room, place % room
    block = tl.load(blocks + place // BLOCK)
    at = tl.arange(0, WIDTH)
    real = at < H * D
    head, d = at // D, at % D
    target = (block * H + head) * (BLOCK * D) + t % BLOCK * D + d
    if t < length:
        token = page * length + t
        sign = tl.where(d < D // 2, -1.0, 1.0)
        base = key + token * (H * D)
        rotated = tl.load(base + at, mask=real, other=0.0).to(tl.float32)
        rotated *= tl.load(cos + t * D + d).to(tl.float32)
        other = tl.load(base + at - d + (d + D // 2) % D, mask=real, other=0.0).to(tl.float32) * sign
        rotated += other * tl.load(sin + t * D + d).to(tl.float32)
        tl.store(turned_key + token * (H * D) + at, rotated.to(turned_key.dtype.element_ty), mask=real)
        tl.store(keys + target, rotated.to(keys.dtype.element_ty), mask=real)
        states = tl.load(value + token * (H * D) + at, mask=real)
        tl.store(values + target, states, mask=real)
        # Other names than above: those have another width, and a branch may not change a name's shape.
        at_q = tl.arange(0, WIDTH_Q)
        real_q = at_q < H * GROUP * D
        d_q = at_q % D
        sign_q = tl.where(d_q < D // 2, -1.0, 1.0)
        base_q = query + token * (H * GROUP * D)
        rotated_q = tl.load(base_q + at_q, mask=real_q, other=0.0).to(tl.float32)
        rotated_q *= tl.load(cos + t * D + d_q).to(tl.float32)
        other_q = tl.load(base_q + at_q - d_q + (d_q + D // 2) % D, mask=real_q, other=0.0).to(tl.float32)
        rotated_q += other_q * sign_q * tl.load(sin + t * D + d_q).to(tl.float32)
        turned = turned_query + token * (H * GROUP * D)
        tl.store(turned + at_q, rotated_q.to(turned_query.dtype.element_ty), mask=real_q)
    else:
        zeros = tl.zeros([WIDTH], tl.float32)
        tl.store(keys + target, zeros.to(keys.dtype.element_ty), mask=real)
        tl.store(values + target, zeros.to(values.dtype.element_ty), mask=real)


@triton.jit(do_not_specialize=["tokens"])
def route_many(
    x, weight, experts, shares, counts, tokens, scale,
    D: tl.constexpr, E: tl.constexpr, K: tl.constexpr, PADDED: tl.constexpr, BLOCK: tl.constexpr,
    CHUNK: tl.constexpr,
):  # fmt: skip
    """Finds CHUNK tokens' K likeliest experts and their probabilities times scale a program; counts pairs by expert.

    x: [T, D], contiguous. weight: [E, D]. experts: int32 [T, K], shares: fp32 [T, K]. counts: int32 [chunks, PADDED].
    Products are summed in fp32. PADDED: power of two >= E. D is a multiple of BLOCK. Among equal probabilities
    the lower expert comes first.
    """
    chunk = tl.program_id(0)
    t = chunk * CHUNK + tl.arange(0, CHUNK)
    e, d = tl.arange(0, PADDED), tl.arange(0, BLOCK)
    here = t < tokens
    rows = x + t.to(tl.int64)[:, None] * D + d[None, :]
    columns = weight + tl.minimum(e, E - 1)[:, None] * D + d[None, :]
    scores = tl.zeros([CHUNK, PADDED], tl.float32)
    for first in tl.range(0, D, BLOCK):
        values = tl.load(rows + first, mask=here[:, None], other=0.0)
        scores += tl.dot(values, tl.trans(tl.load(columns + first)), input_precision="ieee")
    scores = tl.where((e < E)[None, :], scores, float("-inf"))
    chances = tl.exp(scores - tl.max(scores, 1)[:, None])
    chances = chances / tl.sum(chances, 1)[:, None]
    taken = tl.zeros([CHUNK, PADDED], tl.int32)
    for k in tl.static_range(0, K):
        best = tl.max(chances, 1)
        expert = tl.min(tl.where(chances == best[:, None], e[None, :], PADDED), 1)
        # Among NaNs no expert is the best; any will do, as the result is NaN too.
        expert = tl.minimum(expert, E - 1)
        tl.store(experts + t * K + k, expert, mask=here)
        tl.store(shares + t * K + k, best * scale, mask=here)
        mine = expert[:, None] == e[None, :]
        taken += (mine & here[:, None]).to(tl.int32)
        chances = tl.where(mine, -1.0, chances)
    tl.store(counts + chunk * PADDED + e, tl.sum(taken, 0))


@triton.jit(do_not_specialize=["tokens", "chunks"])
def place_pairs(
    experts, counts, order, places, starts, tokens, chunks,
    E: tl.constexpr, K: tl.constexpr, PADDED: tl.constexpr, CHUNK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Finds the places of CHUNK tokens' pairs a program: in the order of experts, and of tokens within an expert.

    experts, counts: of route_many(). order: int32 [P], the pair at each place. places: int32 [T, K], the place of each
    pair. starts: int32 [E + 1]. ROWS: rows of counts that are read at a time.
    """
    chunk = tl.program_id(0)
    e, r = tl.arange(0, PADDED), tl.arange(0, ROWS)
    before = tl.zeros([PADDED], tl.int32)
    total = tl.zeros([PADDED], tl.int32)
    for first in tl.range(0, chunks, ROWS):
        row = first + r
        some = tl.load(counts + row[:, None] * PADDED + e[None, :], mask=(row < chunks)[:, None], other=0)
        total += tl.sum(some, 0)
        before += tl.sum(tl.where((row < chunk)[:, None], some, 0), 0)
    ends = tl.cumsum(total, 0)
    if chunk == 0:
        tl.store(starts, 0)
        tl.store(starts + 1 + e, ends, mask=e < E)
    t = chunk * CHUNK + tl.arange(0, CHUNK)
    here = t < tokens
    taken = tl.zeros([CHUNK, PADDED], tl.int32)
    for k in tl.static_range(0, K):
        expert = tl.load(experts + t * K + k, mask=here, other=PADDED)
        taken += (expert[:, None] == e[None, :]).to(tl.int32)
    free = (ends - total + before)[None, :] + tl.cumsum(taken, 0) - taken
    for k in tl.static_range(0, K):
        expert = tl.load(experts + t * K + k, mask=here, other=PADDED)
        mine = expert[:, None] == e[None, :]
        place = tl.sum(tl.where(mine, free, 0), 1)
        tl.store(order + place, t * K + k, mask=here)
        tl.store(places + t * K + k, place, mask=here)
        free += mine.to(tl.int32)


@triton.jit
def expert_tile(starts, tile, E: tl.constexpr, PADDED: tl.constexpr, BLOCK_M: tl.constexpr):
    """Returns the expert of a tile of BLOCK_M pairs, the tile's first place, and where the expert's pairs end.

    The expert is E if there is no such tile. No tile holds pairs of two experts.
    """
    e = tl.arange(0, PADDED)
    begin = tl.load(starts + e, mask=e < E, other=0)
    end = tl.load(starts + e + 1, mask=e < E, other=0)
    tiles = (end - begin + BLOCK_M - 1) // BLOCK_M
    before = tl.cumsum(tiles, 0) <= tile
    expert = tl.sum((before & (e < E)).to(tl.int32), 0)
    skipped = tl.sum(tl.where(before & (e < E), tiles, 0), 0)
    mine = e == expert
    first = tl.sum(tl.where(mine, begin, 0), 0) + (tile - skipped) * BLOCK_M
    return expert, first, tl.sum(tl.where(mine, end, 0), 0)


@triton.jit
def gate_up_tiles(
    x, weight, order, starts, inner,
    K: tl.constexpr, D: tl.constexpr, INNER: tl.constexpr, E: tl.constexpr, PADDED: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Computes silu(gate) * up: BLOCK_N inner numbers of BLOCK_M pairs of one expert a program.

    x: [T, D], contiguous. weight: [E, 2 * INNER, D], gates first. inner: [P, INNER], in the order of experts. D is a
    multiple of BLOCK_K and INNER of BLOCK_N. Programs that run at once share rows and an expert's weights.
    """
    columns: tl.constexpr = INNER // BLOCK_N
    expert, first, end = expert_tile(starts, tl.program_id(0) // columns, E, PADDED, BLOCK_M)
    if expert < E:
        n = tl.program_id(0) % columns * BLOCK_N + tl.arange(0, BLOCK_N)
        m = first + tl.arange(0, BLOCK_M)
        k = tl.arange(0, BLOCK_K)
        token = tl.load(order + tl.minimum(m, end - 1)) // K  # rows beyond the end are computed, but not kept
        rows = x + token.to(tl.int64)[:, None] * D + k[None, :]
        gates = weight + expert.to(tl.int64) * (2 * INNER * D) + n[:, None] * D + k[None, :]
        gate = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        up = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for at in tl.range(0, D, BLOCK_K):
            values = tl.load(rows + at)
            gate = tl.dot(values, tl.trans(tl.load(gates + at)), gate, input_precision="ieee")
            up = tl.dot(values, tl.trans(tl.load(gates + INNER * D + at)), up, input_precision="ieee")
        product = (gate / (1.0 + tl.exp(-gate)) * up).to(inner.dtype.element_ty)
        tl.store(inner + m.to(tl.int64)[:, None] * INNER + n[None, :], product, mask=(m < end)[:, None])


@triton.jit
def down_tiles(
    inner, weight, starts, out,
    D: tl.constexpr, INNER: tl.constexpr, E: tl.constexpr, PADDED: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Computes BLOCK_N outputs of BLOCK_M pairs of one expert a program.

    inner: [P, INNER], out: [P, D], in the order of experts. weight: [E, D, INNER]. D is a multiple of BLOCK_N and
    INNER of BLOCK_K.
    """
    columns: tl.constexpr = D // BLOCK_N
    expert, first, end = expert_tile(starts, tl.program_id(0) // columns, E, PADDED, BLOCK_M)
    if expert < E:
        n = tl.program_id(0) % columns * BLOCK_N + tl.arange(0, BLOCK_N)
        m = first + tl.arange(0, BLOCK_M)
        k = tl.arange(0, BLOCK_K)
        rows = inner + tl.minimum(m, end - 1).to(tl.int64)[:, None] * INNER + k[None, :]
        outputs = weight + expert.to(tl.int64) * (D * INNER) + n[:, None] * INNER + k[None, :]
        sums = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for at in tl.range(0, INNER, BLOCK_K):
            sums = tl.dot(tl.load(rows + at), tl.trans(tl.load(outputs + at)), sums, input_precision="ieee")
        target = out + m.to(tl.int64)[:, None] * D + n[None, :]
        tl.store(target, sums.to(out.dtype.element_ty), mask=(m < end)[:, None])
