"""Defines the messages between a run and its workers, which may be on other machines. All of them are pickled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.meter import StageUse
from pipeline.reports.durations import Durations
from pipeline.run.ending import ModelFigures


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
    """What a worker's reading came to. stages: shares of its wall_s. did: its models."""

    wall_s: float = 0.0
    stages: tuple[StageUse, ...] = ()
    did: ModelFigures = field(default_factory=ModelFigures)
    stored_after: Durations = field(default_factory=Durations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The worker has read all that it took, or was stopped."""

    report: Report


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


FromWorker = Asked | Finished | Failed


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
