"""Runs `ocrbatch bench decode` from its options and prints its report. Imports torch only to run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pipeline.device.startup.loading import calm_threads, choose_device, choose_dtype
from pipeline.errors import ConfigError

if TYPE_CHECKING:
    from pipeline.bench.generation.decode_bench import DecodeBenchResult

_WIDTHS = (12, 9, 10, 10, 11, 9, 9, 9)


def run(
    *, device: str, dtype: str, arms: str | None, pages: str | None, **settings: Any
) -> "DecodeBenchResult":
    """Measures on the device and in the dtype that a run would choose.

    arms: None takes all that can be measured: drafts need pages, the paged engine CUDA and bfloat16.
    Raises: CheckpointError, ConfigError.
    """
    calm_threads()
    from pipeline.bench.generation.decode_arms import DECODE_ARMS
    from pipeline.bench.generation.decode_bench import DecodeBenchSettings, bench

    chosen = choose_device(device)
    number_format = choose_dtype(dtype, chosen)
    useless = {"drafts"} if pages is None else set()
    if (chosen, number_format) != ("cuda", "bfloat16"):
        useless.add("paged")
    return bench(
        DecodeBenchSettings(
            device=chosen,
            dtype=number_format,
            arms=_names(arms, DECODE_ARMS, useless, pages),
            pages=pages,
            **settings,
        )
    )


def _names(arms: str | None, known: tuple[str, ...], useless: set[str], pages: str | None) -> tuple[str, ...]:
    if arms is None:
        return tuple(name for name in known if name not in useless)
    names = tuple(name.strip() for name in arms.split(","))
    if unknown := set(names) - set(known):
        raise ConfigError(f"--arms {arms}: there is no {min(unknown)!r}; choose from {', '.join(known)}")
    if "drafts" in names and pages is None:
        raise ConfigError(f"--arms {arms}: random prompts have no text to draft; name a folder with --pages")
    return names


def lines(result: "DecodeBenchResult") -> Iterator[str]:
    """Yields the report's lines: what was measured and on which machine, then a row for every arm."""
    settings, lengths = result.settings, result.prompt_tokens
    together = min(settings.batch_size, len(lengths))
    yield ", ".join(f"{key} {value}" for key, value in result.machine.items())
    shortest, longest = min(lengths), max(lengths)
    prompts = f"{longest}" if shortest == longest else f"{shortest} to {longest}"
    yield (
        f"model {settings.model}, {settings.dtype}; {len(lengths)} pages, {together} at once; "
        f"prompts of {prompts} tokens, at most {result.max_new_tokens} written"
    )
    yield _row("Decode", "Tokens", "Wall s", "CPU s", "Tokens/s", "Speed", "Steps", "A step")
    for arm in result.arms:
        yield _row(
            arm.name,
            f"{arm.tokens}",
            f"{arm.wall_s:.2f}",
            f"{arm.cpu_s:.2f}",
            f"{arm.tokens_s:.1f}",
            f"{arm.tokens_s / result.arms[0].tokens_s:.2f}x",
            f"{arm.steps}",
            f"{arm.tokens_a_step:.2f}",
        )
    for arm in result.arms[1:]:
        yield f"{arm.name}: {arm.num_differ} of {len(lengths)} pages differ from {result.arms[0].name}'s"


def _row(name: str, *cells: str) -> str:
    return f"{name:<{_WIDTHS[0]}}" + "".join(
        f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS[1:], strict=True)
    )
