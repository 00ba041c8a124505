"""Runs `ocrbatch bench encoder --ranks` from its options and prints its report. Imports torch only to run."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipeline.bench.encoding.encoder_report import settings_of

if TYPE_CHECKING:
    from pipeline.bench.ranks.rank_bench import RankResult


def run(*, ranks: int, device: str, **options: Any) -> "RankResult":
    """Measures with the options of `ocrbatch bench encoder`; on a CPU only where that is asked for.

    Raises: CheckpointError, ConfigError.
    """
    settings = settings_of(device=device, **options)
    if device == "auto" and settings.device == "cpu":
        settings = replace(settings, device="cuda")  # refused, as there is none
    from pipeline.bench.ranks.rank_launch import bench

    return bench(settings, ranks)


def lines(result: "RankResult") -> Iterator[str]:
    """Yields the report's lines: the times, and whether the results are those of one rank."""
    yield ", ".join(f"{key} {value}" for key, value in result.machine.items())
    shares = ", ".join(map(str, result.shares))
    yield f"arm {result.arm}, {result.ranks} ranks; the first batch's views, slices or pages on each: {shares}"
    yield (
        f"a batch, median: one rank {result.alone_ms:.2f} ms, {result.ranks} ranks {result.shared_ms:.2f} ms: "
        f"{result.speed_up:.2f} times as fast"
    )
    yield (
        f"{result.num_same_bits} of {result.num_pages} pages have the bits of one rank's; the largest relative "
        f"difference of a page is {result.largest_error:.1e}"
    )
    if not result.is_same_everywhere:
        yield "WRONG: the ranks did not gather the same tokens"
