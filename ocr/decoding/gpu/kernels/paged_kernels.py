# mypy: ignore-errors
"""Triton kernels of a decode step over the block pool (ocr.decoding.gpu.forward.block_pool).

plan: int32 [S, 1 + max_blocks], row stride plan_s: a row's tokens in the cache, then its block table.
keys, values: [blocks, H, BLOCK, D], contiguous, in the model's number format. A row's new token comes after the
cached ones, at position length, and sees all positions up to its own. A row of length 0 and block 0 is padding.
Source of the split: Flash-Decoding (Dao et al. 2023), https://crfm.stanford.edu/2023/10/12/flashdecoding.html
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)
NOTHING = tl.constexpr(float("-inf"))


@triton.jit
def append(
    new_keys, new_values, keys, values, plan, plan_s, ks, kh, vs, vh,
    H: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Writes one token's keys and values of all heads into its block a program. new_*: [S, H, D], strided.

    WIDTH: the power of two that holds H * D.
    """
    slot = tl.program_id(0).to(tl.int64)
    position = tl.load(plan + slot * plan_s)
    block = tl.load(plan + slot * plan_s + 1 + position // BLOCK).to(tl.int64)
    at = tl.arange(0, WIDTH)
    head, d = at // D, at % D
    real = at < H * D
    target = (block * H + head) * (BLOCK * D) + position % BLOCK * D + d
    key = tl.load(new_keys + slot * ks + head * kh + d, mask=real)
    tl.store(keys + target, key, mask=real)
    value = tl.load(new_values + slot * vs + head * vh + d, mask=real)
    tl.store(values + target, value, mask=real)


@triton.jit
def attend(
    query, keys, values, plan, out, partial, weights, scale, plan_s, qs, qh, num_slots,
    H: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
    BLOCK_M: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    """Attends for one slot and key head, with all GROUP query rows, over one of SPLITS runs of blocks a program.

    query: [S, H * GROUP, D], strided. out: [S, H * GROUP, D], written if SPLITS is 1; else partial: fp32
    [SPLITS, S, H * GROUP, D] and weights: fp32, the same without D, each run's log2 of summed weights (-inf
    where a run is empty), for merge(). Query rows are padded to BLOCK_M, the least a matrix instruction takes;
    that costs nothing, as the time goes into reading keys and values once.
    """
    slot = (tl.program_id(0) // H).to(tl.int64)
    head = tl.program_id(0) % H
    split = tl.program_id(1)
    plan += slot * plan_s
    length = tl.load(plan)
    blocks = length // BLOCK + 1
    run = (blocks + SPLITS - 1) // SPLITS
    first = split * run
    last = tl.minimum(first + run, blocks)
    m = tl.arange(0, BLOCK_M)
    head_m = head * GROUP + m % GROUP
    real = m < GROUP
    d = tl.arange(0, D)
    j = tl.arange(0, BLOCK)
    rows = tl.load(query + slot * qs + (head_m * qh)[:, None] + d[None, :], mask=real[:, None], other=0.0)
    peak = tl.full([BLOCK_M], NOTHING, tl.float32)
    share = tl.zeros([BLOCK_M], tl.float32)
    sums = tl.zeros([BLOCK_M, D], tl.float32)
    for b in tl.range(first, last):
        block = tl.load(plan + 1 + b).to(tl.int64)
        base = (block * H + head) * (BLOCK * D)
        key = tl.load(keys + base + j[:, None] * D + d[None, :])
        score = tl.dot(rows, tl.trans(key), input_precision="ieee") * (scale * LOG2_E)
        n = b * BLOCK + j
        score = tl.where(n[None, :] <= length, score, NOTHING)
        higher = tl.maximum(peak, tl.max(score, 1))
        weight = tl.exp2(score - higher[:, None])
        decay = tl.exp2(peak - higher)
        share = share * decay + tl.sum(weight, 1)
        value = tl.load(values + base + j[:, None] * D + d[None, :])
        sums = sums * decay[:, None] + tl.dot(weight.to(value.dtype), value, input_precision="ieee")
        peak = higher
    some = tl.where(share > 0.0, share, 1.0)
    mean = sums / some[:, None]
    entry = slot * (H * GROUP) + head_m
    if SPLITS == 1:
        tl.store(out + entry[:, None] * D + d[None, :], mean.to(out.dtype.element_ty), mask=real[:, None])
    else:
        entry += split.to(tl.int64) * num_slots * (H * GROUP)
        tl.store(partial + entry[:, None] * D + d[None, :], mean, mask=real[:, None])
        tl.store(weights + entry, tl.where(share > 0.0, peak + tl.log2(some), NOTHING), mask=real)


@triton.jit
def merge(partial, weights, out, rows, D: tl.constexpr, SPLITS: tl.constexpr, PADDED: tl.constexpr):
    """Merges the runs of one query row a program. partial: [SPLITS, rows, D], weights: [SPLITS, rows], out: [rows, D].

    PADDED: the power of two that holds SPLITS. The first run is never empty.
    """
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, PADDED)
    d = tl.arange(0, D)
    weight = tl.load(weights + i.to(tl.int64) * rows + row, mask=i < SPLITS, other=NOTHING)
    weight = tl.exp2(weight - tl.max(weight, 0))
    weight /= tl.sum(weight, 0)
    parts = tl.load(
        partial + (i.to(tl.int64)[:, None] * rows + row) * D + d[None, :],
        mask=(i < SPLITS)[:, None],
        other=0.0,
    )
    tl.store(out + row * D + d, tl.sum(parts * weight[:, None], 0).to(out.dtype.element_ty))


@triton.jit
def likeliest_parts(
    logits,
    peaks,
    places,
    shares,
    logits_s,
    vocab,
    PARTS: tl.constexpr,
    BLOCK: tl.constexpr,
    PART: tl.constexpr,
):
    """Reduces one of PARTS stretches of PART logits a program: the largest, its place, and the sum of exp(x - largest).

    logits: [S, vocab], row stride logits_s. peaks, places (int32), shares: [S, PARTS]. PARTS * PART >= vocab.
    """
    row = tl.program_id(0).to(tl.int64)
    start = tl.program_id(1) * PART
    logits += row * logits_s
    peak = tl.full([], NOTHING, tl.float32)
    place = tl.full([], 2147483647, tl.int32)
    share = tl.full([], 0.0, tl.float32)
    for first in tl.static_range(0, PART, BLOCK):
        at = start + first + tl.arange(0, BLOCK)
        x = tl.load(logits + at, mask=at < vocab, other=NOTHING).to(tl.float32)
        largest = tl.max(x, 0)
        higher = tl.maximum(peak, largest)
        known = tl.where(higher == NOTHING, 0.0, higher)
        share = share * tl.exp(peak - known) + tl.sum(tl.exp(x - known), 0)
        # Among equal logits the first, as torch.argmax has it.
        here = tl.min(tl.where(x == largest, at, 2147483647), 0)
        place = tl.where(largest > peak, here, place)
        peak = higher
    entry = row * PARTS + tl.program_id(1)
    tl.store(peaks + entry, peak)
    tl.store(places + entry, place)
    tl.store(shares + entry, share)


@triton.jit
def likeliest(peaks, places, shares, tokens, results, vocab, PARTS: tl.constexpr, PADDED: tl.constexpr):
    """Chooses one row's token a program: int64 [S], and with its log probability in results, fp32 [S, 2].

    The log probability is NaN if any logit was.
    """
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, PADDED)
    real = i < PARTS
    peak = tl.load(peaks + row * PARTS + i, mask=real, other=NOTHING)
    place = tl.load(places + row * PARTS + i, mask=real, other=2147483647)
    share = tl.load(shares + row * PARTS + i, mask=real, other=0.0)
    highest = tl.max(peak, 0)
    known = tl.where(highest == NOTHING, 0.0, highest)
    total = tl.sum(share * tl.exp(peak - known), 0)
    token = tl.minimum(tl.min(tl.where(peak == highest, place, 2147483647), 0), vocab - 1)
    tl.store(tokens + row, token.to(tl.int64))
    tl.store(results + row * 2, token.to(tl.float32))
    tl.store(results + row * 2 + 1, -tl.log(total))
