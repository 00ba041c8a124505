"""Defines the messages between a run and its workers, which may be on other machines. All of them are pickled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.ingest.found import Candidate
from pipeline.meter import StageUse
from pipeline.reports.durations import Durations
from pipeline.run.ending import ModelFigures
from pipeline.types import Document, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """Asks for files to read: at most so many `Found`; none means that there are no more."""

    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Asks for the `Document` of a file that has not changed since a run looked into it; None where it is not known."""

    found: Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Asks to record a document, and for the `PagePlan` of its pages."""

    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Asks to run task(store, ...), for its result."""

    task: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Asks whether a page (sha256, page_index) whose turn has come is still this worker's to read."""

    page: tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Asks to mark pages (sha256, page_index) as being read. alone: the worker reads nothing else."""

    pages: tuple[tuple[str, int], ...]
    alone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EndMarks:
    """Asks to remove the marks of all pages that the worker began: it ends in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The worker's first message. where: its machine, and its GPU if it has one of its own."""

    where: str


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
class AtWork:
    """Reports what the worker does, and the tokens that it wrote so far."""

    phase: Phase
    num_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message of the worker for its user."""

    level: int
    message: str


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


Request = (
    Take | Known | Plan | Claim | Call | Begin | EndMarks | Started | LoadedOn | AtWork | Said | Finished
) | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A worker's message. number: of the answer that it waits for; None where it waits for none."""

    number: int | None
    request: Request


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
