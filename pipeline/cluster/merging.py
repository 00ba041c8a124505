"""Merges what a run's workers report at their ends."""

from collections.abc import Sequence
from functools import reduce

from pipeline.cluster.worker_messages import Report
from pipeline.meter import StageUse
from pipeline.run.ending import ModelFigures


def merged_stages(reports: Sequence[Report]) -> list[StageUse]:
    """Returns the workers' stages, each averaged over the time of all workers."""
    total_s = sum(report.wall_s for report in reports) or 1.0
    names = dict.fromkeys(
        stage.name for report in reports for stage in report.stages if stage.name != "store"
    )
    found = [(stage, report.wall_s) for report in reports for stage in report.stages]

    def mean(name: str, key: str) -> float:
        shares = (float(getattr(stage, key)) * wall_s for stage, wall_s in found if stage.name == name)
        return sum(shares) / total_s

    return [
        StageUse(name=name, **{key: mean(name, key) for key in ("busy", "waiting_input", "waiting_output")})
        for name in names
    ]


def merged_figures(reports: Sequence[Report]) -> ModelFigures:
    """Returns what all workers' models did: the longest loading, and the sums of what was written."""
    encoders = [report.encoder for report in reports if report.encoder is not None]
    paths = dict.fromkeys(name for its in encoders for name in its)
    merged = {
        name: reduce(lambda one, other: one.merge(other), [its[name] for its in encoders if name in its])
        for name in paths
    }
    busy = [report.gpu_busy for report in reports if report.gpu_busy is not None]
    return ModelFigures(
        load_s=max((report.load_s for report in reports), default=0.0),
        capture_s=max((report.capture_s for report in reports), default=0.0),
        num_tokens=sum(report.num_tokens for report in reports),
        num_steps=sum(report.num_steps for report in reports),
        gpu_busy=sum(busy) / len(busy) if busy else None,
        encoder={name: stats.summary() for name, stats in merged.items()} if encoders else None,
    )
