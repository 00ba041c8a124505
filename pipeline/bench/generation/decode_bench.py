"""Implements `ocrbatch bench decode`: times decoding arm by arm, each warmed up, in one process."""

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from ocr.checkpoints.checkpoint import LoadedModel
from pipeline.bench.bench_figures import Figures, cells, known, told
from pipeline.bench.generation.decode_arms import DECODE_ARMS, DecodeArm, Written, build, load
from pipeline.bench.generation.page_prompts import PagePrompt, page_prompts, random_prompts
from pipeline.device.startup.loading import choose_device, choose_dtype
from pipeline.errors import ConfigError

_WARM_UP_TOKENS = 8
_WIDTHS = (12, 9, 10, 10, 11, 9)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeBenchSettings:
    """The settings of `ocrbatch bench decode`. pages: a folder; None draws random prompts of prompt_tokens.

    batch_size: pages decoded together. max_new_tokens: per page; pages of random prompts do not end earlier.
    """

    model: str = "small"
    device: str = "cpu"
    dtype: str = "float32"
    arms: tuple[str, ...] = DECODE_ARMS
    pages: str | None = None
    num_pages: int = 8
    batch_size: int = 8
    prompt_tokens: int = 903
    max_new_tokens: int = 256


def run(*, device: str, dtype: str, arms: str | None, pages: str | None, **settings: Any) -> Figures:
    """Measures on the device and in the dtype that a run would choose.

    arms: None takes all that can be measured: the paged engine needs CUDA and bfloat16.
    Raises: CheckpointError, ConfigError.
    """
    chosen = choose_device(device)
    number_format = choose_dtype(dtype, chosen)
    if arms is not None:
        names = known("--arms", arms, DECODE_ARMS)
    else:
        useless = set() if (chosen, number_format) == ("cuda", "bfloat16") else {"paged"}
        names = tuple(name for name in DECODE_ARMS if name not in useless)
    asked = DecodeBenchSettings(device=chosen, dtype=number_format, arms=names, pages=pages, **settings)
    values = bench(asked)
    return Figures(values=values, lines=tuple(_lines(values)))


@torch.inference_mode()
def bench(settings: DecodeBenchSettings) -> dict[str, Any]:
    """Measures every arm on the same pages; returns all figures as JSON values. Raises: CheckpointError, ConfigError.

    max_new_tokens: the settings', limited by the model's positions. prompt_tokens: of each page.
    """
    device = torch.device(settings.device)
    loaded = load(settings.model, device, getattr(torch, settings.dtype))
    if settings.pages is None:
        # No token has this id, so that every page runs to its token limit.
        loaded = replace(loaded, eos_id=loaded.model.config.language.vocab_size)
        pages = random_prompts(loaded, settings.num_pages, settings.prompt_tokens)
    else:
        pages = page_prompts(loaded, settings.pages, settings.num_pages)
    max_new_tokens = _room(loaded, pages, settings.max_new_tokens)
    longest = max(len(page.embeds_LD) for page in pages)
    measured: list[dict[str, Any]] = []
    expected: list[Written] | None = None
    for name in settings.arms:
        arm = build(name, loaded, slots=settings.batch_size, max_tokens=longest + max_new_tokens)
        arm(pages[: settings.batch_size], min(_WARM_UP_TOKENS, max_new_tokens))
        wall_s, cpu_s, written = _timed(arm, pages, settings.batch_size, max_new_tokens)
        del arm  # the next one needs its memory
        expected = written if expected is None else expected
        measured.append({"name": name, **_arm(written, expected, wall_s, cpu_s)})
    return {
        "settings": asdict(settings),
        "arms": measured,
        "machine": _machine(device),
        "prompt_tokens": [len(page.embeds_LD) for page in pages],
        "max_new_tokens": max_new_tokens,
    }


def _arm(
    written: Sequence[Written], expected: Sequence[Written], wall_s: float, cpu_s: float
) -> dict[str, Any]:
    """Returns one arm's figures, prefill included. cpu_s: of all threads of this process.

    differs_at: for each page, the first token that differs from the first arm's; None where none does.
    """
    tokens = sum(len(page.tokens) for page in written)
    differs_at = [
        first_difference(page.tokens, other.tokens) for page, other in zip(written, expected, strict=True)
    ]
    return {
        "tokens": tokens,
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "differs_at": differs_at,
        "tokens_s": tokens / wall_s,
        "pages_differ": sum(place is not None for place in differs_at),
    }


def _lines(values: Mapping[str, Any]) -> Iterator[str]:
    """Yields the report's lines: what was measured and on which machine, then a row for every arm."""
    settings, lengths, (first, *others) = values["settings"], values["prompt_tokens"], values["arms"]
    yield told(values["machine"])
    shortest, longest = min(lengths), max(lengths)
    prompts = f"{longest}" if shortest == longest else f"{shortest} to {longest}"
    yield (
        f"model {settings['model']}, {settings['dtype']}; {len(lengths)} pages, "
        f"{min(settings['batch_size'], len(lengths))} at once; prompts of {prompts} tokens, at most "
        f"{values['max_new_tokens']} written"
    )
    yield cells(_WIDTHS, "Decode", "Tokens", "Wall s", "CPU s", "Tokens/s", "Speed")
    for arm in values["arms"]:
        yield cells(
            _WIDTHS,
            arm["name"],
            f"{arm['tokens']}",
            f"{arm['wall_s']:.2f}",
            f"{arm['cpu_s']:.2f}",
            f"{arm['tokens_s']:.1f}",
            f"{arm['tokens_s'] / first['tokens_s']:.2f}x",
        )
    for arm in others:
        yield f"{arm['name']}: {arm['pages_differ']} of {len(lengths)} pages differ from {first['name']}'s"


def first_difference(tokens: Sequence[int], others: Sequence[int]) -> int | None:
    """Returns the first index at which the sequences differ, the shorter one's end included; None if equal."""
    for place, (token, other) in enumerate(zip(tokens, others, strict=False)):
        if token != other:
            return place
    return None if len(tokens) == len(others) else min(len(tokens), len(others))


def _timed(
    arm: DecodeArm, pages: Sequence[PagePrompt], batch_size: int, max_new_tokens: int
) -> tuple[float, float, list[Written]]:
    """Returns wall seconds, CPU seconds, and the output, which arms return on the host: they wait for the device."""
    written: list[Written] = []
    start, cpu_start = time.perf_counter(), time.process_time()
    for batch in _batches(pages, batch_size):
        written += arm(batch, max_new_tokens)
    return time.perf_counter() - start, time.process_time() - cpu_start, written


def _batches(pages: Sequence[PagePrompt], size: int) -> Iterator[Sequence[PagePrompt]]:
    for start in range(0, len(pages), size):
        yield pages[start : start + size]


def _room(loaded: LoadedModel, pages: Sequence[PagePrompt], asked: int) -> int:
    positions = loaded.model.config.language.max_position_embeddings
    longest = max(len(page.embeds_LD) for page in pages)
    if longest >= positions:
        raise ConfigError(
            f"a prompt of {longest} tokens leaves no room among the model's {positions} positions; "
            "ask for fewer --prompt-tokens"
        )
    return min(asked, positions - longest)


def _machine(device: torch.device) -> dict[str, str]:
    on_cuda = device.type == "cuda"
    name = torch.cuda.get_device_name(device) if on_cuda else platform.processor() or platform.machine()
    return {"device": name, "threads": str(torch.get_num_threads()), "torch": torch.__version__}
