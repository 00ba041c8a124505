"""Compares runs with workers with the plain run of the same pages, in turn: speed, CPU time, bytes that cross.

    python -m tests.benchmarks.runs.worker_runs --docs FOLDER --arms plain,local:1 --times 3
    python -m tests.benchmarks.runs.worker_runs --docs FOLDER --arms plain,local:1 --family deepseek-ocr --tokens 1150
    python -m tests.benchmarks.runs.worker_runs --docs FOLDER --arms plain,ray:1 --set threads=1

An arm is `plain`, `local:N` (processes) or `ray:N` (actors of a Ray cluster that this starts here), each in a process
of its own. pages_s is from when a tenth of the pages is stored (blank ones are before the models are loaded) to the
last, so that starting and loading do not count; wall_s has all. cpu_s a page is of all processes, loading included
(not for `ray`, whose processes are not ours). --family: reads with a model of the published
size with random weights (tests.benchmarks.runs.families), at most --tokens new tokens a page, and no text layers.
bytes a page: what a worker's messages to the run have when pickled, from one more run that is not timed.
"""

import argparse
import dataclasses
import json
import multiprocessing
import os
import pickle
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pipeline.bench.real_pages import copy_pages
from pipeline.cluster import cluster_run
from pipeline.cluster.local_workers import LocalWorkers, count_gpus
from pipeline.cluster.worker_backend import Peer, WorkerBackend
from pipeline.cluster.worker_messages import Asked
from pipeline.config.schema import Config
from pipeline.config.sources import load
from pipeline.reports.progress import Silent
from pipeline.reports.summary import RunSummary
from pipeline.run import runner
from pipeline.stop import Stop
from pipeline.types import PageResult

Row = dict[str, Any]


def main(words: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(words)
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(dir=chosen.folder)))
        sets = list(chosen.sets)
        if chosen.family:
            sets = [*_random_model(chosen.family, folder, tiny=chosen.tiny, tokens=chosen.tokens), *sets]
        pages = folder / "pages"
        pages.mkdir()
        num_pages = copy_pages([str(path) for path in chosen.docs], chosen.pages, pages)
        rows: list[Row] = []
        arms = chosen.arms.split(",")
        for number in range(chosen.times):
            for arm in arms:
                config = _config(pages, folder / f"{number}-{arm.replace(':', '-')}.db", sets)
                row = {"arm": arm, "time": number, "pages": num_pages, **_apart(arm, config)}
                rows.append(row)
                print(json.dumps(row), flush=True)
                if chosen.output:
                    chosen.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
        for line in told(rows, arms):
            print(line)
        if any(arm != "plain" for arm in arms):
            weighed = Weighed(LocalWorkers(1, 0))
            cluster_run.run(weighed, _config(pages, folder / "weighed.db", sets), Silent(), Stop())
            print(f"{weighed.num_bytes / num_pages / 1024:.1f} KB a page from a worker to its run")
    return 0


def timed(arm: str, config: Config) -> Row:
    """Returns what one run of an arm took."""
    track, began, cpu = _Track(), time.monotonic(), _cpu_s()
    summary = _run(arm, config, track)
    wall_s = time.monotonic() - began
    num_pages = len(track.stored)
    num_first = num_pages // 10
    spent, first, last = _cpu_s() - cpu, track.stored[num_first], track.stored[-1]
    return {
        "statuses": dict(summary.pages),
        "wall_s": round(wall_s, 2),
        "until_first_s": round(track.stored[0] - began, 2),
        "pages_s": round((num_pages - 1 - num_first) / (last - first), 4) if last > first else None,
        "cpu_s_a_page": None if arm.startswith("ray") else round(spent / num_pages, 3),
        "num_tokens": summary.num_tokens,
        "stages": [dataclasses.asdict(stage) for stage in summary.stages],
    }


def _apart(arm: str, config: Config) -> Row:
    """As timed, in a process of its own: no arm finds what another has loaded and compiled."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(timed, arm, config).result()


def told(rows: Sequence[Row], arms: Sequence[str]) -> Iterator[str]:
    """Yields a line for each arm: medians, and the speed next to the first arm's."""
    first = None
    for arm in arms:
        its = [row for row in rows if row["arm"] == arm and row["pages_s"]]
        if not its:
            continue
        speed = statistics.median(row["pages_s"] for row in its)
        first = first or speed
        cpu = [row["cpu_s_a_page"] for row in its if row["cpu_s_a_page"] is not None]
        cpu_text = f", {statistics.median(cpu):.2f} CPU s a page" if cpu else ""
        wall = statistics.median(row["wall_s"] for row in its)
        yield f"{arm}: {speed:.3f} pages/s ({speed / first:.3f} of {arms[0]}), {wall:.1f} s in all{cpu_text}"


class Weighed(WorkerBackend):
    """Counts what a backend's workers send, in pickled bytes."""

    def __init__(self, backend: WorkerBackend) -> None:
        self._backend, self.size, self.num_bytes = backend, backend.size, 0

    def start(self, place: int, config: Config, run_id: int, settings_hash: str) -> Peer:
        peer = self._backend.start(place, config, run_id, settings_hash)
        receive = peer.receive

        def weighed() -> list[Asked]:
            found = receive()
            self.num_bytes += sum(len(pickle.dumps(one)) for one in found)
            return found

        peer.receive = weighed  # type: ignore[method-assign]
        return peer

    def close(self) -> None:
        self._backend.close()


class _Track(Silent):
    def __init__(self) -> None:
        self.stored: list[float] = []

    def page_done(self, result: PageResult) -> None:
        self.stored.append(time.monotonic())


def _run(arm: str, config: Config, track: _Track) -> RunSummary:
    kind, _, number = arm.partition(":")
    if kind == "plain":
        return runner.run(config, track, Stop())
    if kind == "local":
        num_gpus = 0 if config.device == "cpu" else count_gpus()
        return cluster_run.run(LocalWorkers(int(number), num_gpus), config, track, Stop())
    with _ray(int(number)) as backend:
        return cluster_run.run(backend, config, track, Stop())


@contextmanager
def _ray(size: int) -> Iterator[WorkerBackend]:
    import ray

    from pipeline.cluster.ray_workers import RayWorkers

    ray.init(object_store_memory=100 << 20, include_dashboard=False, logging_level="warning")
    try:
        yield RayWorkers("auto", size)
    finally:
        ray.shutdown()


def _config(pages: Path, database: Path, sets: Sequence[str]) -> Config:
    values = {"ingest": {"paths": [str(pages)]}, "store": {"database": str(database)}}
    return load(None, list(sets), [("the benchmark", values)])


def _random_model(family: str, folder: Path, *, tiny: bool, tokens: int) -> list[str]:
    """Writes a family's model with random weights in a process of its own; returns the keys that read with it."""
    import subprocess

    code = (
        "import sys, torch; from pathlib import Path\n"
        "from tests.benchmarks.runs.families.random_checkpoints import planned, write\n"
        "from tests.benchmarks.runs.families.whole_sizes import WHOLE_SIZES\n"
        "tiny, on_gpu = sys.argv[3] == '1', torch.cuda.is_available()\n"
        "write(planned(WHOLE_SIZES[sys.argv[1]], tiny=tiny), Path(sys.argv[2]),\n"
        "      device=torch.device('cuda' if on_gpu else 'cpu'), dtype=torch.float32 if tiny else torch.bfloat16)\n"
    )
    model = folder / "model"
    subprocess.run([sys.executable, "-c", code, family, str(model), str(int(tiny))], check=True)
    from tests.benchmarks.runs.families.one_model import ONE_READING

    return [f"model={model}", f"decode.max_tokens={tokens}", *ONE_READING]


def _cpu_s() -> float:
    """Returns the CPU time of this process and of its children that have ended."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=Path, action="append", required=True)
    parser.add_argument("--pages", type=int, default=64)
    parser.add_argument("--arms", default="plain,local:1")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--family", help="a model of the published size with random weights")
    parser.add_argument("--tiny", action="store_true", help="... of that family in tiny")
    parser.add_argument("--tokens", type=int, default=1200, help="decode.max_tokens with --family")
    parser.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--folder", type=Path, help="for temporary files, such as /dev/shm")
    parser.add_argument("--output", type=Path, help="a JSON file of all rows")
    return parser


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[3]))
    sys.exit(main())
