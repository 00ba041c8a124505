"""Prints times in the format of `vllm bench mm-processor`, so that its published figures can be compared with ours."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

_WIDTH = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The distribution of a stage's times over the requests, in milliseconds."""

    mean: float
    median: float
    std: float
    p99: float

    @classmethod
    def of(cls, values_s: Sequence[float]) -> "Spread":
        """Returns the distribution of times given in seconds."""
        times = np.asarray(values_s) * 1e3
        return cls(
            mean=float(times.mean()),
            median=float(np.median(times)),
            std=float(times.std()),
            p99=float(np.percentile(times, 99)),
        )


@dataclass(slots=True, kw_only=True)
class ArmTimes:
    """The times of one arm. stages: name -> seconds of every request; calls: total forwards of the encoder.

    shares: seconds per page of each batch. statistics: of the arm's graphs by path, empty for arms without any.
    """

    name: str
    stages: dict[str, list[float]] = field(default_factory=dict)
    calls: int = 0
    shares: list[float] = field(default_factory=list)
    statistics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def add(self, seconds: Mapping[str, float]) -> None:
        """Adds the times of one request."""
        for stage, value in seconds.items():
            self.stages.setdefault(stage, []).append(value)

    def add_batch(self, encoder_s: float, requests: Sequence[Mapping[str, float]]) -> None:
        """Adds requests that were encoded together. requests: seconds of each one's earlier stages."""
        share = encoder_s / len(requests)
        self.shares.append(share)
        for seconds in requests:
            self.add({**seconds, "encoder_forward": share})

    @property
    def page_ms(self) -> float:
        """The milliseconds per page: the median over the batches."""
        return float(np.median(self.shares)) * 1e3 if self.shares else float("nan")

    @property
    def num_requests(self) -> int:
        """The number of requests that were encoded."""
        return len(self.stages.get("encoder_forward", ()))

    def spreads(self) -> dict[str, Spread]:
        """Returns the spreads of every stage, of all preprocessing, of the encoder, and from end to end."""
        before = {stage: times for stage, times in self.stages.items() if stage != "encoder_forward"}
        forward = self.stages["encoder_forward"]
        preprocessing = [sum(times) for times in zip(*before.values(), strict=True)] or [0.0] * len(forward)
        rows = {f"{stage}_ms": Spread.of(times) for stage, times in before.items()}
        rows["preprocessor_total_ms"] = Spread.of(preprocessing)
        rows["encoder_forward_ms"] = Spread.of(forward)
        rows["end_to_end_ms"] = Spread.of([a + b for a, b in zip(preprocessing, forward, strict=True)])
        return rows

    def to_json(self) -> dict[str, Any]:
        """Returns the arm's figures as JSON values."""
        return {
            "arm": self.name,
            "num_requests": self.num_requests,
            "num_encoder_calls": self.calls,
            "page_ms": self.page_ms,
            "statistics": {name: dict(stats) for name, stats in self.statistics.items()},
            **{stage: asdict(spread) for stage, spread in self.spreads().items()},
        }


def table(arm: ArmTimes) -> Iterator[str]:
    """Yields the lines of one arm's report."""
    rows = arm.spreads()
    end_to_end = rows.pop("end_to_end_ms")
    yield "=" * _WIDTH
    yield f"Multimodal Processor Benchmark Result: {arm.name}".center(_WIDTH).rstrip()
    yield "=" * _WIDTH
    yield "MM Processor Metrics:"
    yield _row("Stage", "Mean", "Median", "Std", "P99.0")
    for stage, spread in rows.items():
        yield _row(stage, *_figures(spread))
    yield f"Summary: {arm.calls} total encoder calls across {arm.num_requests} requests."
    yield ""
    yield "End-to-End Latency (ms):"
    yield _row("", "Mean", "Median", "Std", "P99.0")
    yield _row("", *_figures(end_to_end))


def comparison(arms: Sequence[ArmTimes]) -> Iterator[str]:
    """Yields the arms' encoder times side by side, and how much faster each is than the first."""
    first = arms[0].spreads()["encoder_forward_ms"].median
    yield "=" * _WIDTH
    yield _row("Encoder forward (ms)", "Mean", "Median", "P99.0", "Speed")
    for arm in arms:
        found = arm.spreads()["encoder_forward_ms"]
        yield _row(
            arm.name,
            f"{found.mean:.2f}",
            f"{found.median:.2f}",
            f"{found.p99:.2f}",
            f"{first / found.median:.2f}x",
        )


def paths(arms: Sequence[ArmTimes]) -> Iterator[str]:
    """Yields each arm's time per page, and the use of its graphs on each path."""
    yield "=" * _WIDTH
    yield _row("Encoder a page (ms)", "Median", "Calls")
    for arm in arms:
        yield _row(arm.name, f"{arm.page_ms:.2f}", f"{arm.calls}")
    for arm in arms:
        for name, stats in arm.statistics.items():
            yield from _path(f"{arm.name}, path {name}", stats)


def _path(label: str, stats: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield _row(label, "Hits", "Misses", "Eager", "Padding")
    units = [str(stats[key]) for key in ("hits", "misses", "eager")]
    yield _row("Views", *units, f"{stats['padding_share']:.1%}")
    yield _row("", "Replays", "Eager", "Capture s", "MB")
    yield _row(
        "Batches, graphs",
        str(stats["replays"]),
        str(stats["eager_batches"]),
        f"{stats['capture_seconds']:.2f}",
        f"{stats['graph_bytes'] / 1e6:.0f}",
    )
    unit = " px" if stats.get("axes_are_px", True) else ""
    for axis, sizes in stats["budgets"].items():
        if sizes:
            yield from _wrapped(f"Graphs in use at {axis}{unit}, tokens:", sizes)


def _wrapped(label: str, sizes: Sequence[int]) -> list[str]:
    return textwrap.wrap(f"{label} {', '.join(map(str, sizes))}", _WIDTH, subsequent_indent="  ")


def _figures(spread: Spread) -> tuple[str, str, str, str]:
    return f"{spread.mean:.2f}", f"{spread.median:.2f}", f"{spread.std:.2f}", f"{spread.p99:.2f}"


def _row(name: str, *cells: str) -> str:
    return f"{name:<28}" + "".join(f"{cell:>13}" for cell in cells)
