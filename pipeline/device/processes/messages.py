"""What a run and a model in a process of its own tell each other. All of it is pickled on its way."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pipeline.config.retry_steps import Step
from pipeline.device.tickets import LoadedOn, ReadOut
from pipeline.ingest.workers.shared_memory import Shared
from pipeline.meter import StageUse
from pipeline.stages.localize import Wording
from pipeline.types import PageError, PageResult

if TYPE_CHECKING:
    from encoders.graphs.stats import PathStats
    from pipeline.device.gpu_meter import GpuReading


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """To the model: begin to load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """To the model: read a page. number: of the ticket, for the answer. rendered: a RenderedPage."""

    number: int
    rendered: Shared
    step: Step | None
    is_urgent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """To the model: give up what is not read, say `Ended`, and end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """It is on its device. load_s: seconds that took. wording: what is needed to place what it writes."""

    on: LoadedOn
    load_s: float
    wording: Wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A stage takes pages from now on."""

    stage: Literal["encoder", "decoder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A page's views are not needed any longer."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A page has come to its end, without the views of what was read. decoded: tokens and steps of all pages so far."""

    number: int
    outcome: ReadOut | PageResult
    decoded: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Something for the log. level: logging's."""

    level: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It cannot go on. lost: the pages that were being computed then, by number."""

    error: BaseException
    lost: Mapping[int, PageError]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The last message. used: seconds of each stage in each state, as shares of one second."""

    capture_s: float
    encoder: "dict[str, PathStats] | None"
    used: list[StageUse]
    gpu: "GpuReading | None"


ToModel = Load | Read | Close
FromModel = Loaded | Opened | Dropped | Settled | Said | Failed | Ended
