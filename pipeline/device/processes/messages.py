"""Defines the messages between a run and a model in a process of its own. All of them are pickled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pipeline.config.retry_steps import Step
from pipeline.device.tickets import LoadedOn, ReadOut
from pipeline.ingest.workers.shared_memory import Shared
from pipeline.meter import StageUse
from pipeline.stages.localize import Wording
from pipeline.types import PageResult
from storage.types import PageError

if TYPE_CHECKING:
    from encoders.graphs.stats import PathStats
    from pipeline.device.gpu_meter import GpuReading


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Tells the model to begin to load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Tells the model to read a page. number: the ticket's, for the answer. rendered: a RenderedPage."""

    number: int
    rendered: Shared
    step: Step | None
    is_urgent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Tells the model to give up pages that are not read, send `Ended`, and end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Reports that the model is on its device. load_s: seconds of loading. wording: needed to place its output."""

    on: LoadedOn
    load_s: float
    wording: Wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Reports that a stage takes pages from now on."""

    stage: Literal["encoder", "decoder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Reports that a page's views are no longer needed."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Reports a page's outcome, without its views. decoded: tokens and steps of all pages so far."""

    number: int
    outcome: ReadOut | PageResult
    decoded: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Hands on a log message. level: logging's."""

    level: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Reports that the model cannot go on. lost: failures of the pages that were being computed, by number."""

    error: BaseException
    lost: Mapping[int, PageError]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Reports the end of the process, as its last message. used: seconds of each stage, as shares of one second."""

    capture_s: float
    encoder: "dict[str, PathStats] | None"
    used: list[StageUse]
    gpu: "GpuReading | None"


ToModel = Load | Read | Close
FromModel = Loaded | Opened | Dropped | Settled | Said | Failed | Ended
