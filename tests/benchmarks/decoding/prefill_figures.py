"""Measures all figures of prefill in one run, on a CUDA device:

python -m tests.benchmarks.decoding.prefill_figures prefill.json
python -m tests.benchmarks.decoding.prefill_figures prefill.json --sections machine,prefill,kernels --pages 16,1

Sections: machine (rates of a large matrix product and of a copy); prefill (several pages in one forward through the
engine's own DeviceSteps.prefill: the device's time, the host's, the time while another thread holds the interpreter's
lock, and the share of the matrix rate); kernels (the kernels of one forward); engine (pages that write
100 tokens through a whole engine); experts (one layer's experts in several ways, each against float32); tiles (our two
kernels of them alone, by launch); products (the plain matrix products of one layer); attention (causal attention of
several pages, by backend); pieces (everything between them); accuracy (each way through the whole model against
float32). The JSON is written after each section; one that fails is reported, and the others go on. The model is
DeepSeek-OCR's language model with random weights in bf16, a page 903 tokens. With --quick a tiny model shows on any
device that the program works.
"""

import argparse
import json
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, get_args

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from ocr.decoding.gpu.forward import layers, prefill_experts
from ocr.decoding.gpu.forward.block_pool import BlockPool
from ocr.decoding.gpu.forward.layers import ExpertsConfig
from ocr.decoding.gpu.forward.paged_attention import kernels_take
from ocr.decoding.gpu.forward.prefill import Prompts, sum_norm, write
from ocr.decoding.gpu.forward.prefill_experts import TilesConfig
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.decoding.gpu.schedule.entries import EngineSettings, Page
from ocr.decoding.sequence.page_reading import DecodeSettings, start_reading
from ocr.model.deepseek_ocr import LanguageConfig
from pipeline.bench.roofline.bound import prefill_flops
from tests.benchmarks.decoding.decode_figures import QUICK, Effort, Found, Rig, summary

MATRIX_FLOPS_S = 790e12  # of an H200 in bf16, as measured
PAGES = (1, 2, 4, 8, 16, 32)
# Modes of a forward: the settings of DeviceSteps.
MODES: dict[str, dict[str, Any]] = {mode: {"prompts": mode} for mode in get_args(Prompts)}


class Pages:
    """Pages, and the steps that prefill them."""

    def __init__(self, rig: Rig, pages: int, mode: str) -> None:
        length = rig.effort.prompt
        each = rig.shape.blocks(length)
        pool = BlockPool(rig.shape, (2 + pages * each) * rig.shape.block_bytes, rig.device)
        self.steps = DeviceSteps(
            rig.model, pool, slots=pages, max_tokens=length + 64, graphs=False, **MODES[mode]
        )
        self.rows = list(range(pages))
        self.blocks = [list(range(1 + row * each, 1 + (row + 1) * each)) for row in self.rows]
        self.prompts_NLD = torch.stack([rig.prompt(row) for row in self.rows])

    def __call__(self) -> Any:
        return self.steps.prefill(self.prompts_NLD, self.blocks, self.rows)


def engine(rig: "PrefillRig", found: Found) -> Found:
    """Measures a whole engine with pages that write little, so that prefill dominates: pages/s, seconds of prefills."""
    slots, waves, output = (256, 2, 100) if rig.on_cuda else (4, 2, 4)
    results: Found = {}
    for mode in MODES:
        settings = EngineSettings(slots=slots, max_tokens=rig.effort.prompt + output, **MODES[mode])
        engine = PagedEngine(rig.loaded, settings)
        engine.try_prompts()
        engine.warm_up()
        wants = [max(1, output * (place + 1) // slots) for place in range(slots)] + [output] * waves * slots
        readings = (reading_of(rig, place, count) for place, count in enumerate(wants))
        started = time.perf_counter()
        pages = sum(1 for _ in engine.read(readings))
        rig.synchronize()
        seconds = time.perf_counter() - started
        stats = engine.stats
        results[mode] = {
            "pages_s": pages / seconds,
            "prefill_ms_a_page": 1e3 * stats.prefill_s / stats.prefilled,
            "pages_a_prefill": stats.prefilled / stats.prefills,
            "host_s": stats.host_s,
            "wait_s": stats.wait_s,
            "seconds": seconds,
            "peak_bytes": rig.peak_bytes(),
        }
        del engine
        rig.tidy()
    return results


def reading_of(rig: Rig, place: int, count: int) -> Page:
    """Returns a page that writes `count` tokens."""
    prompt = rig.prompt(place)
    limits = DecodeSettings(max_tokens=len(prompt) + count, ngram_size=0, ngram_window=50, loop_tokens=0)
    reading = start_reading(rig.loaded, len(prompt), limits)
    return Page(prompt=partial(rig.prompt, place), num_prompt=len(prompt), reading=reading)


def machine(rig: "PrefillRig", found: Found) -> Found:
    """Returns the machine."""
    side, count = (8192, 1 << 30) if rig.on_cuda else (64, 1 << 16)
    left, right = (torch.randn(side, side, device=rig.device).bfloat16() for _ in range(2))
    out = torch.empty_like(left)
    ms = rig.ms(lambda: torch.mm(left, right, out=out), 5)
    source, target = (torch.empty(count, dtype=torch.uint8, device=rig.device) for _ in range(2))
    copy_ms = rig.ms(lambda: target.copy_(source), 5)
    return {
        "device": torch.cuda.get_device_name(rig.device) if rig.on_cuda else "cpu",
        "torch": torch.__version__,
        "matrix_tflops_s": 2 * side**3 / ms / 1e9,
        "copy_gb_s": 2 * count / copy_ms / 1e6,
    }


def prefill(rig: "PrefillRig", found: Found) -> Found:
    """Returns the prefill times of each number of pages and mode."""
    results: Found = {}
    for pages in rig.pages:
        for mode in MODES:
            try:
                results[f"{pages}, {mode}"] = one_prefill(rig, pages, mode)
            except Exception as error:
                traceback.print_exc()
                results[f"{pages}, {mode}"] = {"error": repr(error)[:500]}
            rig.tidy()
    return results


def one_prefill(rig: Rig, pages: int, mode: str) -> Found:
    """Returns ms: by device events; host_ms: until the call returns; in_a_row_ms: of several, by the wall clock."""
    run = Pages(rig, pages, mode)
    started = time.perf_counter()
    run().pending.rows()
    first_s = time.perf_counter() - started
    repeats = 3 if pages > 8 else 5
    ms = rig.ms(run, repeats)
    host = []
    for _ in range(repeats):
        rig.synchronize()
        started = time.perf_counter()
        run()
        host.append(1e3 * (time.perf_counter() - started))
    rig.synchronize()
    started = time.perf_counter()
    for _ in range(repeats):
        run()
    rig.synchronize()
    in_a_row = 1e3 * (time.perf_counter() - started) / repeats
    contended = beside_a_busy_thread(rig, run) if pages in (max(rig.pages), 16) else None
    flops = pages * prefill_flops(rig.effort.language, rig.effort.prompt)
    return {
        "ms_a_page": ms / pages,
        "ms": ms,
        "host_ms": median(host),
        "in_a_row_ms": in_a_row,
        "ms_beside_a_busy_thread": contended,
        "tflops_s": flops / ms / 1e9,
        "share_of_matrix_rate": flops / ms / 1e3 / MATRIX_FLOPS_S,
        "waits_for_the_device": waits(rig, run),
        "first_s": first_s,
        "peak_bytes": rig.peak_bytes(),
    }


def beside_a_busy_thread(rig: Rig, run: Callable[[], object]) -> float:
    """Returns the wall-clock milliseconds of one run beside a busy thread."""
    with busy_thread():
        rig.synchronize()
        started = time.perf_counter()
        run()
        rig.synchronize()
        return 1e3 * (time.perf_counter() - started)


@contextmanager
def busy_thread() -> Iterator[None]:
    """Runs another thread that computes in Python meanwhile: it takes the interpreter's lock whenever it can."""
    ended = threading.Event()

    def spin() -> None:
        while not ended.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def waits(rig: Rig, run: Callable[[], object]) -> str | None:
    """Returns which operation of the run waits for the device, None if none does."""
    if not rig.on_cuda:
        return None
    rig.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        run()
    except RuntimeError as error:
        return repr(error)[:200]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return None


def kernels(rig: "PrefillRig", found: Found) -> Found:
    """Returns the kernels that take longest, and their sum, for the largest number of pages up to 16 and for one."""
    results: Found = {}
    for pages in dict.fromkeys((max((n for n in rig.pages if n <= 16), default=1), 1)):
        for mode in MODES:
            run = Pages(rig, pages, mode)
            run()
            rig.synchronize()
            results[f"{pages}, {mode}"] = kernel_table(rig, run)
            print_table(f"{pages} pages, {mode}", results[f"{pages}, {mode}"])
            del run
            rig.tidy()
    return results


def kernel_table(rig: Rig, run: Callable[[], object], most: int = 25) -> list[Found]:
    """Returns calls and milliseconds by kernel; the first row is their sum. Operators of the host without CUDA."""
    from torch.profiler import ProfilerActivity, profile

    activity = ProfilerActivity.CUDA if rig.on_cuda else ProfilerActivity.CPU
    with profile(activities=[activity]) as profiler:
        run()
        rig.synchronize()
    name = "self_device_time_total" if rig.on_cuda else "self_cpu_time_total"
    events = [(getattr(event, name), event.count, event.key) for event in profiler.key_averages()]
    events = sorted((event for event in events if event[0] > 0), reverse=True)
    total = (sum(us for us, _, _ in events), sum(count for _, count, _ in events), "ALL")
    return [
        {"kernel": key[:110], "calls": count, "ms": round(us / 1e3, 4)}
        for us, count, key in (total, *events[:most])
    ]


def print_table(title: str, rows: list[Found]) -> None:
    print(f"-- {title}")
    for row in rows:
        print(f"{row['ms']:10.3f} ms {row['calls']:6d}  {row['kernel']}")


def products(rig: "PrefillRig", found: Found) -> Found:
    """Returns milliseconds and TFLOP/s of the plain products of one layer, by the number of pages."""
    config = rig.effort.language
    D, shared = config.hidden_size, config.n_shared_experts * config.moe_intermediate_size
    shapes = {
        "attention, one of four": (D, D),
        "queries, keys and values together": (D, 3 * D),
        "shared experts, gate or up": (D, shared),
        "shared experts, gate and up together": (D, 2 * shared),
        "shared experts, down": (shared, D),
        "dense layer, gate or up": (D, config.intermediate_size),
        "dense layer, down": (config.intermediate_size, D),
    }
    results: Found = {}
    for pages in dict.fromkeys((max(rig.pages), min(rig.pages))):
        tokens = pages * rig.effort.prompt
        for name, (inner, outer) in shapes.items():
            rows = torch.randn(tokens, inner, device=rig.device).bfloat16()
            weight = torch.randn(outer, inner, device=rig.device).bfloat16()
            ms = rig.kernel_ms(partial(torch.nn.functional.linear, rows, weight))
            results[f"{pages} pages, {name}"] = {"ms": ms, "tflops_s": 2 * tokens * inner * outer / ms / 1e9}
    return results


def experts_of(rig: Rig) -> Any:
    return next(part for part in rig.model.modules() if type(part).__name__ == "UnlimitedOcrTextExperts")


def exact_experts(module: Any, hidden_TD: Tensor, chosen_TK: Tensor, shares_TK: Tensor) -> Tensor:
    """Returns the experts by definition, in float32, expert by expert."""
    out = torch.zeros(hidden_TD.shape, device=hidden_TD.device)
    for expert in range(module.num_experts):
        tokens, places = torch.where(chosen_TK == expert)
        if len(tokens):
            gate, up = (hidden_TD[tokens].float() @ module.gate_up_proj[expert].float().t()).chunk(2, -1)
            inner = torch.nn.functional.silu(gate) * up
            rows = inner @ module.down_proj[expert].float().t()
            out.index_add_(0, tokens, rows * shares_TK[tokens, places, None])
    return out


def sorted_products(module: Any, hidden_TD: Tensor, chosen_TK: Tensor, shares_TK: Tensor) -> Tensor:
    """Returns the experts by torch's grouped products, with as few passes around them as PyTorch's operators allow."""
    K = chosen_TK.shape[1]
    keys, order = chosen_TK.flatten().to(torch.int16).sort(stable=True)
    bounds = torch.arange(1, module.num_experts + 1, device=keys.device, dtype=keys.dtype)
    offsets = torch.searchsorted(keys, bounds, out_int32=True)
    rows = hidden_TD[order // K]
    gate, up = torch._grouped_mm(rows, module.gate_up_proj.transpose(1, 2), offs=offsets).chunk(2, -1)
    inner = torch.nn.functional.silu(gate).mul_(up)
    rows = torch._grouped_mm(inner, module.down_proj.transpose(1, 2), offs=offsets)
    weighted = torch.empty_like(rows)
    weighted[order] = rows * shares_TK.flatten()[order, None].to(rows.dtype)
    return weighted.view(len(hidden_TD), K, -1).sum(1)


def grouped_alone(module: Any, rows: Tensor, offsets: Tensor, weight: str) -> Tensor:
    """Returns torch's grouped product alone, on ordered rows."""
    result: Tensor = torch._grouped_mm(rows, getattr(module, weight).transpose(1, 2), offs=offsets)
    return result


Way = Callable[[Any, Tensor, Tensor, Tensor], Tensor]


def ours(compute: Callable[..., Tensor], config: TilesConfig | None = None) -> Way:
    """Returns the experts as a prefill launches them, the sum by shares included; PyTorch puts tokens in order."""

    def way(module: Any, hidden_TD: Tensor, chosen_TK: Tensor, shares_TK: Tensor) -> Tensor:
        routed = by_expert(chosen_TK, shares_TK, module.num_experts)
        extra = {} if config is None else {"config": config}
        rows_PD = compute(module, hidden_TD, routed, **extra)
        norm = SimpleNamespace(weight=torch.ones_like(hidden_TD[0]), variance_epsilon=1e-6)
        zeros = torch.zeros_like(hidden_TD)
        return sum_norm(norm, zeros, zeros, rows_PD, routed)[0]

    return way


def by_expert(chosen_TK: Tensor, shares_TK: Tensor, num_experts: int) -> prefill_experts.Routed:
    keys, order = chosen_TK.flatten().to(torch.int16).sort(stable=True)
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order), device=order.device)
    bounds = torch.arange(num_experts + 1, device=keys.device, dtype=keys.dtype)
    starts = torch.searchsorted(keys, bounds, out_int32=True)
    return prefill_experts.Routed(shares_TK, order.int(), places.view(chosen_TK.shape).int(), starts)


# block_m, block_n, block_k, warps, stages of the two products; of the first block_n gates and as many ups
GATE_UPS = (
    (128, 128, 64, 8, 4), (128, 128, 64, 8, 3), (128, 64, 64, 4, 3), (128, 64, 64, 4, 4), (64, 128, 64, 4, 3),
    (64, 64, 64, 4, 4), (256, 64, 64, 8, 4), (128, 128, 32, 8, 4),
)  # fmt: skip
DOWNS = (
    (128, 256, 64, 8, 4), (128, 256, 64, 8, 3), (128, 128, 64, 4, 3), (128, 128, 64, 8, 4), (256, 128, 64, 8, 3),
    (64, 256, 64, 4, 4), (64, 128, 64, 4, 4),
)  # fmt: skip


def launch_of(numbers: tuple[int, ...]) -> ExpertsConfig:
    m, n, k, warps, stages = numbers
    return ExpertsConfig(block_m=m, block_n=n, block_k=k, num_warps=warps, num_stages=stages)


def the_layer(module: Any, hidden: Tensor, chosen: Tensor, shares: Tensor) -> Tensor:
    """Returns the experts as ocr.model.experts computes them."""
    found: Tensor = module(hidden, chosen, shares)
    return found


def ways(rig: Rig) -> dict[str, Way]:
    """Returns several ways to compute one layer's experts."""
    found: dict[str, Way] = {"the layer itself": the_layer, "torch._grouped_mm": sorted_products}
    if kernels_take(rig.device, rig.shape.head_dim):
        found |= {"tiles": ours(prefill_experts.experts_tiles)}
    return found


def tile_rates(rig: Rig, tokens: int) -> Found:
    """Returns the times of each of our two kernels alone, fastest launch first."""
    config, module = rig.effort.language, experts_of(rig)
    hidden, chosen, shares = routing(rig, tokens)
    routed = by_expert(chosen, shares, module.num_experts)
    pairs, D, width = chosen.numel(), config.hidden_size, config.moe_intermediate_size
    inner = torch.randn(pairs, width, device=rig.device).to(hidden.dtype)
    products: list[tuple[str, Callable[..., Tensor], Tensor, tuple[Any, ...], int]] = [
        ("gate and up", prefill_experts.gate_up, hidden, GATE_UPS, 4 * pairs * D * width),
        ("down", prefill_experts.down, inner, DOWNS, 2 * pairs * D * width),
    ]
    results: Found = {}
    for name, product, states, launches, flops in products:
        rows = []
        for numbers in launches:
            try:
                ms = rig.kernel_ms(partial(product, module, states, routed, launch_of(numbers)))
            except Exception as failure:
                rows.append({"launch": str(numbers), "error": repr(failure)[:200]})
                continue
            rows.append({"launch": str(numbers), "ms": ms, "tflops_s": flops / ms / 1e9})
        results[name] = sorted(rows, key=lambda row: row.get("ms", 1e9))
    return results


def tiles(rig: "PrefillRig", found: Found) -> Found:
    """Returns the kernels' times for 16 pages and for one; nothing where our kernels do not run."""
    if not kernels_take(rig.device, rig.shape.head_dim):
        return {}
    return {f"{pages} pages": tile_rates(rig, pages * rig.effort.prompt) for pages in (16, 1)}


def accuracy(rig: "PrefillRig", found: Found) -> Found:
    """Compares logits after two prompts with the same model in float32: relative error (L2), and equal first tokens."""
    logits = {}
    for mode in MODES:
        run = Pages(rig, 2, mode)
        run.prompts_NLD = run.prompts_NLD[:, : min(256, rig.effort.prompt)]
        run.blocks = [blocks[: rig.shape.blocks(run.prompts_NLD.shape[1])] for blocks in run.blocks]
        logits[mode] = run().logits_NV.float()
    exact = exact_logits(rig, run.prompts_NLD)
    return {
        mode: {
            "off_by": float((got - exact).norm() / exact.norm()),
            "equal_tokens": int((got.argmax(-1) == exact.argmax(-1)).sum()),
            "finite": bool(got.isfinite().all()),
        }
        for mode, got in logits.items()
    }


def exact_logits(rig: Rig, prompts_NLD: Tensor) -> Tensor:
    """Returns logits in float32, which takes twice the model's memory on top; restores the model afterwards."""
    model = rig.model
    kept = {name: weight.data for name, weight in model.named_parameters()}
    try:
        for weight in model.parameters():
            weight.data = weight.data.float()
        hidden = model.language_model(inputs_embeds=prompts_NLD.float(), use_cache=False).last_hidden_state
        logits: Tensor = model.lm_head(hidden[:, -1])
        return logits
    finally:
        for name, weight in model.named_parameters():
            weight.data = kept[name]


def routing(rig: Rig, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    """Returns hidden states, chosen experts and their shares, all random."""
    config = rig.effort.language
    generator = torch.Generator(rig.device).manual_seed(1)
    scores = torch.randn(tokens, config.n_routed_experts, device=rig.device, generator=generator)
    shares, chosen = scores.softmax(-1).topk(config.num_experts_per_tok)
    hidden = torch.randn(tokens, config.hidden_size, device=rig.device, generator=generator)
    return hidden.to(rig.shape.dtype), chosen, shares


def experts(rig: "PrefillRig", found: Found) -> Found:
    """Times one layer's experts, fastest first: ms, TFLOP/s, and the error against float32 (relative, L2)."""
    results: Found = {}
    config, module = rig.effort.language, experts_of(rig)
    assert isinstance(module.act_fn, torch.nn.SiLU)
    single = 6 * config.hidden_size * config.moe_intermediate_size
    for pages in dict.fromkeys((max((n for n in rig.pages if n <= 16), default=1), 2, 1)):
        tokens = pages * rig.effort.prompt
        hidden, chosen, shares = routing(rig, tokens)
        exact = exact_experts(module, hidden, chosen, shares)
        flops = tokens * config.num_experts_per_tok * single
        rows = []
        for name, way in ways(rig).items():
            try:
                got = way(module, hidden, chosen, shares)
                error = float((got.float() - exact).norm() / exact.norm())
                ms = rig.kernel_ms(partial(way, module, hidden, chosen, shares))
            except Exception as failure:
                rows.append({"way": name, "error": repr(failure)[:300]})
                continue
            rows.append({"way": name, "ms": ms, "tflops_s": flops / ms / 1e9, "off_by": error})
        rows += grouped_rates(rig, tokens * config.num_experts_per_tok)
        results[f"{pages} pages"] = sorted(rows, key=lambda row: row.get("ms", 1e9))
        rig.tidy()
    return results


def grouped_rates(rig: Rig, pairs: int) -> list[Found]:
    """Returns the rates of torch's two grouped products alone, each of this many rows."""
    config, module = rig.effort.language, experts_of(rig)
    ends = torch.arange(1, config.n_routed_experts + 1, device=rig.device) * pairs // config.n_routed_experts
    rows = []
    for weight, inner, outer in (
        ("gate_up_proj", config.hidden_size, 2 * config.moe_intermediate_size),
        ("down_proj", config.moe_intermediate_size, config.hidden_size),
    ):
        states = torch.randn(pairs, inner, device=rig.device).bfloat16()
        name = f"only torch._grouped_mm, {weight}"
        try:
            ms = rig.kernel_ms(partial(grouped_alone, module, states, ends.int(), weight))
        except Exception as failure:
            rows.append({"way": name, "error": repr(failure)[:300]})
            continue
        rows.append({"way": name, "ms": ms, "tflops_s": 2 * pairs * inner * outer / ms / 1e9})
    return rows


def attention(rig: "PrefillRig", found: Found) -> Found:
    """Times causal attention of one layer, by backend; cuDNN's makes a plan for each shape, which first_s shows."""
    results: Found = {}
    shape = rig.shape
    backends = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION]
    for pages in dict.fromkeys((max((n for n in rig.pages if n <= 16), default=1), 1)):
        states = [
            torch.randn(pages, rig.effort.prompt, shape.heads, shape.head_dim, device=rig.device)
            .to(shape.dtype)
            .transpose(1, 2)
            for _ in range(3)
        ]
        flops = 2 * pages * shape.heads * rig.effort.prompt**2 * shape.head_dim
        for backend in backends if rig.on_cuda else [SDPBackend.MATH]:
            try:
                with sdpa_kernel([backend]):
                    run = partial(scaled_dot_product_attention, *states, is_causal=True)
                    started = time.perf_counter()
                    run()
                    rig.synchronize()
                    first_s = time.perf_counter() - started
                    ms = rig.kernel_ms(run)
                entry = {"ms": ms, "tflops_s": flops / ms / 1e9, "first_s": first_s}
            except Exception as failure:
                entry = {"error": repr(failure)[:300]}
            results[f"{pages} pages, {backend.name}"] = entry
    return results


def pieces(rig: "PrefillRig", found: Found) -> Found:
    """Times everything between the products of one layer, as in transformers: ms of each."""
    pages = max((n for n in rig.pages if n <= 16), default=1)
    run = Pages(rig, pages, "transformers")
    layer: Any = rig.model.language_model.layers[-1]
    hidden = run.prompts_NLD.reshape(-1, rig.effort.language.hidden_size)
    keys, values = (
        torch.randn(pages, rig.shape.heads, rig.effort.prompt, rig.shape.head_dim, device=rig.device)
        for _ in range(2)
    )
    keys, values = keys.to(rig.shape.dtype), values.to(rig.shape.dtype)
    blocks = torch.tensor(run.blocks, device=rig.device)
    _, chosen, _ = routing(rig, len(hidden))
    things: dict[str, Callable[[], object]] = {
        "norm": partial(layer.input_layernorm, hidden),
        "router": partial(layer.mlp.gate, hidden),
        "cache writes": partial(run.steps.pool.write_prompts, 0, keys, values, blocks),
        "order by expert, int64": partial(torch.sort, chosen.flatten()),
        "order by expert, int16": partial(torch.sort, chosen.flatten().short(), stable=True),
        "residual": partial(torch.add, hidden, hidden),
        "head of the last tokens": partial(rig.model.lm_head, hidden[:pages]),
    }
    if kernels_take(rig.device, rig.shape.head_dim):
        routed = prefill_experts.route(layer.mlp.gate, hidden)
        rows = torch.randn(len(routed.order), hidden.shape[1], device=rig.device).to(hidden.dtype)
        positions = torch.arange(rig.effort.prompt, device=rig.device)[None]
        cos, sin = (part[0] for part in rig.model.language_model.rotary_emb(run.prompts_NLD, positions))
        things |= {
            "ours: norm": partial(layers.rms_norm, layer.input_layernorm, hidden),
            "ours: router and order": partial(prefill_experts.route, layer.mlp.gate, hidden),
            "ours: sum of two and norm": partial(sum_norm, layer.input_layernorm, hidden, hidden),
            "ours: sum with experts and norm": partial(
                sum_norm, layer.input_layernorm, hidden, hidden, rows, routed
            ),
            "ours: shared experts": partial(layers.mlp, layer.mlp.shared_experts, hidden),
            "ours: queries, keys, values, rotated and written": partial(
                write, layer.self_attn, run.prompts_NLD, cos, sin, run.steps.pool, blocks
            ),
        }
    return {f"{pages} pages, {name}": rig.kernel_ms(thing) for name, thing in things.items()}


SECTIONS: dict[str, Callable[[Any, Found], Found]] = {
    "machine": machine,
    "prefill": prefill,
    "kernels": kernels,
    "engine": engine,
    "experts": experts,
    "tiles": tiles,
    "products": products,
    "attention": attention,
    "pieces": pieces,
    "accuracy": accuracy,
}


class PrefillRig(Rig):
    """A rig for prefill. pages: numbers of pages in one forward."""

    def __init__(self, effort: Effort, pages: tuple[int, ...], device: torch.device) -> None:
        super().__init__(effort, device, torch.bfloat16)
        self.pages = pages


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--pages", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    on_cuda = torch.cuda.is_available()
    if not on_cuda and not options.quick:
        parser.error("no CUDA device; --quick runs anywhere")
    effort = QUICK if options.quick else Effort(language=LanguageConfig())
    pages = options.pages or ((2, 1) if options.quick else PAGES)
    torch.backends.cuda.matmul.allow_tf32 = False
    found: Found = {}
    failed = False
    with torch.inference_mode():
        rig = PrefillRig(effort, pages, torch.device("cuda", 0) if on_cuda else torch.device("cpu"))
        for name in options.sections.split(","):
            started = time.perf_counter()
            try:
                found[name] = SECTIONS[name](rig, found)
            except Exception:
                traceback.print_exc()
                found[name] = {"error": traceback.format_exc()[-2000:]}
                failed = True
            rig.tidy()
            options.output.write_text(json.dumps(found, indent=1))
            print(f"== {name}: {time.perf_counter() - started:.1f} s")
            print(json.dumps(summary(found[name]), indent=1), flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
