"""Prints times in the format of `vllm bench mm-processor`, so that its published figures can be compared with ours."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pipeline.bench.bench_figures import cells
from pipeline.bench.encoding.requests import EncoderRequest
from pipeline.reports.run_figures import encoder_lines

_WIDTH = 80
_WIDTHS = (28, 13)
_FORWARD = "encoder_forward"
Spread = dict[str, float]


def spread(values_s: Sequence[float], percentiles: Sequence[float] = (99.0,)) -> Spread:
    """Returns the distribution of times given in seconds, in milliseconds: mean, median, std, then percentiles."""
    times = np.asarray(values_s) * 1e3
    return {
        "mean": float(times.mean()),
        "median": float(np.median(times)),
        "std": float(times.std()),
        **{f"p{share:g}": float(np.percentile(times, share)) for share in percentiles},
    }


@dataclass(slots=True, kw_only=True)
class ArmTimes:
    """The times of one arm. stages: name -> seconds of every request. shares: seconds per page of each batch.

    waits: seconds for which each request waited for its batch, of requests that arrive by and by.
    """

    name: str
    percentiles: tuple[float, ...] = (99.0,)
    stages: dict[str, list[float]] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def add_batch(
        self, encoder_s: float, requests: Sequence[EncoderRequest], waits: Sequence[float] | None = None
    ) -> None:
        """Adds requests that were encoded together: each one's part is as large as the items that it has.

        waits: see there. Such a request has its tokens when its batch is done, so that all of this is its time.
        """
        share = encoder_s / sum(len(request.items) for request in requests)
        self.shares.append(share)
        self.waits.extend(waits or ())
        for request in requests:
            forward = share * len(request.items) if waits is None else encoder_s
            for stage, value in {**request.seconds, _FORWARD: forward}.items():
                self.stages.setdefault(stage, []).append(value)

    def values(self, calls: int, statistics: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arm's figures as JSON values: page_ms is the median over the batches, the others are spreads.

        They are of every stage, of all preprocessing, of the queue if there was one, of the encoder, and from end to
        end. calls: total forwards of the encoder. statistics: of the arm's graphs by path, empty for arms without any.
        """
        found = partial(spread, percentiles=self.percentiles)
        forward = self.stages[_FORWARD]
        before = {stage: times for stage, times in self.stages.items() if stage != _FORWARD}
        zeros = [0.0] * len(forward)
        preprocessing = [sum(times) for times in zip(*before.values(), strict=True)] or zeros
        return {
            "arm": self.name,
            "num_requests": len(forward),
            "num_encoder_calls": calls,
            "page_ms": float(np.median(self.shares)) * 1e3,
            "statistics": statistics,
            **{f"{stage}_ms": found(times) for stage, times in before.items()},
            "preprocessor_total_ms": found(preprocessing),
            **({"queueing_ms": found(self.waits)} if self.waits else {}),
            f"{_FORWARD}_ms": found(forward),
            "end_to_end_ms": found(
                [*map(sum, zip(preprocessing, self.waits or zeros, forward, strict=True))]
            ),
        }


def table(arm: Mapping[str, Any]) -> Iterator[str]:
    """Yields the lines of one arm's report. arm: ArmTimes.values."""
    yield "=" * _WIDTH
    yield f"Multimodal Processor Benchmark Result: {arm['arm']}".center(_WIDTH).rstrip()
    yield "=" * _WIDTH
    yield "MM Processor Metrics:"
    columns = [*map(_column, arm["end_to_end_ms"])]
    yield cells(_WIDTHS, "Stage", *columns)
    for stage, found in arm.items():
        if isinstance(found, dict) and "median" in found and stage != "end_to_end_ms":
            yield cells(_WIDTHS, stage, *_figures(found))
    yield f"Summary: {arm['num_encoder_calls']} total encoder calls across {arm['num_requests']} requests."
    yield ""
    yield "End-to-End Latency (ms):"
    yield cells(_WIDTHS, "", *columns)
    yield cells(_WIDTHS, "", *_figures(arm["end_to_end_ms"]))


def comparison(arms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the arms' encoder times side by side, and how much faster each is than the first."""
    first = arms[0]["encoder_forward_ms"]
    yield "=" * _WIDTH
    yield cells(_WIDTHS, "Encoder forward (ms)", "Mean", "Median", _column([*first][-1]), "Speed")
    for arm in arms:
        found = arm["encoder_forward_ms"]
        mean, median, *_, last = _figures(found)
        yield cells(_WIDTHS, arm["arm"], mean, median, last, f"{first['median'] / found['median']:.2f}x")


def paths(arms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields each arm's time per page, and the use of its graphs on each path."""
    yield "=" * _WIDTH
    yield cells(_WIDTHS, "Encoder a page (ms)", "Median", "Calls")
    for arm in arms:
        yield cells(_WIDTHS, arm["arm"], f"{arm['page_ms']:.2f}", f"{arm['num_encoder_calls']}")
    for arm in arms:
        for name, stats in arm["statistics"].items():
            yield ""
            told = [*encoder_lines({name: {**stats, "graph_mib": stats["graph_bytes"] / 2**20}})]
            for axis, sizes in stats["budgets"].items():
                if sizes:
                    unit = " px" if axis.isdigit() else ""
                    told.append(
                        f"graphs in use on {name} at {axis}{unit}, tokens: {', '.join(map(str, sizes))}"
                    )
            for line in told:
                yield from textwrap.wrap(f"{arm['arm']}, {line}", _WIDTH, subsequent_indent="  ")


def _figures(found: Spread) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in found.values())


def _column(name: str) -> str:
    return f"P{float(name[1:])}" if name[1:2].isdigit() else name.capitalize()
