"""Trial, in one run on one GPU: the compiled layer, cuDNN's attention, and where DeepSeek-OCR's bulk time goes.

python compiled_qwen.py OUT.json [--sections ...] [--tiny] [--limit-s 230]

Sections: machine, attention, bulk, qwen3-vl-8b, qwen2.5-vl-7b, minicpm-v-4.5, autotune. With --tiny on a CPU: that the code runs.
"""

import argparse
import json
import statistics
import sys
import time
import traceback
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import numpy as np
import torch
import triton
import triton.language as tl
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from encoders.graphs.settings import GraphSettings
from encoders.minicpm import siglip
from encoders.minicpm.siglip import Keys, _attended
from encoders.native import sequence_attention as sa
from encoders.native import towers
from encoders.native.layers import feed_forward
from encoders.pointwise import add_norm
from pipeline.bench.encoding.encoder_arms import ManagedArm
from pipeline.bench.encoding.encoder_bench import largest_error
from pipeline.bench.encoding.published_sizes import SIZES, PublishedSize
from pipeline.bench.encoding.requests import prepared, random_requests
from pipeline.bench.encoding.subjects import random_subject
from tests.benchmarks.device.device_rig import DeviceClock

ASKED = None
DEVICE = None
CLOCK = None
DTYPE = torch.bfloat16
BEGUN = time.perf_counter()
A4, PX1024 = {(1754, 1240): 1.0}, {(1024, 1024): 1.0}
MIXED = {(448, 448): 0.25, (1024, 1024): 0.25, (1024, 768): 0.25, (1754, 1240): 0.25}
FOUND = {}


def left():
    return ASKED.limit_s - (time.perf_counter() - BEGUN)


def say(**line):
    FOUND.setdefault("lines", []).append(line)
    short = {k: (float(f"{v:.4g}") if isinstance(v, float) else v) for k, v in line.items()}
    print(json.dumps(short), flush=True)
    with open(ASKED.output, "w") as out:
        json.dump(FOUND, out)


@contextmanager
def tried(**what):
    try:
        yield
    except Exception as error:
        say(**what, error=f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
        traceback.print_exc(limit=4, file=sys.stderr)


def sync():
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def wall(call, repeats):
    """Milliseconds of a call, device included."""
    times = []
    for _ in range(repeats):
        sync()
        start = time.perf_counter()
        call()
        sync()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def first_s(call):
    sync()
    start = time.perf_counter()
    call()
    sync()
    return time.perf_counter() - start


# ---------------------------------------------------------------- attentions of sequences

real_attention = sa.sequence_attention


def dense_cudnn(q, k, v, sequences):
    """cuDNN's attention without a mask, where all rows are one sequence; else as ever."""
    if sequences.offsets.shape[0] != 2 or sequences.longest != len(q):
        return real_attention(q, k, v, sequences)
    q, k, v = (t.transpose(0, 1)[None] for t in (q, k, v))
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION if DEVICE.type == "cuda" else SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1)


STEP = 1024


def ragged_cudnn(q, k, v, sequences, rounded=True):
    """cuDNN's attention for sequences end to end; plans are by the number of sequences and the longest."""
    offsets, longest = sequences.offsets, sequences.longest
    if DEVICE.type != "cuda" or longest < 256:  # windows
        return real_attention(q, k, v, sequences)
    if rounded:
        longest = -(-longest // STEP) * STEP
    q, k, v = (t.contiguous() for t in (q, k, v))  # ragged offsets may be counted in rows without gaps
    out = torch.ops.aten._cudnn_attention_forward(
        q, k, v, None, offsets, offsets, longest, longest, True, 0.0, False, False
    )[0]
    return out.masked_fill(sa._is_padding(len(q), offsets)[:, None, None], 0)


def padded_flash(q, k, v, sequences):
    """FlashAttention with heads padded to 128 channels."""
    D = q.shape[-1]
    scaled = q * (128 / D) ** 0.5  # the kernel scales by 128 ** -0.5
    q, k, v = (F.pad(t, (0, 128 - D)) for t in (scaled, k, v))
    return real_attention(q, k, v, sequences)[..., :D]


def attention_section():
    """Milliseconds of each attention alone; seconds of its first call; error to float32."""
    heads, cases = 16, [(72, [4096]), (72, [8580]), (72, [1024] * 8), (72, [784, 4096, 3072, 8580]), (80, [8580])]
    if ASKED.tiny:
        cases = [(72, [64]), (80, [32, 64])]
    for D, lengths in cases:
        P = sum(lengths)
        offsets = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32, device=DEVICE)
        sequences = sa.Sequences(offsets, max(lengths))
        q, k, v = torch.randn(P, 3, heads, D, device=DEVICE, dtype=DTYPE).unbind(1)
        parts = []
        for a, b in zip(offsets.tolist(), offsets.tolist()[1:], strict=False):
            heads_some = slice(0, 2)
            qq, kk, vv = (t[a:b, heads_some].float().transpose(0, 1)[None] for t in (q, k, v))
            parts.append(F.scaled_dot_product_attention(qq, kk, vv)[0].transpose(0, 1))
        expected = torch.cat(parts)
        ways = {"varlen": real_attention, "cudnn dense": dense_cudnn, "cudnn ragged": partial(ragged_cudnn, rounded=False),
                "cudnn ragged, rounded": ragged_cudnn}
        if len(lengths) > 1:
            del ways["cudnn dense"]
        for name, way in ways.items():
            with tried(section="attention", D=D, lengths=lengths, way=name):
                call = partial(way, q, k, v, sequences)
                first = first_s(call)
                ms = CLOCK.ms(call, 20)
                error = float((call()[:, :2].float() - expected).norm() / expected.norm())
                tflops = 4 * heads * D * sum(n * n for n in lengths) / ms / 1e9
                say(section="attention", D=D, lengths=lengths, way=name, ms=ms, tflops=tflops, first_s=first, error=error)
    # a plan for each length?
    for name, way in (("cudnn dense", dense_cudnn), ("cudnn ragged", partial(ragged_cudnn, rounded=False)), ("cudnn ragged, rounded", ragged_cudnn)):
        with tried(section="plans", way=name):
            times = []
            for P in range(2000, 2400, 80) if not ASKED.tiny else (32, 48):
                offsets = torch.tensor([0, P], dtype=torch.int32, device=DEVICE)
                q, k, v = torch.randn(P, 3, heads, 72, device=DEVICE, dtype=DTYPE).unbind(1)
                times.append(round(first_s(partial(way, q, k, v, sa.Sequences(offsets, P))), 4))
            say(section="plans", way=name, first_s_of_new_lengths=times)


# ---------------------------------------------------------------- layers to compile, of plain operators


def _norm(x, weight, bias, eps):
    if bias is None:  # by the root mean square
        exact = x.float()
        return (exact * torch.rsqrt(exact.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * weight
    return F.layer_norm(x, (x.shape[-1],), weight, bias, eps)


def _rotate(x, cosines, sines):
    exact = x.float()
    first, second = exact.chunk(2, dim=-1)
    return (exact * cosines[:, None] + torch.cat([-second, first], dim=-1) * sines[:, None]).to(x.dtype)


def qwen_before(x, update, cosines, sines, nw, nb, qkvw, qkvb, *, heads, eps):
    total = x if update is None else x + update
    q, k, v = F.linear(_norm(total, nw, nb, eps), qkvw, qkvb).view(len(x), 3, heads, -1).unbind(1)
    return total, _rotate(q, cosines, sines), _rotate(k, cosines, sines), v


def siglip_before(x, update, nw, nb, qw, qb, kw, kb, vw, vb, *, heads, eps):
    total = x if update is None else x + update
    normed = _norm(total, nw, nb, eps)
    q, k, v = (F.linear(normed, w, b).view(len(x), heads, -1) for w, b in ((qw, qb), (kw, kb), (vw, vb)))
    return total, q, k, v


def after_gelu(x, gathered, pw, pb, nw, nb, w1, b1, w2, b2, *, eps):
    total = x + F.linear(gathered, pw, pb)
    hidden = F.gelu(F.linear(_norm(total, nw, nb, eps), w1, b1), approximate="tanh")
    return total, F.linear(hidden, w2, b2)


def after_gated(x, gathered, pw, pb, nw, nb, gw, gb, uw, ub, dw, db, *, eps):
    total = x + F.linear(gathered, pw, pb)
    normed = _norm(total, nw, nb, eps)
    hidden = F.silu(F.linear(normed, gw, gb)) * F.linear(normed, uw, ub)
    return total, F.linear(hidden, dw, db)


def _wb(*modules):
    return [tensor for module in modules for tensor in (module.weight, getattr(module, "bias", None))]


def _eps(norm):
    return getattr(norm, "variance_epsilon", None) or norm.eps


class Compiled:
    """The layers of one family in two compiled halves, with any attention between them."""

    def __init__(self, **options):
        self._options = options
        self._halves = {}
        self._weights = {}

    def half(self, function, **constants):
        key = (function, *sorted(constants.items()))
        if key not in self._halves:
            self._halves[key] = torch.compile(partial_of(function, **constants), **self._options)
        return self._halves[key]

    def qwen(self, block, hidden, update, turns, sequences):
        weights = self._weights.get(id(block))
        if weights is None:
            mlp = block.mlp
            gated = hasattr(mlp, "gate_proj")
            last = _wb(mlp.gate_proj, mlp.up_proj, mlp.down_proj) if gated else _wb(mlp.linear_fc1, mlp.linear_fc2)
            weights = self._weights[id(block)] = (
                _wb(block.norm1, block.attn.qkv), _wb(block.attn.proj, block.norm2) + last,
                self.half(qwen_before, heads=block.attn.num_heads, eps=_eps(block.norm1)),
                self.half(after_gated if gated else after_gelu, eps=_eps(block.norm2)),
            )
        first, second, before, after = weights
        total, q, k, v = before(hidden, update, *turns, *first)
        gathered = towers.sequence_attention(q, k, v, sequences).reshape(len(hidden), -1)
        return after(total, gathered, *second)

    def siglip(self, layer, x, update, sequences):
        weights = self._weights.get(id(layer))
        if weights is None:
            attention = layer.self_attn
            weights = self._weights[id(layer)] = (
                _wb(layer.layer_norm1, attention.q_proj, attention.k_proj, attention.v_proj),
                _wb(attention.out_proj, layer.layer_norm2, layer.mlp.fc1, layer.mlp.fc2),
                self.half(siglip_before, heads=attention.num_heads, eps=_eps(layer.layer_norm1)),
                self.half(after_gelu, eps=_eps(layer.layer_norm2)),
            )
        first, second, before, after = weights
        total, q, k, v = before(x, update, *first)
        gathered = siglip.sequence_attention(q, k, v, sequences).reshape(len(x), -1)
        return after(total, gathered, *second)


def partial_of(function, **constants):
    def half(*tensors):
        return function(*tensors, **constants)

    return half


real_block, real_siglip = towers._block, siglip.SiglipVit.forward
COMPILED = None


def siglip_forward(self, pixels_SNP, positions_SN, valid_SN):
    from encoders.minicpm.packed_patches import normalised

    convolution = self.embeddings.patch_embedding
    patches = normalised(pixels_SNP, convolution.weight.dtype)
    x = F.linear(patches, convolution.weight.flatten(1), convolution.bias)
    x = x + self.embeddings.position_embedding(positions_SN)
    S, N, E = x.shape
    sequences = Keys.of(valid_SN, x).sequences
    if sequences is None:  # on a CPU, for the trial's trial
        begins = torch.arange(S, device=x.device) * N
        bounds = torch.stack([begins, begins + valid_SN.sum(-1)], dim=1).flatten()
        sequences = sa.Sequences(F.pad(bounds, (0, 1), value=S * N).to(torch.int32), N)
    flat, update = x.view(S * N, E), None
    for layer in self.encoder.layers:
        flat, update = COMPILED.siglip(layer, flat, update, sequences)
    _, features = add_norm(flat, update, self.post_layernorm)
    return features.view(S, N, E)


@contextmanager
def arm(layers, attention):
    """Has the towers run so within it. layers: None, or a Compiled."""
    global COMPILED
    COMPILED = layers
    way = {"varlen": real_attention, "cudnn dense": dense_cudnn, "cudnn ragged": ragged_cudnn}[attention]
    towers.sequence_attention = siglip.sequence_attention = way
    if layers is not None:
        towers._block, siglip.SiglipVit.forward = layers.qwen, siglip_forward
    try:
        yield
    finally:
        towers.sequence_attention = siglip.sequence_attention = real_attention
        towers._block, siglip.SiglipVit.forward = real_block, real_siglip


def requests_of(subject, buckets, count, batch, seed=0):
    if ASKED.tiny:
        buckets = {(96, 64): 0.5, (64, 96): 0.5} if len(buckets) > 1 else {(96, 64): 1.0}
    singles = random_requests(buckets, count, seed, 6, subject.view_maker)
    items = [prepared(single, subject.encoder).items[0] for single in singles]
    return [items[start : start + batch] for start in range(0, count, batch)]


def family(name):
    size = tiny_size(name) if ASKED.tiny else SIZES[name]
    subject = random_subject(size, DEVICE, DTYPE)
    managed = ManagedArm(subject, GraphSettings(graphs="off"))
    static = Compiled(dynamic=False)
    moving = Compiled(dynamic=True)
    attentions = ["varlen", "cudnn ragged"] + ([] if name.startswith("minicpm") else ["cudnn dense"])
    shapes = {"A4": (requests_of(subject, A4, 1, 1), 20), "1024": (requests_of(subject, PX1024, 1, 1), 20),
              "32 mixed": (requests_of(subject, MIXED, 8 if ASKED.tiny else 32, 32), 2)}
    for shape, (batches, repeats) in shapes.items():
        pages = batches[0]
        repeats = 2 if ASKED.tiny else repeats
        arms = {}
        for attention in attentions:
            if shape == "32 mixed" and attention == "cudnn dense":
                continue
            arms["eager", attention] = (None, attention)
            if left() > (45 if shape == "A4" else 75) and (shape == "A4" or attention == "varlen"):
                arms["compiled", attention] = (static if shape == "A4" and name.startswith("qwen3") else moving, attention)
        expected, firsts = None, {}
        for key, (layers, attention) in list(arms.items()):
            with tried(section=name, shape=shape, layers=key[0], attention=attention):
                with arm(layers, attention):
                    firsts[key] = first_s(lambda: managed.encode(pages))
                    out = [tokens.cpu() for tokens in managed.encode(pages)]
                expected = expected or out
                firsts[key, "error"] = largest_error(out, expected)
                continue
            del arms[key]
        times = {key: [] for key in arms}
        for _ in range(repeats):  # by turns
            for key, (layers, attention) in arms.items():
                with arm(layers, attention):
                    times[key] += wall(lambda: managed.encode(pages), 1)
        for key in arms:
            say(section=name, shape=shape, layers=key[0], attention=key[1], ms=statistics.median(times[key]),
                least_ms=min(times[key]), images=len(pages), first_s=firsts[key], error_to_eager=firsts[key, "error"])
        if shape != "32 mixed" and left() > 20:
            path = next(p for p in subject.encoder.paths if p.name != "video")
            units = [u for page in subject.encoder.units(path.name, pages) for u in page]
            for axis in {u.axis for u in units}:
                some = [u for u in units if u.axis == axis]
                inputs = path.collate(some, DEVICE)
                for key, (layers, attention) in arms.items():
                    with tried(section=name, shape=shape, device_only=key), arm(layers, attention), torch.inference_mode():
                        ms = CLOCK.ms(lambda: path.forward(inputs), 10 if not ASKED.tiny else 1)
                        kinds = grouped(lambda: path.forward(inputs)) if key[1] in ("varlen", "cudnn ragged") else {}
                        say(section=name, shape=shape, axis=str(axis), units=len(some), layers=key[0], attention=key[1], device_ms=ms, kinds=kinds)
    managed.close()
    CLOCK.tidy()


def autotune():
    """The A4 page with halves compiled by max-autotune: minutes, so last."""
    subject = random_subject(tiny_size("qwen3-vl-8b") if ASKED.tiny else SIZES["qwen3-vl-8b"], DEVICE, DTYPE)
    managed = ManagedArm(subject, GraphSettings(graphs="off"))
    layers = Compiled(dynamic=False, mode="max-autotune-no-cudagraphs")
    pages = requests_of(subject, A4, 1, 1)[0]
    for attention in ("varlen", "cudnn ragged"):
        with tried(section="autotune", attention=attention):
            expected = [t.cpu() for t in managed.encode(pages)]
            with arm(layers, attention):
                first = first_s(lambda: managed.encode(pages))
                out = [t.cpu() for t in managed.encode(pages)]
                ms = statistics.median(wall(lambda: managed.encode(pages), 20 if not ASKED.tiny else 1))
            say(section="autotune", shape="A4", attention=attention, ms=ms, first_s=first, error_to_eager=largest_error(out, expected))


# ---------------------------------------------------------------- DeepSeek-OCR in bulk

KINDS = (
    ("windowed attention", r"page_windows"),
    ("global attention", r"grid_attention"),
    ("position terms", r"position_terms"),
    ("attention of sequences or CLIP", r"flash|fmha|attention|sdpa|mha"),
    ("norms", r"add_norm|norm_of|layer_norm|rms"),
    ("neck", r"conv|fprop|wgrad|implicit|cudnn"),
    ("matrix products", r"gemm|nvjet|cutlass|cublas|splitk|gemv"),
    ("quick gelu", r"quick_gelu|gated_silu|rotated"),
    ("layout copies", r"memcpy|memset|copy|catarray|transpose|nchw|nhwc|permute|index"),
)


def grouped(call):
    """Milliseconds by kind of kernel."""
    import re

    from torch.profiler import ProfilerActivity, profile

    call()
    sync()
    on = DEVICE.type == "cuda"
    with profile(activities=[ProfilerActivity.CUDA if on else ProfilerActivity.CPU]) as recorded:
        call()
        sync()
    kinds, rest = {}, {}
    for event in recorded.key_averages():
        spent = float(event.self_device_time_total if on else event.self_cpu_time_total) / 1e3
        if on and event.device_type.name != "CUDA":
            continue
        kind = next((kind for kind, pattern in KINDS if re.search(pattern, event.key.lower())), "other")
        kinds[kind] = kinds.get(kind, 0.0) + spent
        rest[event.key[:70]] = [event.count, round(spent, 3)]
    found = {kind: round(ms, 3) for kind, ms in sorted(kinds.items(), key=lambda pair: -pair[1])}
    found["ALL"] = round(sum(kinds.values()), 3)
    FOUND.setdefault("kernels", []).append(sorted(rest.items(), key=lambda pair: -pair[1][1])[:25])
    return found


def norm_kernel():
    return norm_of_sum


@triton.jit
def norm_of_sum(x, shift, weight, bias, normed, rows, eps, C: tl.constexpr, BLOCK_C: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK_C)
    there = c < C
    value = tl.load(x + r * C + c, mask=there, other=0.0).to(tl.float32)
    value += tl.load(shift + c, mask=there, other=0.0)
    mean = tl.sum(value, 0) / C
    centred = tl.where(there, value - mean, 0.0)
    inverse = tl.rsqrt(tl.sum(centred * centred, 0) / C + eps)
    result = centred * inverse * tl.load(weight + c, mask=there, other=0.0).to(tl.float32)
    result += tl.load(bias + c, mask=there, other=0.0).to(tl.float32)
    tl.store(normed + r * C + c, result.to(normed.dtype.element_ty), mask=there)


class Residual:
    """SAM and CLIP with residual sums within the matrix products: x += a W, biases kept aside and added by the norms.

    A norm then reads x and writes its result: two passes over memory in place of four.
    """

    def __init__(self, encoder, kernel, parts=None, clip=True):
        self.encoder, self.kernel, self.parts, self.clip = encoder, kernel, parts, clip

    def norm(self, x, shift, norm):
        if self.kernel is None:
            return F.layer_norm((x.float() + shift), (x.shape[-1],), norm.weight.float(), norm.bias.float(), norm.eps).to(x.dtype)
        out = torch.empty_like(x)
        C = x.shape[-1]
        block = 1 << (C - 1).bit_length()
        self.kernel[(x.numel() // C,)](x, shift, norm.weight, norm.bias, out, x.numel() // C, norm.eps, C=C, BLOCK_C=block, num_warps=min(8, max(1, block // 256)))
        return out

    @staticmethod
    def add(x, a, linear):
        width = x.shape[-1]
        x.view(-1, width).addmm_(a.reshape(-1, a.shape[-1]), linear.weight.t())

    def sam_patches(self, pixels):
        from encoders.deepseek.sam import split_patches

        sam = self.encoder.sam_model
        x = sam.patch_embed(sam._normalised(split_patches(pixels, sam.config.patch_px)))
        tables = sam.tables(x.shape[1])
        x = x.add_(tables.pos_embed)
        shift = torch.zeros(x.shape[-1], device=x.device)
        for block, rel_pos in zip(sam.blocks, tables.rel_pos, strict=True):
            normed = self.norm(x, shift, block.norm1)
            attention = block.attn
            qkv = attention.qkv(normed)
            attended = attention._attend_within_windows(qkv, rel_pos) if attention.window else attention._attend(qkv, rel_pos)
            self.add(x, attended, attention.proj)
            shift = shift + attention.proj.bias.float()
            hidden = linear_gelu(self.norm(x, shift, block.norm2), block.mlp.lin1)
            self.add(x, hidden, block.mlp.lin2)
            shift = shift + block.mlp.lin2.bias.float()
        return (x.float() + shift).to(x.dtype) if self.kernel is None else x.add_(shift.to(x.dtype))

    def clip_tokens(self, features):
        from encoders.pointwise import quick_gelu

        clip = self.encoder.vision_model
        if not self.clip:
            return clip(features)
        x = clip.pre_layrnorm(clip.embeddings(features))
        B, T, D = x.shape
        shift = torch.zeros(D, device=x.device)
        for layer in clip.transformer.layers:
            attention = layer.self_attn
            normed = self.norm(x, shift, layer.layer_norm1)
            q, k, v = attention.qkv_proj(normed).view(B, T, 3, attention.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            self.add(x, F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, T, D), attention.out_proj)
            shift = shift + attention.out_proj.bias.float()
            hidden = quick_gelu(layer.mlp.fc1(self.norm(x, shift, layer.layer_norm2)), inplace=True)
            self.add(x, hidden, layer.mlp.fc2)
            shift = shift + layer.mlp.fc2.bias.float()
        return (x.float() + shift).to(x.dtype)

    def tokens_of(self, pixels):
        encoder = self.encoder
        parts = torch.split(pixels, self.parts) if self.parts else [pixels]
        sam = torch.cat([encoder.sam_model.downsample(self.sam_patches(part)) for part in parts])
        sam = sam.contiguous(memory_format=torch.channels_last) if len(parts) > 1 else sam
        clip = self.clip_tokens(sam)
        return encoder.projector(torch.cat([clip[:, 1:], sam.flatten(2).transpose(1, 2)], dim=-1))


def parted(encoder, size):
    """SAM in parts of so many views, CLIP over all."""

    def tokens_of(pixels):
        sam = torch.cat([encoder.sam_model(part) for part in torch.split(pixels, size)])
        clip = encoder.vision_model(sam)
        return encoder.projector(torch.cat([clip[:, 1:], sam.flatten(2).transpose(1, 2)], dim=-1))

    return tokens_of


def linear_gelu(x, linear):
    from encoders.pointwise import linear_gelu as ours

    return ours(x, linear)


def launch_with(terms=torch.float32, block_m=64, warps=4, stages=3, rows=None):
    """fused_grid.launch with other settings; terms: what the position terms are stored in."""
    from encoders.attention import grid_kernel
    from encoders.attention.fused_grid import TensorDescriptor, best_rows, power_of_two

    def launch(qkv, rows_qkd, cols_qkd, scale, num_heads):
        B, side, _, E = qkv.shape
        D, tokens = rows_qkd.shape[-1], side * side
        out = torch.empty(B, side, side, E // 3, dtype=qkv.dtype, device=qkv.device)
        shape = {"H": num_heads, "SIDE": side, "D": D}
        many = best_rows(side) if rows is None else rows
        block_n = power_of_two(many * side)
        by_row, by_col = torch.empty(2, B * num_heads, tokens * side, device=qkv.device, dtype=terms).unbind(0)
        grid_kernel.position_terms[(side * B * num_heads,)](
            qkv, rows_qkd, cols_qkd, by_row, by_col, **shape, BLOCK_S=power_of_two(side), num_warps=4)
        blocks = TensorDescriptor.from_tensor(qkv.view(B, tokens, E), [1, block_n, D])
        grid_kernel.grid_attention[(-(-tokens // block_m) * B * num_heads,)](
            qkv, blocks, by_row, by_col, out, scale, **shape, BLOCK_M=block_m, BLOCK_N=block_n, ROWS=many,
            num_warps=warps, num_stages=stages)
        return out

    return launch


@contextmanager
def grid_launch(launch):
    from encoders import attention

    real = attention.grid_attention
    import encoders.deepseek.sam as sam

    def grid(qkv, rows, cols, scale, heads, axes=None):
        return launch(qkv.contiguous(), rows.contiguous(), cols.contiguous(), scale, heads)

    sam.grid_attention = grid
    try:
        yield
    finally:
        sam.grid_attention = real


def bulk():
    cuda = DEVICE.type == "cuda"
    if ASKED.tiny:
        from tests.ocr.tiny import tiny_model
        from pipeline.bench.encoding.subjects import deepseek_subject

        model = tiny_model().to(DEVICE)
        subject, encoder = deepseek_subject(model), model.encoder
    else:
        subject = random_subject(SIZES["deepseek-ocr"], DEVICE, DTYPE)
        encoder = subject.encoder._model
    torch.backends.cuda.enable_cudnn_sdp(False)
    views = lambda count, px: torch.randint(0, 256, (count, 3, px, px), dtype=torch.uint8, device=DEVICE)  # noqa: E731
    G, T = (1024, 640) if cuda else (512, 256)
    repeats = 10 if cuda else 1
    real = encoder.tokens_of
    for count, px in [(32, G), (8, G), (32, T), (48, T), (96, T)] if cuda else [(2, T)]:
        with tried(section="bulk", count=count, px=px), torch.inference_mode():
            pixels = views(count, px)
            say(section="bulk", count=count, px=px, kinds_ms=grouped(lambda: real(pixels)))
    for px, counts in ((G, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)), (T, (4, 6, 8, 12, 16, 24, 32, 48, 64, 96))):
        found = {}
        for count in counts if cuda else (1, 2):
            with tried(section="batches", count=count, px=px), torch.inference_mode():
                pixels = views(count, px)
                found[count] = round(CLOCK.ms(lambda: real(pixels), repeats) / count, 4)
        say(section="batches", px=px, device_ms_a_view=found)
    # Arms, by turns: of 32 (and 8) global views and 32 (and 48) tiles.
    kernel = None
    if cuda:
        with tried(section="norm kernel"):
            kernel = norm_kernel()
    arms = {"ours": (real, None), "f16 terms": (real, launch_with(torch.float16) if cuda else None)}
    arms["sam in 4s"] = (parted(encoder, 4), None)
    arms["sam in 8s"] = (parted(encoder, 8), None)
    arms["sam in 16s"] = (parted(encoder, 16), None)
    arms["residual"] = (Residual(encoder, kernel).tokens_of, None)
    arms["residual, sam alone"] = (Residual(encoder, kernel, clip=False).tokens_of, None)
    arms["residual, sam in 8s"] = (Residual(encoder, kernel, 8).tokens_of, None)
    arms["residual, sam in 8s, f16"] = (Residual(encoder, kernel, 8).tokens_of, launch_with(torch.float16) if cuda else None)
    for count, px in [(32, G), (32, T), (8, G)] if cuda else [(2, T)]:
        pixels = views(count, px)
        times, errors, expected = {}, {}, None
        working = dict(arms)
        for name, (run, launch) in arms.items():
            with tried(section="arms", arm=name, count=count, px=px), torch.inference_mode(), (grid_launch(launch) if launch else nothing()):
                out = run(pixels).float()
                expected = out if expected is None else expected
                errors[name] = float((out - expected).norm() / expected.norm())
                run(pixels)
                continue
            working.pop(name)
        for _ in range(3 if cuda else 1):
            for name, (run, launch) in working.items():
                with torch.inference_mode(), (grid_launch(launch) if launch else nothing()):
                    times.setdefault(name, []).append(CLOCK.ms(lambda: run(pixels), 2 if cuda else 1))
        for name, its in times.items():
            say(section="arms", arm=name, count=count, px=px, device_ms=statistics.median(its), error_to_ours=errors[name])
    if cuda:
        pixels = views(8, G)
        with tried(section="arms", kinds="residual"), torch.inference_mode():
            say(section="arms", arm="residual", count=8, px=G, kinds_ms=grouped(lambda: Residual(encoder, kernel).tokens_of(pixels)))
    # A whole batch of 32 pages, pixels on the host to tokens, by the most views in a batch.
    pages = requests_of(subject, A4, 32 if cuda else 2, 32)[0]
    managers = {most: ManagedArm(subject, GraphSettings(graphs="off", max_items=most)) for most in ((32, 4, 8, 12, 16, 24) if cuda else (32, 1))}
    times = {}
    for most, managed in managers.items():
        set_items(managed, most)
        for _ in range(2 if cuda else 1):
            managed.encode(pages)
    for _ in range(4 if cuda else 1):
        for most, managed in managers.items():
            set_items(managed, most)
            times.setdefault(most, []).extend(wall(lambda: managed.encode(pages), 1))
    say(section="pages", pages=len(pages), ms_a_page={most: round(statistics.median(its) / len(pages), 4) for most, its in times.items()},
        least={most: round(min(its) / len(pages), 4) for most, its in times.items()}, threads=torch.get_num_threads())
    # What staging costs: the first batch of each path, which nothing hides.
    with tried(section="staging"):
        for path in subject.encoder.paths:
            units = [u for page in subject.encoder.units(path.name, pages) for u in page][:32]
            if not units:
                continue
            pieces = path.pieces(units)
            target = torch.empty(sum(len(p) for p in pieces["pixels"]), *pieces["pixels"][0].shape[1:], dtype=torch.uint8, pin_memory=cuda)
            from encoders.graphs.staging import lay

            host = statistics.median(wall(lambda: lay(pieces["pixels"], target), 5))
            sent = statistics.median(wall(lambda: target.to(DEVICE, non_blocking=True), 5))
            say(section="staging", path=path.name, units=len(units), mb=target.nbytes / 1e6, host_ms=host, to_device_ms=sent)
    for managed in managers.values():
        managed.close()
    # Settings of the kernel for global attention.
    if cuda and left() > 60:
        from encoders.deepseek.sam import relative_table

        for side, batch in ((64, 8), (40, 32)):
            qkv = torch.randn(batch, side, side, 3 * 768, device=DEVICE, dtype=DTYPE)
            rows, cols = (torch.randn(side, side, 64, device=DEVICE, dtype=DTYPE) * 0.1 for _ in range(2))
            best = {}
            ways = {"64,4,3": {}, "64,4,3,f16": {"terms": torch.float16}, "64,4,2": {"stages": 2}, "64,4,4": {"stages": 4},
                    "128,8,3": {"block_m": 128, "warps": 8}, "128,4,3": {"block_m": 128}, "64,4,3,rows2": {"rows": 2}, "128,8,2,rows2": {"rows": 2, "block_m": 128, "warps": 8, "stages": 2}}
            if side == 40:
                ways |= {"64,4,3,rows1": {"rows": 1}, "64,4,2,rows1": {"rows": 1, "stages": 2}}
            for name, options in ways.items():
                if left() < 40:
                    break
                with tried(section="grid", side=side, way=name), torch.inference_mode():
                    best[name] = round(CLOCK.ms(lambda: launch_with(**options)(qkv, rows, cols, 0.125, 12), 10), 4)
            say(section="grid", side=side, batch=batch, ms_by_block_warps_stages=best)


def set_items(managed, most):
    """Paths are the subject's: each manager sets their limit anew before it runs."""
    for path in managed._encoder.paths:
        path.max_items = most


@contextmanager
def nothing():
    yield


def tiny_size(name):
    vision = {"depth": 3, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "out_hidden_size": 32}
    if name.startswith("minicpm"):
        from tests.ocr.families.minicpm.tiny_minicpm import config_json

        return PublishedSize(kind="minicpmv", config=config_json("4.5"))
    if name == "qwen3-vl-8b":
        return PublishedSize(kind="qwen3_vl", config={**vision, "patch_size": 16, "num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1]},
                             image={"patch_size": 16, "size": {"shortest_edge": 4096, "longest_edge": 20480}}, video={"size": {"shortest_edge": 4096, "longest_edge": 40960}})
    return PublishedSize(kind="qwen2_5_vl", config={**vision, "patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1]},
                         image={"min_pixels": 3136, "max_pixels": 15680})


def machine():
    say(section="machine", device=torch.cuda.get_device_name() if DEVICE.type == "cuda" else "cpu", torch=torch.__version__,
        cudnn=torch.backends.cudnn.version(), threads=torch.get_num_threads())


def main():
    global ASKED, DEVICE, CLOCK, DTYPE
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("--sections", nargs="+", default="machine,attention,qwen3-vl-8b,bulk,minicpm-v-4.5,qwen2.5-vl-7b,autotune".split(","))
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--limit-s", type=float, default=230)
    ASKED = parser.parse_args()
    DEVICE = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    CLOCK = DeviceClock(DEVICE)
    if DEVICE.type == "cpu":
        DTYPE = torch.float32
    torch._dynamo.config.cache_size_limit = 64
    torch.manual_seed(0)
    needs = {"bulk": 25, "autotune": 70, "attention": 20}
    for name in ",".join(ASKED.sections).split(","):
        if left() < needs.get(name, 25):
            say(section=name, skipped=f"{left():.0f} s left")
            continue
        start = time.perf_counter()
        with tried(section=name):
            {"machine": machine, "attention": attention_section, "bulk": bulk, "autotune": autotune}.get(name, partial(family, name))()
        CLOCK.tidy()
        say(section=name, seconds=time.perf_counter() - start)


if __name__ == "__main__":
    main()
