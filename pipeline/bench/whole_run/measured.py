"""Defines the settings of `ocrbatch bench pipeline` and the run that it measured. Torch-free."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ocr.imaging.tiling import Mode
from pipeline.bench.host_meter import HostMeter
from pipeline.bench.whole_run.subject import Loader
from pipeline.bench.whole_run.track import Moment, PageTrack
from pipeline.config.schema import Config
from pipeline.config.sources import Layer, nest
from pipeline.device.sizes import decode_slots
from pipeline.reports.summary import RunSummary

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineBenchSettings:
    """The settings of `ocrbatch bench pipeline`.

    output_tokens: to write on every page, whatever it shows, where its family can be held to that, else at most; None
    lets the model end if its weights are not random.
    num_pages: how many to make by copying documents; None reads each document once. batch_size: pages decoded at once.
    generate_pages: how many to decode with transformers' `generate` too, after the run.
    """

    paths: tuple[str, ...]
    model: str = "small"
    device: str | None = None
    dtype: str | None = None
    mode: Mode | None = None
    batch_size: int | None = None
    output_tokens: int | None = None
    num_pages: int | None = None
    generate_pages: int = 0
    sets: tuple[str, ...] = ()

    def options(self) -> list[Layer]:
        """Returns the settings that are part of a run's configuration, each as a layer with its option's name."""
        named = {
            "--device": ("device", self.device),
            "--dtype": ("dtype", self.dtype),
            "--mode": ("tile.mode", self.mode),
            "--batch-size": ("decode.batch_size", self.batch_size),
        }
        return [(name, nest(key, value)) for name, (key, value) in named.items() if value is not None]


@dataclass(slots=True, kw_only=True)
class Measured:
    """A finished run. age_s: the process's age when the benchmark was entered; started, loaded: moments of the run.

    is_here: whether the model was in this process rather than in processes of its own.
    """

    config: Config
    summary: RunSummary
    track: PageTrack
    host: HostMeter
    loader: Loader
    age_s: float
    started: Moment
    loaded: Moment
    wall_s: float
    is_here: bool = True

    @property
    def model(self) -> "PageModel":
        """The model that the run used."""
        assert self.loader.loaded is not None, "pages were read"
        return self.loader.loaded

    @property
    def at_once(self) -> int:
        """The most pages decoded at once."""
        return decode_slots(self.config, self.model.device.type)
