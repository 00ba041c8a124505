"""Workers in processes: what they read together is what one process reads, whatever becomes of them."""

import json
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from pipeline.cluster import cluster_run
from pipeline.cluster.local_workers import LocalWorkers, shared_out
from pipeline.cluster.worker_backend import Peer
from pipeline.cluster.worker_messages import Asked, FromWorker
from pipeline.config.schema import Config
from pipeline.config.sources import load
from pipeline.reports.progress import Silent
from pipeline.run import runner
from pipeline.stages.store import store_page
from pipeline.stop import Stop
from tests.pipeline.runs import WAIT_S, rows, wait_until

SAMPLES = Path(__file__).parents[2] / "samples"


def texts(database: Path) -> list[tuple[Any, ...]]:
    """What is stored of each page."""
    return [(row["path"], row["page"], row["status"], row["text"]) for row in rows(str(database))]


def asked(database: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as db:
        return db.execute(sql).fetchall()


DOCUMENTS = ("two-column.pdf", "report.pdf", "letter.png", "fax.tiff")


def config_of(database: Path, *sets: str, documents: Sequence[str] = DOCUMENTS) -> Config:
    paths = [str(SAMPLES / name) for name in documents]
    values = {"ingest": {"paths": paths}, "store": {"database": str(database)}}
    return load(None, list(sets), [("test", values)])


class Watched(LocalWorkers):
    """Lets `befall` see each message of a worker before the run gets it."""

    def start(self, *args: Any) -> Peer:
        peer = super().start(*args)
        receive = peer.receive

        def watched() -> list[FromWorker]:
            found = receive()
            for one in found:
                if isinstance(one, Asked):
                    self.befall(peer, one)
            return found

        peer.receive = watched  # type: ignore[method-assign]
        return peer

    def befall(self, peer: Any, one: Asked) -> None:
        """Does something to the worker."""


class Deadly(Watched):
    """Kills the first worker that has stored a page, or suspends it, as a machine that hangs does."""

    def __init__(self, size: int, suspends: bool = False) -> None:
        super().__init__(size, 0)
        self.suspends, self.struck = suspends, 0

    def befall(self, peer: Any, one: Asked) -> None:
        if one.args[:1] != (store_page,) or self.struck:
            return
        self.struck += 1
        if self.suspends:
            os.kill(peer._process.pid, signal.SIGSTOP)
        else:
            peer.kill()


@pytest.mark.slow
def test_two_workers_store_what_one_process_stores_and_a_lost_one_changes_nothing(tmp_path: Path) -> None:
    alone = runner.run(config_of(tmp_path / "alone.db"), Silent(), Stop())
    expected = texts(tmp_path / "alone.db")
    deadly = Deadly(2)
    for name, backend in (("two", LocalWorkers(2, 0)), ("lost", deadly)):
        summary = cluster_run.run(backend, config_of(tmp_path / f"{name}.db"), Silent(), Stop())
        assert texts(tmp_path / f"{name}.db") == expected
        assert summary.pages == alone.pages
        assert summary.documents == alone.documents
        assert (
            asked(
                tmp_path / f"{name}.db", "SELECT count(*) FROM attempts GROUP BY page_id HAVING count(*) > 1"
            )
            == []
        )
        assert asked(tmp_path / f"{name}.db", "SELECT count(*) FROM in_flight") == [(0,)]
    assert deadly.struck == 1
    again = cluster_run.run(LocalWorkers(2, 0), config_of(tmp_path / "two.db"), Silent(), Stop())
    assert (again.num_pages, again.num_done_before) == (0, alone.num_pages)
    assert next(its.busy for its in again.stages if its.name == "discover") == 0, (
        "unchanged files stay closed"
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs to suspend a process")
def test_a_worker_that_hangs_does_not_hold_up_the_end(tmp_path: Path) -> None:
    backend, few = Deadly(2, suspends=True), DOCUMENTS[:2]
    config = config_of(tmp_path / "a.db", "cluster.stall_s=4", "text_layer=ignore", documents=few)
    summary = cluster_run.run(backend, config, Silent(), Stop())
    assert backend.struck == 1
    runner.run(config_of(tmp_path / "alone.db", "text_layer=ignore", documents=few), Silent(), Stop())
    assert texts(tmp_path / "a.db") == texts(tmp_path / "alone.db")
    assert "lost" in {its.doing for its in summary.workers}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are no forks")
def test_a_worker_is_ended_although_the_server_is_gone_that_it_is_a_fork_of(tmp_path: Path) -> None:
    peer: Any = LocalWorkers(1, 0).start(0, config_of(tmp_path / "a.db"), 1, "settings")
    assert peer.receive()
    stat = Path(f"/proc/{peer._process.pid}/stat")
    os.kill(int(stat.read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
    peer._process.join(WAIT_S)
    assert stat.read_text().rpartition(")")[2].split()[0] != "Z", "nobody could say how it ended"
    peer.kill()
    wait_until(lambda: not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.mark.slow
def test_workers_share_a_document(tmp_path: Path) -> None:
    made, document = tmp_path / "long.pdf", pymupdf.open()
    for number in range(24):
        page = document.new_page()
        page.insert_text((72, 72), f"Page {number + 1} of a long report on the harvest of that year.")
    document.save(made)
    values = {"ingest": {"paths": [str(made)]}, "store": {"database": str(tmp_path / "a.db")}}
    sets = ["text_layer=ignore", "render.workers=2", "threads=2"]
    summary = cluster_run.run(LocalWorkers(2, 0), load(None, sets, [("test", values)]), Silent(), Stop())
    assert summary.num_pages == 24
    assert min(its.num_pages for its in summary.workers) > 0
    assert asked(tmp_path / "a.db", "SELECT count(*), count(DISTINCT page_id) FROM attempts") == [(24, 24)]
    flow = json.loads(asked(tmp_path / "a.db", "SELECT flow FROM runs")[0][0])
    assert sum(its["num_pages"] for its in flow["workers"]) == 24


@pytest.mark.slow
def test_a_stop_ends_all_workers_in_order(tmp_path: Path) -> None:
    stop, config = Stop(), config_of(tmp_path / "a.db", "text_layer=ignore")

    class OnFirst(Silent):
        def page_done(self, result: object) -> None:
            stop.request("enough")

    began = time.monotonic()
    summary = cluster_run.run(LocalWorkers(2, 0), config, OnFirst(), stop)
    assert summary.stopped == "enough"
    assert time.monotonic() - began < 120
    assert asked(tmp_path / "a.db", "SELECT state, exit_code FROM runs") == [("finished", 5)]
    assert not [one for one in threading.enumerate() if one.name.startswith("peer-") and one.is_alive()]


def test_workers_share_the_machine() -> None:
    config = load(None, ["render.workers=4", "threads=6"])
    its = shared_out(config, 4)
    assert (its.render.workers, its.threads, its.cluster.workers) == (1, 1, 1)
    assert shared_out(load(None, []), 2, 32).threads == 16
