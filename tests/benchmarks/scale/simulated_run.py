"""Runs `cluster_run.run` whole, with a real database, over files that do not exist and workers that read nothing."""

import contextlib
import dataclasses
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from pipeline.cluster import cluster_run
from pipeline.config.schema import Config
from pipeline.config.sources import load
from pipeline.reports.progress import Silent
from pipeline.reports.summary import RunSummary
from pipeline.run import runner
from pipeline.run.runner import Prepared
from pipeline.stop import Stop
from pipeline.types import PageResult
from tests.benchmarks.scale.made_pages import ROOT, Corpus, Pages
from tests.benchmarks.scale.stand_ins import Pace, StandIns

SETTINGS = "5" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The run at one moment. seconds: since its start. rss_bytes, cpu_s: of the process; own_s: of that by stand-ins.

    thread_s: CPU seconds by kind of thread, those that ended left out.
    """

    seconds: float
    num_pages: int
    rss_bytes: int
    cpu_s: float
    own_s: float
    num_threads: int
    thread_s: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A simulated run. first_s: until the first page was stored. samples: every so often, the last at the end."""

    summary: RunSummary
    first_s: float | None
    samples: tuple[Sample, ...]
    store_busy: float
    num_lost: int


def simulate(
    database: str,
    corpus: Corpus,
    num_workers: int,
    pace: Pace,
    *,
    pages: Pages | None = None,
    limit_s: float | None = None,
    every_s: float = 1.0,
) -> Figures:
    """Reads a corpus with so many stand-ins. limit_s: asks the run to stop after so long."""
    config = load(None, [], [("simulation", {"ingest": {"paths": [ROOT]}, "store": {"database": database}})])
    progress = _Counted()
    backend = StandIns(num_workers, corpus, pages or Pages(SETTINGS), pace)
    stop, samples = Stop(), list[Sample]()
    over = threading.Event()
    watching = threading.Thread(
        target=_sample, args=(backend, progress, samples, over, every_s, limit_s, stop), daemon=True
    )
    with _files_of(corpus):
        watching.start()
        try:
            summary = cluster_run.run(backend, config, progress, stop)
        finally:
            over.set()
            watching.join()
    store = next((stage.busy for stage in summary.stages if stage.name == "store"), 0.0)
    return Figures(
        summary=summary,
        first_s=progress.first_s,
        samples=tuple(samples),
        store_busy=store,
        num_lost=backend.num_lost,
    )


class _Counted(Silent):
    """Counts pages that are stored. first_s: when the first of them was, since this was made."""

    def __init__(self) -> None:
        self.num_pages = 0
        self.first_s: float | None = None
        self._began = time.monotonic()

    def page_done(self, result: PageResult) -> None:
        self.num_pages += 1
        self.first_s = self.first_s or time.monotonic() - self._began


@contextmanager
def _files_of(corpus: Corpus) -> Iterator[None]:
    """Has runs find a corpus's files."""

    def prepared(config: Config, stop: Stop) -> Prepared:
        found = config.model_copy(update={"ingest": config.ingest.model_copy(update={"paths": [os.devnull]})})
        ready = runner.prepared(found, stop)
        record = dataclasses.replace(ready.record, settings_hash=SETTINGS)
        return dataclasses.replace(ready, config=config, found=corpus.files(), record=record)

    with patch.object(cluster_run, "prepared", prepared):
        yield


def _sample(
    backend: StandIns,
    progress: "_Counted",
    samples: list[Sample],
    over: threading.Event,
    every_s: float,
    limit_s: float | None,
    stop: Stop,
) -> None:
    began, first_cpu = time.monotonic(), time.process_time()
    while True:
        is_over = over.wait(every_s)
        seconds = time.monotonic() - began
        samples.append(
            Sample(
                seconds=seconds,
                num_pages=progress.num_pages,
                rss_bytes=_rss_bytes(),
                cpu_s=time.process_time() - first_cpu,
                own_s=backend.cpu_s,
                num_threads=threading.active_count(),
                thread_s=_thread_s(),
            )
        )
        if is_over:
            return
        if limit_s is not None and seconds > limit_s:
            stop.request("enough was seen")


def _rss_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _thread_s() -> dict[str, float]:
    """Returns the CPU seconds of the threads that are alive, added up by their names without numbers."""
    names = {thread.native_id: thread.name.rstrip("-_0123456789") for thread in threading.enumerate()}
    found: Counter[str] = Counter()
    for thread_id, name in names.items():
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread_id}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
            found[name] += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return dict(found)
