"""Implements `ocrbatch bench decode`: times decoding arm by arm, each warmed up, in one process."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import ne
from typing import Any

import torch

from ocr.checkpoints.checkpoint import LoadedModel
from pipeline.bench.bench_figures import Figures, cells, known
from pipeline.bench.generation.decode_arms import (
    DECODE_ARMS,
    DecodeArm,
    PagePrompt,
    Tokens,
    build,
    load,
    page_prompts,
    random_prompts,
)
from pipeline.bench.machine import describe, machine_line
from pipeline.device.startup.loading import choose_device, choose_dtype
from pipeline.errors import ConfigError

_WARM_UP_TOKENS = 8
_WIDTHS = (12, 9, 10, 10, 11, 9)


def run(*, device: str, dtype: str, arms: str | None, pages: str | None, **options: Any) -> Figures:
    """Measures every arm on the same pages, on the device and in the dtype that a run would choose.

    arms: None takes all that can be measured: the paged engine needs CUDA and bfloat16. pages: a folder;
    None draws random prompts of prompt_tokens, which do not end before max_new_tokens. batch_size: pages decoded
    together. cpu_s: of all threads of this process, prefill included, as in wall_s; pages_differ: from the first arm's.
    Others are the limit on new tokens within the model's positions, and each prompt's length.
    options: the command's others: model, num_pages, batch_size, prompt_tokens, max_new_tokens.
    Raises: CheckpointError, ConfigError.
    """
    device, dtype = (chosen := choose_device(device)), choose_dtype(dtype, chosen)
    if arms is not None:
        names = known("--arms", arms, DECODE_ARMS)
    else:
        useless = set() if (device, dtype) == ("cuda", "bfloat16") else {"paged"}
        names = tuple(name for name in DECODE_ARMS if name not in useless)
    settings = options | {"device": device, "dtype": dtype, "arms": names, "pages": pages}
    batch_size = options["batch_size"]
    with torch.inference_mode():
        loaded = load(options["model"], torch.device(device), getattr(torch, dtype))
        if pages is None:
            # No token has this id, so that every page runs to its token limit.
            loaded = replace(loaded, eos_id=loaded.model.config.language.vocab_size)
            prompts = random_prompts(loaded, options["num_pages"], options["prompt_tokens"])
        else:
            prompts = page_prompts(loaded, pages, options["num_pages"])
        most = _room(loaded, prompts, options["max_new_tokens"])
        longest = max(len(page.embeds_LD) for page in prompts)
        measured: list[dict[str, Any]] = []
        expected: list[Tokens] = []
        for name in names:
            arm = build(name, loaded, slots=batch_size, max_tokens=longest + most)
            wall_s, cpu_s, written = _timed(arm, prompts, batch_size, most)
            del arm  # the next one needs its memory
            expected = expected or written
            tokens = sum(map(len, written))
            measured.append(
                {
                    "name": name,
                    "tokens": tokens,
                    "wall_s": wall_s,
                    "cpu_s": cpu_s,
                    "tokens_s": tokens / wall_s,
                    "pages_differ": sum(map(ne, written, expected)),
                }
            )
    values = {
        "settings": settings,
        "arms": measured,
        "machine": describe(torch.device(device)),
        "prompt_tokens": [len(page.embeds_LD) for page in prompts],
        "max_new_tokens": most,
    }
    return Figures(values=values, lines=tuple(_lines(values)))


def _lines(values: Mapping[str, Any]) -> Iterator[str]:
    """Yields the report's lines: what was measured and on which machine, then a row for every arm."""
    settings, lengths, (first, *others) = values["settings"], values["prompt_tokens"], values["arms"]
    yield machine_line(values["machine"])
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


def _timed(
    arm: DecodeArm, pages: Sequence[PagePrompt], batch_size: int, max_new_tokens: int
) -> tuple[float, float, list[Tokens]]:
    """Returns wall seconds, CPU seconds, and the output, once the arm is warmed up.

    Arms return the output on the host: they wait for the device.
    """
    arm(pages[:batch_size], min(_WARM_UP_TOKENS, max_new_tokens))
    written: list[Tokens] = []
    start, cpu_start = time.perf_counter(), time.process_time()
    for place in range(0, len(pages), batch_size):
        written += arm(pages[place : place + batch_size], max_new_tokens)
    return time.perf_counter() - start, time.process_time() - cpu_start, written


def _room(loaded: LoadedModel, pages: Sequence[PagePrompt], asked: int) -> int:
    positions = loaded.model.config.language.max_position_embeddings
    longest = max(len(page.embeds_LD) for page in pages)
    if longest >= positions:
        raise ConfigError(
            f"a prompt of {longest} tokens leaves no room among the model's {positions} positions; "
            "ask for fewer --prompt-tokens"
        )
    return min(asked, positions - longest)
