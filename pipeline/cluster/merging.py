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
    all_ = [report.did for report in reports]
    encoders = [did.encoder for did in all_ if did.encoder is not None]
    paths = dict.fromkeys(name for its in encoders for name in its)
    busy = [did.gpu_busy for did in all_ if did.gpu_busy is not None]
    return ModelFigures(
        load_s=max((did.load_s for did in all_), default=0.0),
        capture_s=max((did.capture_s for did in all_), default=0.0),
        num_tokens=sum(did.num_tokens for did in all_),
        num_steps=sum(did.num_steps for did in all_),
        gpu_busy=sum(busy) / len(busy) if busy else None,
        encoder={
            name: reduce(lambda one, other: one.merge(other), [its[name] for its in encoders if name in its])
            for name in paths
        }
        if encoders
        else None,
    )
