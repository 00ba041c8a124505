"""Implements `ocrbatch bench pipeline`: times a whole run from files to rows, as `ocrbatch run` makes it.

It imports nothing heavy before the run and measures the machine's own rates after it, so that the run starts as cold as
any other.
"""

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.bench.bench_figures import Figures
from pipeline.bench.host_meter import HostMeter, process_age_s
from pipeline.bench.model_names import RANDOM_OUTPUT_TOKENS
from pipeline.bench.real_pages import copy_pages
from pipeline.bench.whole_run.subject import Loader, Subject, bench_config
from pipeline.bench.whole_run.track import Measured, PageTrack, PipelineBenchSettings
from pipeline.cluster import choose
from pipeline.cluster.worker_messages import LoadedOn
from pipeline.device.gpu_meter import GpuMeter
from pipeline.device.startup.loading import num_replicas
from pipeline.errors import ConfigError
from pipeline.stop import Stop, stop_on_signals

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel


def run(settings: PipelineBenchSettings) -> Figures:
    """Measures one run. Raises: CheckpointError, ConfigError, and any error that ends a run."""
    age_s = process_age_s()
    with tempfile.TemporaryDirectory(prefix="ocrbatch-bench-") as name:
        folder = Path(name)
        paths = list(settings.paths)
        if settings.num_pages is not None:
            (folder / "pages").mkdir()
            copy_pages(paths, settings.num_pages, folder / "pages")
            paths = [str(folder / "pages")]
        measured = _run(settings, paths, folder, age_s)
        # Imported only now, as it imports torch.
        from pipeline.bench.whole_run.run_result import lines, values_of

        values = values_of(settings, measured, paths)
        return Figures(values=values, lines=tuple(lines(values)))


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

        def loaded(model: "PageModel") -> None:
            track.gpu = measuring.enter_context(GpuMeter(model.device))
            moments.append(track.moment())

        def loaded_there(on: LoadedOn) -> None:
            if len(moments) > 1:  # the first of several
                return
            track.gpu = measuring.enter_context(GpuMeter(on.gpu))
            loader.imported_at_s, loader.loaded_at_s = on.imported_at, on.loaded_at
            moments.append(track.moment())

        loader = Loader(subject, output_tokens=output_tokens, then=loaded)
        is_here = subject.is_random or output_tokens is not None or num_replicas(config) == 1
        stop = Stop()
        with stop_on_signals(stop, config.run.time_limit_s):
            load = loader if is_here else None
            summary = choose.run(config, track, stop, load, loaded_there)
        wall_s = time.perf_counter() - started.at_s
    if not is_here and track.num_read:
        loader.loaded = subject.load(config)  # for its configuration and dtype
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
