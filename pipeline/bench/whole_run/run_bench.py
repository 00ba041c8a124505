"""Implements `ocrbatch bench pipeline`: times a whole run from files to rows, as `ocrbatch run` makes it.

It imports nothing heavy before the run and measures the machine's own rates after it, so that the run starts as cold as
any other.
"""

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.bench.bench_figures import RANDOM_OUTPUT_TOKENS, Figures
from pipeline.bench.host_meter import HostMeter, process_age_s
from pipeline.bench.real_pages import copy_pages
from pipeline.bench.whole_run.subject import Subject, bench_config
from pipeline.bench.whole_run.track import Measured, PageTrack
from pipeline.cluster.choose import backend
from pipeline.cluster.worker_messages import LoadedOn
from pipeline.config.sources import nest
from pipeline.device.gpu_meter import GpuMeter
from pipeline.errors import ConfigError
from pipeline.stop import Stop, stop_on_signals

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel

# Options that are keys of a run's configuration.
_KEYS = {"device": "device", "dtype": "dtype", "mode": "tile.mode", "batch_size": "decode.batch_size"}


def run(
    *, paths: Sequence[str], model: str = "random", num_pages: int | None = None, **options: Any
) -> Figures:
    """Measures one run. Raises: CheckpointError, ConfigError, and any error that ends a run.

    num_pages: how many to make by copying documents; None reads each document once. options: the command's others. Of
    them output_tokens are written on every page, whatever it shows, where its family can be held to that, else at most;
    None lets the model end if its weights are not random.
    """
    age_s = process_age_s()
    settings: dict[str, Any] = {"paths": paths, "model": model, "num_pages": num_pages, **options}
    with tempfile.TemporaryDirectory(prefix="ocrbatch-bench-") as name:
        folder = Path(name)
        if num_pages is not None:
            (folder / "pages").mkdir()
            copy_pages(paths, num_pages, folder / "pages")
            paths = [str(folder / "pages")]
        measured = _run(paths, model, folder, age_s, **options)
        if measured is None:
            named = ", ".join(settings["paths"])
            raise ConfigError(f"{named}: no page was read; name PDFs or images that show something")
        # Imported only now, as it imports torch.
        from pipeline.bench.whole_run.run_result import lines, values_of

        values = {"settings": settings, **values_of(measured)}
        return Figures(values=values, lines=tuple(lines(values)))


def _run(
    paths: Sequence[str],
    model: str,
    folder: Path,
    age_s: float,
    *,
    output_tokens: int | None = None,
    sets: Sequence[str] = (),
    **keys: Any,
) -> Measured | None:
    """Returns what was measured; None where no page was read."""
    subject = Subject(model, folder / "model")
    most = RANDOM_OUTPUT_TOKENS if output_tokens is None and subject.is_random else output_tokens
    config = bench_config(
        subject,
        paths,
        folder / "results.db",
        output_tokens=most,
        sets=sets,
        options=[
            (f"--{name.replace('_', '-')}", nest(key, keys[name]))
            for name, key in _KEYS.items()
            if keys.get(name) is not None
        ],
    )
    is_bounded = subject.is_random or most is not None
    if is_bounded and (config.cluster.address is not None or config.cluster.workers not in (None, 1)):
        raise ConfigError(
            "cluster.workers: a model with random weights or --output-tokens runs in one process"
        )
    workers = None if is_bounded else backend(config)
    with HostMeter() as host, ExitStack() as measuring:
        track = PageTrack(host)
        started = track.moment()
        moments = [started]

        def loaded(made: "PageModel") -> None:
            from pipeline.device.threads.streams import gpu_name

            track.gpu = measuring.enter_context(GpuMeter(gpu_name(made.device)))
            moments.append(track.moment())

        def loaded_there(on: LoadedOn) -> None:
            if len(moments) > 1:  # the first of several
                return
            track.gpu = measuring.enter_context(GpuMeter(on.gpu))
            subject.imported_at_s, subject.loaded_at_s = on.imported_at, on.loaded_at
            moments.append(track.moment())

        stop = Stop()
        with stop_on_signals(stop, config.run.time_limit_s):
            if workers is None:
                from pipeline.run import runner

                load = partial(subject.load_for_run, output_tokens=most, then=loaded)
                summary = runner.run(config, track, stop, load)
            else:
                from pipeline.cluster import cluster_run

                summary = cluster_run.run(workers, config, track, stop, when_loaded=loaded_there)
        wall_s = time.perf_counter() - started.at_s
    if workers is not None and track.num_read:
        subject.loaded = subject.load(config)  # for its configuration and dtype
    if not track.num_read or subject.loaded is None:
        return None
    return Measured(
        config=config,
        summary=summary,
        track=track,
        host=host,
        subject=subject,
        model=subject.loaded,
        output_tokens=output_tokens,
        age_s=age_s,
        started=started,
        loaded=moments[-1],
        wall_s=wall_s,
        is_here=workers is None,
    )
