"""Measures all figures of decoding in one run, on a CUDA device:

python -m tests.benchmarks.decoding.decode_figures figures.json
python -m tests.benchmarks.decoding.decode_figures figures.json --sections machine,attention,steps

Sections: machine; attention, experts (the kernels alone, their launches compared); steps (one decode step of each
batch at the mean length, and what it consists of); paged (pages in, pages out: continuous batching, prefills
included; --batches limits it); bans (the same with the n-gram ban, which random weights set off far more often
than real ones); dynamic (the loop of transformers' generate, a few steps of each batch). After each one the JSON is
written; one that fails is reported, and the others go on. The model is DeepSeek-OCR's language model with random
weights in bf16; 903 tokens of prompt, 1,000 written, no page ends by itself. With --quick a tiny model shows on any
device that the program works.
"""

import argparse
import json
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import Tokenizer, models
from torch import nn
from transformers import DynamicCache
from transformers import UnlimitedOcrTextModel as TransformersModel

from ocr.decoding.gpu.forward import layers, paged_attention
from ocr.decoding.gpu.forward.block_pool import BlockPool, PoolShape
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.decoding.gpu.schedule.entries import EngineSettings, Item
from ocr.decoding.sequence.page_reading import DecodeSettings, start_reading
from ocr.model.deepseek_ocr import LanguageConfig
from ocr.model.random_weights import redraw
from ocr.model.text_model import UnlimitedOcrTextModel

Found = dict[str, Any]
PEAK_BYTES_S = 4.3e12  # of an H200's memory, as measured


@dataclass(frozen=True, kw_only=True)
class Effort:
    """The amount of measuring. One page is `prompt` tokens and writes `output`."""

    language: LanguageConfig
    prompt: int = 903
    output: int = 1000
    batches: tuple[int, ...] = (256, 64, 16, 1)
    repeats: int = 20
    dynamic_steps: int = 10


QUICK = Effort(
    language=LanguageConfig(
        vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
    ),
    prompt=20, output=24, batches=(4, 1), repeats=2, dynamic_steps=2,
)  # fmt: skip


class Text(nn.Module):
    """The language model and its head, alone."""

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.language_model = UnlimitedOcrTextModel(config.to_text())
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)


def random_text(config: LanguageConfig, device: torch.device, dtype: torch.dtype) -> Text:
    """Returns a model with random weights drawn on the device; neither it nor the host holds them in another format."""
    with torch.device("meta"):
        model = Text(config)
    model = model.to_empty(device=device).to(dtype).eval().requires_grad_(False)
    redraw(model)
    rotary = model.language_model.rotary_emb
    model.language_model.rotary_emb = type(rotary)(model.language_model.config).to(device)
    return model


class Rig:
    """The model and its requests."""

    def __init__(self, effort: Effort, device: torch.device, dtype: torch.dtype) -> None:
        self.effort = effort
        self.device = device
        self.on_cuda = device.type == "cuda"
        self.model = random_text(effort.language, device, dtype)
        words = {f"w{number}": number for number in range(effort.language.vocab_size)}
        tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
        self.loaded: Any = SimpleNamespace(model=self.model, tokenizer=tokenizer, bos_id=0, eos_id=-1)
        self.shape = PoolShape.of(self.model.language_model, dtype)
        generator = torch.Generator(device).manual_seed(0)
        self.prompts = torch.randn(
            8, effort.prompt, effort.language.hidden_size, device=device, generator=generator
        ).to(dtype)

    def prompt(self, place: int) -> torch.Tensor:
        return self.prompts[place % len(self.prompts)]

    def synchronize(self) -> None:
        if self.on_cuda:
            torch.cuda.synchronize(self.device)

    def ms(self, run: Callable[[], object], repeats: int) -> float:
        """Returns the median milliseconds of several runs, each alone, after two that do not count."""
        for _ in range(2):
            run()
        times = []
        for _ in range(repeats):
            self.synchronize()
            start = time.perf_counter()
            if self.on_cuda:
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                run()
                end.record()
                end.synchronize()
                times.append(begin.elapsed_time(end))
            else:
                run()
                times.append(1e3 * (time.perf_counter() - start))
        return median(times)

    def kernel_ms(self, run: Callable[[], object]) -> float:
        """Returns the milliseconds of one run of ten in a graph, without launch costs; data may stay in the cache."""
        if not self.on_cuda:
            return self.ms(run, self.effort.repeats)
        run()
        self.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(10):
                run()
        return self.ms(graph.replay, 5) / 10

    def tidy(self) -> None:
        if self.on_cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.device)

    def peak_bytes(self) -> int:
        return torch.cuda.max_memory_allocated(self.device) if self.on_cuda else 0

    def bound_ms(self, batch: int, length: float) -> float:
        """Returns a step's lower bound: weights read once, experts as far as that many rows reach, keys and values."""
        config = self.effort.language
        total = sum(weight.numel() * weight.element_size() for weight in self.model.parameters())
        embedding = self.model.language_model.embed_tokens.weight
        experts = [module for module in self.model.modules() if type(module).__name__.endswith("TextExperts")]
        routed = sum(
            weight.numel() * weight.element_size() for part in experts for weight in part.parameters()
        )
        missed = (1 - config.num_experts_per_tok / config.n_routed_experts) ** batch
        read = total - embedding.numel() * embedding.element_size() - routed * missed
        return 1e3 * (read + batch * length * self.shape.token_bytes) / PEAK_BYTES_S


def machine(rig: Rig, found: Found) -> Found:
    """Returns the machine, and the rate of a large copy, read and written bytes together."""
    count = (1 << 31) if rig.on_cuda else (1 << 20)
    source, target = (torch.empty(count, dtype=torch.uint8, device=rig.device) for _ in range(2))
    ms = rig.ms(lambda: target.copy_(source), 5)
    weights = sum(weight.numel() * weight.element_size() for weight in rig.model.parameters())
    return {
        "device": torch.cuda.get_device_name(rig.device) if rig.on_cuda else "cpu",
        "torch": torch.__version__,
        "weights_bytes": weights,
        "token_bytes": rig.shape.token_bytes,
        "copy_gb_s": 2 * count / ms / 1e6,
    }


def one_layer(rig: Rig, batch: int) -> tuple[BlockPool, torch.Tensor, int]:
    """Returns a pool of one layer, a plan with lengths spread from prompt to prompt and output, and its bytes read."""
    effort, shape = rig.effort, rig.shape
    single = PoolShape(
        layers=1,
        heads=shape.heads,
        head_dim=shape.head_dim,
        block_tokens=shape.block_tokens,
        dtype=shape.dtype,
    )
    lengths = effort.prompt + (torch.arange(batch) * effort.output + effort.output // 2) // batch
    most = single.blocks(int(lengths.max()) + 16)
    pool = BlockPool(single, (1 + batch * most) * single.block_bytes, rig.device)
    for states in (*pool.keys, *pool.values):
        states.normal_()
    blocks = 1 + torch.randperm(batch * most, generator=torch.Generator().manual_seed(0)).view(batch, most)
    plan = torch.cat((lengths[:, None], blocks), 1).int().to(rig.device)
    return pool, plan, int((lengths + 1).sum()) * single.token_bytes


def attention(rig: Rig, found: Found) -> Found:
    """Returns for each batch and number of query tokens the launches, fastest first: milliseconds and GB/s."""
    results: Found = {}
    fused = paged_attention.kernels_take(rig.device, rig.shape.head_dim)
    for batch in rig.effort.batches:
        pool, plan, read = one_layer(rig, batch)
        for tokens in (1, 8):
            query = torch.randn(batch, rig.shape.heads, tokens, rig.shape.head_dim, device=rig.device)
            query = query.to(rig.shape.dtype)
            default = paged_attention.default_config(batch * rig.shape.heads)
            every = tokens == 1 and batch == rig.effort.batches[0]
            configs = launches(default, everything=every) if fused and tokens == 1 else [default]
            times = []
            for config in configs:
                cache = paged_attention.StepCache(pool, plan, fused=fused, config=config)
                attend = paged_attention.attend_fused if fused else paged_attention.attend_plain
                run = partial(attend, cache, query, pool.keys[0], pool.values[0], 0.09)
                try:
                    ms = rig.kernel_ms(run)
                except Exception as error:  # more shared memory than there is
                    times.append({"config": str(config), "error": repr(error)[:200]})
                    continue
                times.append(
                    {"config": str(config), "default": config == default, "ms": ms, "gb_s": read / ms / 1e6}
                )
            times.sort(key=lambda entry: entry.get("ms", 1e9))
            results[f"batch {batch}, {tokens} tokens"] = times
        del pool, plan
        rig.tidy()
    return results


def launches(
    default: paged_attention.AttendConfig, *, everything: bool
) -> list[paged_attention.AttendConfig]:
    """Returns launches, the default first; each is compiled, which takes most of a second."""
    split = default.splits
    others = [replace(default, splits=other) for other in (max(1, split // 2), split * 2, split * 4)]
    if everything:
        others += [
            replace(default, splits=other, num_warps=warps, num_stages=stages)
            for other in (split, 2 * split)
            for warps in (2, 4, 8)
            for stages in (2, 3, 4, 5)
        ]
    return [default, *dict.fromkeys(config for config in others if config != default)]


def expert_launches(default: layers.ExpertsConfig) -> list[layers.ExpertsConfig]:
    """Returns the neighbours of the default launch."""
    others = [
        replace(default, block_n=n, block_k=k, num_stages=stages)
        for n, k in ((32, 64), (32, 128), (64, 64), (64, 128), (128, 64))
        for stages in (3, 5)
    ]
    return [config for config in others if config != default]


def experts(rig: Rig, found: Found) -> Found:
    """Returns a layer's experts' times: PyTorch's grouped products as in transformers, and ours, fastest first."""
    results: Found = {}
    config = rig.effort.language
    module = next(part for part in rig.model.modules() if type(part).__name__ == "UnlimitedOcrTextExperts")
    fused = paged_attention.kernels_take(rig.device, rig.shape.head_dim)
    total = sum(weight.numel() * weight.element_size() for weight in module.parameters())
    for batch in rig.effort.batches:
        scores = torch.randn(batch, config.n_routed_experts, device=rig.device)
        shares, chosen = scores.softmax(-1).topk(config.num_experts_per_tok)
        hidden = torch.randn(batch, config.hidden_size, device=rig.device).to(rig.shape.dtype)
        read = total * len(chosen.unique()) / config.n_routed_experts
        times: list[Found] = []
        runs: list[tuple[str, Callable[[], object]]] = [
            ("transformers", partial(module, hidden, chosen, shares))
        ]
        if fused:
            runs.append(("default", partial(layers.experts, module, hidden, chosen, shares)))
            if batch in (rig.effort.batches[0], 1):
                mean = batch * config.num_experts_per_tok / config.n_routed_experts
                runs += [
                    (str(launch), partial(layers.experts, module, hidden, chosen, shares, launch))
                    for launch in expert_launches(layers.experts_config(batch, mean))
                ]
        for name, run in runs:
            try:
                ms = rig.kernel_ms(run)
            except Exception as error:  # more shared memory than there is
                times.append({"config": name, "error": repr(error)[:200]})
                continue
            times.append({"config": name, "ms": ms, "gb_s": read / ms / 1e6})
        results[str(batch)] = sorted(times, key=lambda entry: entry.get("ms", 1e9))
        results[f"{batch}, named"] = [entry for entry in times if "(" not in entry["config"]]
    return results


def steps(rig: Rig, found: Found) -> Found:
    """Returns one captured step at the mean length: milliseconds, tokens/s, share of the bound, and its kernels."""
    results: Found = {}
    effort = rig.effort
    length = effort.prompt + effort.output // 2
    for batch in effort.batches:
        most = rig.shape.blocks(length + 64)
        pool = BlockPool(rig.shape, (1 + batch * most) * rig.shape.block_bytes, rig.device)
        plain = planned(rig, pool, batch, length, layers=False)
        plain.step(batch).rows()
        plain_ms = back_to_back(rig, plain, batch)
        del plain
        device = planned(rig, pool, batch, length, layers=True)
        started = time.perf_counter()
        device.step(batch).rows()
        first_s = time.perf_counter() - started
        ms = rig.ms(partial(device.step, batch), effort.repeats)
        in_a_row = back_to_back(rig, device, batch)
        bound = rig.bound_ms(batch, length)
        results[str(batch)] = {
            "graphs": device.graphs,
            "first_s": first_s,
            "ms": ms,
            "in_a_row_ms": in_a_row,
            "transformers_layers_ms": plain_ms,
            "tokens_s": 1e3 * batch / in_a_row,
            "bound_ms": bound,
            "share_of_bound": bound / in_a_row,
            "peak_bytes": rig.peak_bytes(),
            "kernels": kernels_of(rig, partial(device.step, batch)),
        }
        del device, pool
        rig.tidy()
    return results


def planned(rig: Rig, pool: BlockPool, batch: int, length: int, *, layers: bool) -> DeviceSteps:
    """Returns steps whose rows all hold `length` tokens."""
    most = rig.shape.blocks(length + 64)
    device = DeviceSteps(rig.model, pool, slots=batch, max_tokens=length + 64, layers=layers)
    for row in range(batch):
        device.plan[row, 0] = length
        device.plan[row, 1 : 1 + most] = range(1 + row * most, 1 + (row + 1) * most)
    return device


def back_to_back(rig: Rig, device: DeviceSteps, batch: int) -> float:
    """Returns wall-clock milliseconds a step of several in a row, without reading their tokens."""
    rig.synchronize()
    start = time.perf_counter()
    for _ in range(rig.effort.repeats):
        device.step(batch)
    rig.synchronize()
    return 1e3 * (time.perf_counter() - start) / rig.effort.repeats


def kernels_of(rig: Rig, run: Callable[[], object]) -> list[Found]:
    """Returns the twenty kernels that take longest in one run: name, calls, microseconds. Empty without CUDA."""
    if not rig.on_cuda:
        return []
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        run()
        rig.synchronize()
    events = [event for event in profiler.key_averages() if event.self_device_time_total > 0]
    events.sort(key=lambda event: -event.self_device_time_total)
    rows: list[Found] = [
        {"kernel": event.key[:90], "calls": event.count, "us": round(event.self_device_time_total, 1)}
        for event in events[:20]
    ]
    total = sum(event.self_device_time_total for event in events)
    return [{"kernel": "ALL", "calls": sum(event.count for event in events), "us": round(total, 1)}, *rows]


def pages_through(rig: Rig, batch: int, ngram: int, waves: int, output: int) -> Found:
    """Returns tokens/s of pages through an engine with this many slots, once the slots hold pages of every length.

    The first wave's pages have spread lengths; timing starts when they are done and ends with the second wave.
    """
    engine = PagedEngine(rig.loaded, EngineSettings(slots=batch, max_tokens=rig.effort.prompt + output))
    started = time.perf_counter()
    engine.warm_up()
    rig.synchronize()
    warm_up_s = time.perf_counter() - started
    wants = [max(1, output * (place + 1) // batch) for place in range(batch)] + [output] * (waves * batch)

    def readings() -> Any:
        for place, count in enumerate(wants):
            limits = DecodeSettings(
                max_tokens=rig.effort.prompt + count, ngram_size=ngram, ngram_window=50, loop_tokens=0
            )
            prompt = rig.prompt(place)
            reading = start_reading(rig.loaded, len(prompt), limits)
            yield Item(prompt=partial(rig.prompt, place), num_prompt=len(prompt), reading=reading)

    marks: list[tuple[float, int, int, float, float, int]] = []
    started = time.perf_counter()
    stats = engine.stats
    pages = engine.read(readings())
    for _ in pages:
        marks.append(
            (time.perf_counter(), stats.tokens, stats.steps, stats.host_s, stats.wait_s, stats.rewinds)
        )
        if len(marks) == waves * batch:
            break
    pages.close()
    window = marks[batch - 1 if waves > 1 else 0], marks[-1]
    seconds, tokens, count, host_s, wait_s, rewinds = (
        after - before for before, after in zip(*window, strict=True)
    )
    count = max(count, 1)
    bound = rig.bound_ms(batch, rig.effort.prompt + output / 2)
    return {
        "tokens_s": tokens / seconds,
        "share_of_bound": tokens / seconds * bound / 1e3 / batch,
        "pages_s": tokens / seconds / output,
        "step_ms_with_prefills": 1e3 * seconds / count,
        "host_ms_a_step": 1e3 * host_s / count,
        "wait_ms_a_step": 1e3 * wait_s / count,
        "rewinds_a_step": rewinds / count,
        "steps": count,
        "seconds": seconds,
        "warm_up_s": warm_up_s,
        "first_page_s": marks[0][0] - started,
        "prefills": stats.prefills,
        "preemptions": stats.preemptions,
        "shrinks": stats.shrinks,
        "peak_bytes": rig.peak_bytes(),
    }


def continuous(rig: Rig, found: Found) -> Found:
    """Measures whole pages without the n-gram ban."""
    results: Found = {}
    for batch in rig.effort.batches:
        results[str(batch)] = pages_through(rig, batch, 0, 2, rig.effort.output)
        rig.tidy()
    return results


def bans(rig: Rig, found: Found) -> Found:
    """Measures whole pages with the n-gram ban of PDF files: the cost of choosing again, as random weights repeat."""
    batch = rig.effort.batches[0]
    result = pages_through(rig, batch, 20, 2, max(2, rig.effort.output // 4))
    rig.tidy()
    return {str(batch): result}


def dynamic(rig: Rig, found: Found) -> Found:
    """Measures the greedy loop of transformers' generate, without its processors: a DynamicCache, no graph."""
    results: Found = {}
    model, language_model = rig.model, transformers_model(rig)
    for batch in rig.effort.batches:
        embeds = rig.prompts[torch.arange(batch, device=rig.device) % len(rig.prompts)]
        cache = DynamicCache(config=language_model.config)
        times = []
        for _ in range(1 + rig.effort.dynamic_steps):
            started = time.perf_counter()
            hidden = language_model(
                inputs_embeds=embeds, past_key_values=cache, use_cache=True
            ).last_hidden_state
            chosen = model.lm_head(hidden[:, -1]).float().argmax(-1)
            embeds = model.language_model.embed_tokens(chosen[:, None])
            rig.synchronize()
            times.append(1e3 * (time.perf_counter() - started))
        ms = median(times[1:])
        results[str(batch)] = {"step_ms": ms, "tokens_s": 1e3 * batch / ms, "prefill_ms": times[0]}
        del cache, hidden
        rig.tidy()
    return results


def transformers_model(rig: Rig) -> Any:
    """Returns transformers' class with the rig's own weights, not copied."""
    with torch.device("meta"):
        model = TransformersModel(rig.effort.language.to_transformers()).eval().requires_grad_(False)
    model.load_state_dict(rig.model.language_model.state_dict(), assign=True)
    model.rotary_emb = type(model.rotary_emb)(model.config).to(rig.device)
    return model


SECTIONS: dict[str, Callable[[Rig, Found], Found]] = {
    "machine": machine,
    "attention": attention,
    "experts": experts,
    "steps": steps,
    "paged": continuous,
    "bans": bans,
    "dynamic": dynamic,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--batches", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    on_cuda = torch.cuda.is_available()
    if not on_cuda and not options.quick:
        parser.error("no CUDA device; --quick runs anywhere")
    effort = QUICK if options.quick else Effort(language=LanguageConfig())
    if options.batches:
        effort = Effort(**{**vars(effort), "batches": options.batches})
    torch.backends.cuda.matmul.allow_tf32 = False
    found: Found = {}
    failed = False
    with torch.inference_mode():
        started = time.perf_counter()
        rig = Rig(effort, torch.device("cuda", 0) if on_cuda else torch.device("cpu"), torch.bfloat16)
        found["build_s"] = time.perf_counter() - started
        for name in options.sections.split(","):
            started = time.perf_counter()
            try:
                found[name] = SECTIONS[name](rig, found)
            except Exception:
                traceback.print_exc()
                found[name] = {"error": traceback.format_exc()[-2000:]}
                failed = True
            rig.tidy()
            seconds = time.perf_counter() - started
            options.output.write_text(json.dumps(found, indent=1))
            print(f"== {name}: {seconds:.1f} s")
            print(json.dumps(summary(found[name]), indent=1), flush=True)
    return int(failed)


def summary(found: Any) -> Any:
    """Returns the figures with only the first six entries of every list."""
    if isinstance(found, dict):
        return {key: summary(value) for key, value in found.items()}
    if isinstance(found, list):
        return [summary(value) for value in found[:6]]
    return round(found, 4) if isinstance(found, float) else found


if __name__ == "__main__":
    raise SystemExit(main())
