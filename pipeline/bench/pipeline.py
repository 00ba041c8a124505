"""`ocrbatch bench pipeline`: a whole run from files to rows, as `ocrbatch run` makes it, timed from outside.

Before it nothing heavy is imported, and after it the machine's own rates are measured, so that the run starts as cold
as any.
"""

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ocr.tiling import Mode
from pipeline import runner
from pipeline.bench.copies import copy_pages
from pipeline.bench.host import HostMeter, process_age_s
from pipeline.bench.subject import RANDOM_OUTPUT_TOKENS, Loader, Subject, bench_config
from pipeline.bench.track import Moment, PageTrack
from pipeline.config import Config
from pipeline.config_sources import Layer, nest
from pipeline.errors import ConfigError
from pipeline.flow.sizes import decode_slots
from pipeline.flow.types import LoadedOn
from pipeline.gpu_meter import GpuMeter
from pipeline.loading import num_replicas
from pipeline.stop import Stop, stop_on_signals
from pipeline.summary import RunSummary

if TYPE_CHECKING:
    from ocr.checkpoint import LoadedModel
    from pipeline.bench.pipeline_result import PipelineBenchResult


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineBenchSettings:
    """What `ocrbatch bench pipeline` was asked for.

    output_tokens: of every page, whatever it shows; None leaves the end to the model, if its weights are not random.
    num_pages: so many are made of the documents; None reads each of them once. batch_size: pages decoded at once.
    generate_pages: read by transformers' `generate` as well, after the run.
    """

    paths: tuple[str, ...]
    model: str = "small"
    device: str | None = None
    dtype: str | None = None
    mode: Mode | None = None
    drafts: bool | None = None
    batch_size: int | None = None
    output_tokens: int | None = None
    num_pages: int | None = None
    generate_pages: int = 0
    sets: tuple[str, ...] = ()

    def options(self) -> list[Layer]:
        """Those that are a run's configuration, each under its own name."""
        named = {
            "--device": ("device", self.device),
            "--dtype": ("dtype", self.dtype),
            "--mode": ("tile.mode", self.mode),
            "--drafts": ("decode.drafts", self.drafts),
            "--batch-size": ("decode.batch_size", self.batch_size),
        }
        return [(name, nest(key, value)) for name, (key, value) in named.items() if value is not None]


@dataclass(slots=True, kw_only=True)
class Measured:
    """A run that is over. age_s: of the process when the benchmark was entered; started, loaded: moments of the run.

    is_here: whether the model was in this process, rather than in some of its own.
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
    def model(self) -> "LoadedModel":
        assert self.loader.loaded is not None, "pages were read"
        return self.loader.loaded

    @property
    def at_once(self) -> int:
        """Pages decoded at once, at most."""
        return decode_slots(self.config, self.model.model.device.type)


def bench(settings: PipelineBenchSettings) -> "PipelineBenchResult":
    """Measures one run. Raises: CheckpointError, ConfigError, and whatever ends a run."""
    age_s = process_age_s()
    with tempfile.TemporaryDirectory(prefix="ocrbatch-bench-") as name:
        folder = Path(name)
        paths = list(settings.paths)
        if settings.num_pages is not None:
            (folder / "pages").mkdir()
            copy_pages(paths, settings.num_pages, folder / "pages")
            paths = [str(folder / "pages")]
        measured = _run(settings, paths, folder, age_s)
        # Only now, as it imports torch.
        from pipeline.bench.pipeline_result import result_of

        return result_of(settings, measured, paths)


def _run(settings: PipelineBenchSettings, paths: Sequence[str], folder: Path, age_s: float) -> Measured:
    subject = Subject(settings.model, folder / "model")
    output_tokens = settings.output_tokens
    if output_tokens is None and subject.is_random:
        output_tokens = RANDOM_OUTPUT_TOKENS
    config = bench_config(
        subject,
        paths,
        folder / "results.db",
        output_tokens=output_tokens,
        sets=settings.sets,
        options=settings.options(),
    )
    with HostMeter() as host, ExitStack() as measuring:
        track = PageTrack(host)
        started = track.moment()
        moments = [started]

        def loaded(model: "LoadedModel") -> None:
            track.gpu = measuring.enter_context(GpuMeter(model.model.device))
            moments.append(track.moment())

        def loaded_there(on: LoadedOn) -> None:
            track.gpu = measuring.enter_context(GpuMeter(on.gpu))
            loader.imported_at_s, loader.loaded_at_s = on.imported_at, on.loaded_at
            moments.append(track.moment())

        loader = Loader(subject, endless=output_tokens is not None, then=loaded)
        is_here = subject.is_random or output_tokens is not None or num_replicas(config) == 1
        stop = Stop()
        with stop_on_signals(stop, config.run.time_limit_s):
            load = loader if is_here else None
            summary = runner.run(config, track, stop, load, when_loaded=loaded_there)
        wall_s = time.perf_counter() - started.at_s
    if not is_here and track.num_read:
        loader.loaded = subject.load(config)  # for what is to be known of it
    if not track.num_read or loader.loaded is None:
        raise ConfigError(
            f"{', '.join(settings.paths)}: no page was read; name PDFs or images that show something"
        )
    return Measured(
        config=config,
        summary=summary,
        track=track,
        host=host,
        loader=loader,
        age_s=age_s,
        started=started,
        loaded=moments[-1],
        wall_s=wall_s,
        is_here=is_here,
    )
