"""Kills runs with workers at random moments: workers, machines, the run itself; checks the database:

python -m tests.faults.deaths.cluster_kills --kills 50
python -m tests.faults.deaths.cluster_kills --kills 50 --ray

As tests.faults.deaths.kill, but the uninterrupted run that all others have to equal is that of one process. Without
--ray the workers are processes of this machine; with it actors of a Ray cluster of three machines that this one plays,
and a machine that is killed (its raylet, with kill -9) is replaced by another.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.faults.deaths.kill import ORPHANS_S, Killing, arguments_of, parser
from tests.faults.rig import corpus
from tests.faults.rig.launcher import Running, Starter, living


class ClusterKilling(Killing):
    """The experiment. workers: the arguments that ask for workers. cluster: a `ray.cluster_utils.Cluster`, or None."""

    def __init__(self, *args: Any, workers: Sequence[str], cluster: Any = None) -> None:
        super().__init__(*args)
        self._workers, self._cluster = list(workers), cluster
        self.kinds = {"main": 2, "worker": 4} | ({} if cluster is None else {"machine": 2})
        self._plain = self._arguments

    def _start(self, database: Path) -> Running:
        is_reference = database.parent.name == "reference"
        self._arguments = self._plain if is_reference else [*self._plain, *self._workers]
        return super()._start(database)

    def _ends_first(self, running: Running) -> bool:
        # Several workers are quicker than the uninterrupted run of one process, and what is over cannot be killed.
        return running.wait(self._chance.uniform(0, self.report.uninterrupted_s / 2))

    def _end(self, kind: str, running: Running, workers: Sequence[int]) -> bool:
        if kind == "machine":
            assert self._cluster is not None
            machine = self._chance.choice(sorted(self._cluster.worker_nodes, key=str))
            self._cluster.remove_node(machine, allow_graceful=False)
            add_machine(self._cluster)
            return False
        is_over = super()._end(kind, running, workers)
        if is_over:
            self._check_workers_end(workers)
        return is_over

    def _workers_of(self, running: Running) -> list[int]:
        """Returns the processes of a run's workers, the first of each."""
        if self._cluster is not None:
            return [process.pid for process in living() if process.command.startswith("ray::_Worker")]
        own = {process.pid for process in running.processes()}  # with the process that workers are forks of
        return [its.pid for its in living() if its.pid == its.session and its.parent in own]

    def _check_workers_end(self, workers: Sequence[int]) -> None:
        end = time.monotonic() + ORPHANS_S
        while left := [process.pid for process in living() if process.pid in workers]:
            if time.monotonic() > end:
                self._fault(f"workers without a run are still there {ORPHANS_S:g} s later: {left}")
                return
            time.sleep(0.1)


def add_machine(cluster: Any) -> None:
    """Adds a machine with one CPU to a cluster."""
    cluster.add_node(num_cpus=1, object_store_memory=100 << 20)


def _cluster() -> Any:
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    for _ in range(2):
        add_machine(made)
    return made


def main(words: Sequence[str] | None = None) -> int:
    found = parser()
    found.prog, found.description = "python -m tests.faults.deaths.cluster_kills", __doc__
    found.set_defaults(kills=50, pages=24, model="small")
    found.add_argument("--ray", action="store_true")
    args: argparse.Namespace = found.parse_args(words)
    cluster = _cluster() if args.ray else None
    asked = ["--workers", "2"] if cluster is None else ["--cluster", str(cluster.address)]
    try:
        with tempfile.TemporaryDirectory(prefix="ocrbatch-kill-") as name:
            folder = Path(name)
            documents = corpus.build(folder / "documents", args.pages, args.seed)
            with Starter(folder / "work", fork=args.fork) as starter:
                arguments = arguments_of(args, folder)
                killing = ClusterKilling(
                    starter, folder, documents, arguments, args.seed, workers=asked, cluster=cluster
                )
                report = killing.run(args.kills)
    finally:
        if cluster is not None:
            cluster.shutdown()
    print(report.as_json())
    return 0 if report.is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
