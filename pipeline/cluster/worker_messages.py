"""Defines the messages between a run and its workers, which may be on other machines. All of them are pickled.

What all workers report at their ends is merged here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from encoders.graphs.stats import merged
from pipeline.meter import StageUse
from pipeline.reports.summary import ModelFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedOn:
    """A worker's model was just loaded. device: "cuda" or "cpu". gpu: the driver's name of it, "GPU-...", if known.

    imported_at, loaded_at: time.perf_counter() when its libraries were imported and when the model was loaded.
    """

    device: str
    gpu: str | None
    imported_at: float
    loaded_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a worker's reading came to, once it has read all that it took or was stopped.

    stages: shares of its wall_s. did: its models.
    """

    wall_s: float = 0.0
    stages: tuple[StageUse, ...] = ()
    did: ModelFigures = field(default_factory=ModelFigures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The worker cannot go on."""

    error: BaseException


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a worker asks of its run. ask: the method of RequestHandler that answers it, with args and kwargs.

    number: of the answer that it waits for; None where it waits for none.
    """

    number: int | None
    ask: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


FromWorker = Asked | Report | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a message, a value or an error."""

    number: int
    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StopNow:
    """Tells a worker to store what is read, and end."""

    reason: str


ToWorker = Answer | StopNow


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
    busy = [did.gpu_busy for did in all_ if did.gpu_busy is not None]
    return ModelFigures(
        load_s=max((did.load_s for did in all_), default=0.0),
        capture_s=max((did.capture_s for did in all_), default=0.0),
        num_tokens=sum(did.num_tokens for did in all_),
        gpu_busy=sum(busy) / len(busy) if busy else None,
        encoder=merged(did.encoder for did in all_ if did.encoder is not None) or None,
        read_on=next((did.read_on for did in all_ if did.read_on), ""),
    )
