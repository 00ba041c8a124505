"""Measures all figures of decoding in one run, on a CUDA device:

python -m tests.benchmarks.decoding.decode_figures figures.json
python -m tests.benchmarks.decoding.decode_figures figures.json --sections machine,steps

Sections: machine; steps (one decode step of each batch at the mean length, and the kernels it consists of); paged
(pages in, pages out: continuous batching, prefills included; --batches limits it); bans (the same with the n-gram ban,
which random weights set off far more often than real ones); dynamic (the loop of transformers' generate, a few steps of
each batch). After each one the JSON is written; one that fails is reported, and the others go on. The model is
DeepSeek-OCR's language model with random weights in bf16; 903 tokens of prompt, 1,000 written, no page ends by itself.
With --quick a tiny model shows on any device that the program works.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import Tokenizer, models
from torch import nn
from transformers import DynamicCache, UnlimitedOcrTextModel

from ocr.decoding.gpu.forward.block_pool import BlockPool, PoolShape
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.decoding.gpu.schedule.entries import EngineSettings, Page
from ocr.decoding.sequence.page_reading import DecodeSettings, start_reading
from ocr.model.deepseek_ocr import LanguageConfig
from pipeline.bench.random_model import draw
from pipeline.bench.roofline.bound import step_weights
from pipeline.bench.roofline.rates import Rates, measure_rates
from tests.benchmarks.device_rig import DeviceClock, Found, device_of, run_sections, sections_parser

# Where there is no CUDA device, so that all code here is tried.
_NO_RATES = Rates(matrix_flops_s=1e12, copy_bytes_s=1e11)


@dataclass(frozen=True, kw_only=True)
class Effort:
    """The amount of measuring. One page is `prompt` tokens and writes `output`."""

    language: LanguageConfig
    prompt: int = 903
    output: int = 1000
    batches: tuple[int, ...] = (256, 64, 16, 1)
    repeats: int = 20
    dynamic_steps: int = 10


FULL = Effort(language=LanguageConfig())
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
        self.language_model = UnlimitedOcrTextModel(config.to_transformers())
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)


class Rig:
    """The model, with random weights drawn on its device, and its requests."""

    def __init__(self, effort: Effort, device: torch.device) -> None:
        self.effort, self.device, dtype = effort, device, torch.bfloat16
        self.clock = DeviceClock(device)
        with torch.device("meta"):
            self.model: Any = Text(effort.language)
        draw(self.model, device, dtype)
        words = {f"w{number}": number for number in range(effort.language.vocab_size)}
        tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
        self.loaded: Any = SimpleNamespace(model=self.model, tokenizer=tokenizer, bos_id=0, eos_id=-1)
        self.shape = PoolShape.of(self.model.language_model, dtype)
        generator = torch.Generator(device).manual_seed(0)
        self.prompts = torch.randn(
            8, effort.prompt, effort.language.hidden_size, device=device, generator=generator
        ).to(dtype)
        self.rates = measure_rates(device, dtype) or _NO_RATES

    def prompt(self, place: int) -> torch.Tensor:
        return self.prompts[place % len(self.prompts)]

    def page(self, place: int, count: int, ngram: int = 0) -> Page:
        """Returns a page that writes `count` tokens."""
        prompt = self.prompt(place)
        limits = DecodeSettings(
            max_tokens=len(prompt) + count, ngram_size=ngram, ngram_window=50, loop_tokens=0
        )
        reading = start_reading(self.loaded, len(prompt), limits)
        return Page(prompt=partial(self.prompt, place), num_prompt=len(prompt), reading=reading)

    def bound_ms(self, batch: int, length: float) -> float:
        """Returns a step's lower bound: weights read once, experts as far as that many rows reach, keys and values."""
        weights = step_weights(self.effort.language, batch) * self.shape.dtype.itemsize
        return 1e3 * (weights + batch * length * self.shape.token_bytes) / self.rates.copy_bytes_s

    def machine(self) -> Found:
        """Returns the machine, and the rates of a large matrix product and of a copy."""
        on_cuda = self.clock.on_cuda
        return {
            "device": torch.cuda.get_device_name(self.device) if on_cuda else "cpu",
            "torch": torch.__version__,
            "token_bytes": self.shape.token_bytes,
            "matrix_tflops_s": self.rates.matrix_flops_s / 1e12 if on_cuda else None,
            "copy_gb_s": self.rates.copy_bytes_s / 1e9 if on_cuda else None,
        }


def steps(rig: Rig) -> Found:
    """Returns one captured step at the mean length: milliseconds, tokens/s, share of the bound, and its kernels."""
    effort, clock = rig.effort, rig.clock
    length = effort.prompt + effort.output // 2
    times: Found = {}
    kernels: Found = {}
    for batch in effort.batches:
        most = rig.shape.blocks(length + 64)
        pool = BlockPool(rig.shape, (1 + batch * most) * rig.shape.block_bytes, rig.device)
        plain = planned(rig, pool, batch, length, layers=False)
        plain.step(batch).rows()
        plain_ms = clock.in_a_row_ms(partial(plain.step, batch), effort.repeats)
        del plain
        device = planned(rig, pool, batch, length, layers=True)
        step = partial(device.step, batch)
        first_ms = clock.once_ms(lambda step=step: step().rows())
        ms = clock.ms(step, effort.repeats, alone=True)
        in_a_row = clock.in_a_row_ms(step, effort.repeats)
        bound = rig.bound_ms(batch, length)
        times[str(batch)] = {
            "graphs": device.graphs,
            "first_s": first_ms / 1e3,
            "ms": ms,
            "in_a_row_ms": in_a_row,
            "transformers_layers_ms": plain_ms,
            "tokens_s": 1e3 * batch / in_a_row,
            "bound_ms": bound,
            "share_of_bound": bound / in_a_row,
            "peak_bytes": clock.peak_bytes(),
        }
        kernels[str(batch)] = clock.kernels(step)
        del device, step, pool
        clock.tidy()
    return {"times": times, "kernels": kernels}


def planned(rig: Rig, pool: BlockPool, batch: int, length: int, *, layers: bool) -> DeviceSteps:
    """Returns steps whose rows all hold `length` tokens."""
    most = rig.shape.blocks(length + 64)
    device = DeviceSteps(rig.model, pool, slots=batch, max_tokens=length + 64, layers=layers)
    for row in range(batch):
        device.plan[row, 0] = length
        device.plan[row, 1 : 1 + most] = range(1 + row * most, 1 + (row + 1) * most)
    return device


def pages_through(rig: Rig, batch: int, ngram: int, waves: int, output: int) -> Found:
    """Returns tokens/s of pages through an engine with this many slots, once the slots hold pages of every length.

    The first wave's pages have spread lengths; timing starts when they are done and ends with the second wave.
    """
    engine = PagedEngine(rig.loaded, EngineSettings(slots=batch, max_tokens=rig.effort.prompt + output))
    warm_up_s = rig.clock.once_ms(engine.warm_up) / 1e3
    wants = [max(1, output * (place + 1) // batch) for place in range(batch)] + [output] * (waves * batch)
    marks: list[tuple[float, int, int, float, float, int]] = []
    started = time.perf_counter()
    stats = engine.stats
    pages = engine.read(rig.page(place, count, ngram) for place, count in enumerate(wants))
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
        "prefill_ms_a_page": 1e3 * stats.prefill_s / stats.prefilled,
        "preemptions": stats.preemptions,
        "shrinks": stats.shrinks,
        "peak_bytes": rig.clock.peak_bytes(),
    }


def continuous(rig: Rig) -> Found:
    """Measures whole pages without the n-gram ban."""
    results: Found = {}
    for batch in rig.effort.batches:
        results[str(batch)] = pages_through(rig, batch, 0, 2, rig.effort.output)
        rig.clock.tidy()
    return results


def bans(rig: Rig) -> Found:
    """Measures whole pages with the n-gram ban of PDF files: the cost of choosing again, as random weights repeat."""
    batch = rig.effort.batches[0]
    return {str(batch): pages_through(rig, batch, 20, 2, max(2, rig.effort.output // 4))}


def dynamic(rig: Rig) -> Found:
    """Measures the greedy loop of transformers' generate, without its processors: a DynamicCache, no graph."""
    results: Found = {}
    model = rig.model
    language_model = model.language_model
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
            rig.clock.synchronize()
            times.append(1e3 * (time.perf_counter() - started))
        ms = median(times[1:])
        results[str(batch)] = {"step_ms": ms, "tokens_s": 1e3 * batch / ms, "prefill_ms": times[0]}
        del cache, hidden
        rig.clock.tidy()
    return results


SECTIONS = {"machine": Rig.machine, "steps": steps, "paged": continuous, "bans": bans, "dynamic": dynamic}


def main(words: Sequence[str] | None = None) -> Found:
    parser = sections_parser(__doc__)
    parser.add_argument("--batches", type=lambda text: tuple(map(int, text.split(","))))
    asked = parser.parse_args(words)
    device, effort = device_of(parser, asked), QUICK if asked.quick else FULL
    if asked.batches:
        effort = replace(effort, batches=asked.batches)
    with torch.inference_mode():
        rig = Rig(effort, device)
    return run_sections({name: partial(measure, rig) for name, measure in SECTIONS.items()}, asked, rig.clock)


if __name__ == "__main__":
    main()
