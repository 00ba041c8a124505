"""Implements `ocrbatch bench decode`: times decoding arm by arm, each warmed up, in one process."""

import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from ocr.checkpoints.checkpoint import LoadedModel
from pipeline.bench.generation.decode_arms import DECODE_ARMS, DecodeArm, Written, build, load
from pipeline.bench.generation.page_prompts import PagePrompt, page_prompts, random_prompts
from pipeline.errors import ConfigError

_WARM_UP_TOKENS = 8


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmDecode:
    """The times of one arm, prefill included. tokens: written on all pages. cpu_s: of all threads of this process.

    steps: forwards after the prefill, each counted once for every unfinished page in it. stepped: the tokens from these
    steps, ends of text included.
    differs_at: for each page, the first token that differs from the first arm's; None where none does.
    """

    name: str
    tokens: int
    wall_s: float
    cpu_s: float
    steps: int
    stepped: int
    differs_at: tuple[int | None, ...]

    @property
    def tokens_s(self) -> float:
        """The tokens per second."""
        return self.tokens / self.wall_s

    @property
    def tokens_a_step(self) -> float:
        """The tokens per step: 1 without drafts, NaN where the prefill was enough."""
        return self.stepped / self.steps if self.steps else float("nan")

    @property
    def num_differ(self) -> int:
        """The number of pages whose text differs from the first arm's."""
        return sum(place is not None for place in self.differs_at)

    def to_json(self) -> dict[str, Any]:
        """Returns the arm's figures as JSON values."""
        derived = {
            "tokens_s": self.tokens_s, "tokens_a_step": self.tokens_a_step, "pages_differ": self.num_differ,
        }  # fmt: skip
        return asdict(self) | derived


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeBenchResult:
    """The result of `ocrbatch bench decode`. max_new_tokens: the settings', limited by the model's positions.

    prompt_tokens: of each page.
    """

    settings: DecodeBenchSettings
    arms: tuple[ArmDecode, ...]
    machine: dict[str, str]
    prompt_tokens: tuple[int, ...]
    max_new_tokens: int

    def to_json(self) -> dict[str, Any]:
        """Returns the result as JSON values."""
        return asdict(self) | {"arms": [arm.to_json() for arm in self.arms]}


@torch.inference_mode()
def bench(settings: DecodeBenchSettings) -> DecodeBenchResult:
    """Measures every arm on the same pages. Raises: CheckpointError, ConfigError."""
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
    measured: list[ArmDecode] = []
    expected: list[Written] | None = None
    for name in settings.arms:
        arm = build(name, loaded, slots=settings.batch_size, max_tokens=longest + max_new_tokens)
        arm(pages[: settings.batch_size], min(_WARM_UP_TOKENS, max_new_tokens))
        wall_s, cpu_s, written = _timed(arm, pages, settings.batch_size, max_new_tokens)
        del arm  # the next one needs its memory
        expected = written if expected is None else expected
        measured.append(
            ArmDecode(
                name=name,
                tokens=sum(len(page.tokens) for page in written),
                wall_s=wall_s,
                cpu_s=cpu_s,
                steps=sum(page.steps for page in written),
                stepped=sum(page.num_stepped for page in written),
                differs_at=tuple(
                    first_difference(page.tokens, other.tokens)
                    for page, other in zip(written, expected, strict=True)
                ),
            )
        )
    return DecodeBenchResult(
        settings=settings,
        arms=tuple(measured),
        machine=_machine(device),
        prompt_tokens=tuple(len(page.embeds_LD) for page in pages),
        max_new_tokens=max_new_tokens,
    )


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
