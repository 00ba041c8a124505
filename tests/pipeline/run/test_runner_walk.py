"""Runs whose walk hangs, as on a file server that is gone: they end when they are told to."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.schema import Config
from pipeline.errors import ExitCode, StopRequest
from pipeline.ingest.walk import Candidate
from pipeline.reports.progress import Silent
from pipeline.run import runner
from pipeline.run.runner import run
from pipeline.stop import Stop
from pipeline.types import PageResult
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import WAIT_S, rows
from tests.storage.sample_records import rows as records


class Server:
    """Gives some files, and hangs then. stop: is requested a moment later. hangs: whether it does so now."""

    def __init__(self, *paths: str, stop: Stop | None = None) -> None:
        self.paths, self.stop = paths, stop
        self.hangs = False
        self.is_back = threading.Event()

    def hang(self) -> None:
        self.hangs = True
        if self.stop is not None:
            threading.Timer(0.1, self.stop.request, ["SIGTERM"]).start()
        try:
            assert self.is_back.wait(WAIT_S)
        finally:
            self.hangs = False

    def walk(self, *_: Any) -> Iterator[Candidate]:
        for path in self.paths:
            yield Candidate(path=path, relative=path)
        self.hang()


def test_a_stop_does_not_wait_for_a_walk_that_hangs(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, server = Stop(), Server()
    monkeypatch.setattr(runner, "walk", server.walk)
    threading.Timer(0.3, stop.request, ["SIGTERM"]).start()
    try:
        summary = run(config, Silent(), stop)
        hangs = server.hangs
    finally:
        server.is_back.set()
    assert (summary.stopped, summary.exit_code) == ("SIGTERM", ExitCode.STOPPED)
    assert not summary.all_documents_known
    assert "at least 0 documents" in summary.left()
    assert hangs, "it was not waited for"


def test_what_was_found_before_is_read_and_stored(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Stop()
    server = Server(str(batch.pdf("a.pdf", ["one"])))
    monkeypatch.setattr(runner, "walk", server.walk)

    class StopsAfterOne(Silent):
        def page_done(self, result: PageResult) -> None:
            stop.request("time limit")

    try:
        summary = run(batch.config, StopsAfterOne(), stop)
    finally:
        server.is_back.set()
    assert (summary.stopped, summary.pages, summary.all_documents_known) == ("time limit", {"ok": 1}, False)
    assert [row["status"] for row in rows(batch.database)] == ["ok"]


@pytest.mark.slow
def test_a_stop_does_not_wait_for_what_is_not_found_any_more(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "gone"):
        batch.pdf(f"{name}.pdf", [name])
    assert batch.run().pages == {"ok": 2}
    (batch.docs / "gone.pdf").unlink()
    stop, stat = Stop(), os.stat
    server = Server(stop=stop)

    def hanging_stat(path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        if path == str(batch.docs / "gone.pdf"):
            server.hang()
        return stat(path, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", hanging_stat)
        try:
            summary = run(batch.config, Silent(), stop)
            hangs = server.hangs
        finally:
            server.is_back.set()
    assert (summary.stopped, summary.exit_code, summary.num_missing) == ("SIGTERM", ExitCode.STOPPED, 0)
    assert hangs, "it was not waited for"
    assert records(batch.database, "SELECT state, exit_code FROM runs WHERE id = 2") == [("finished", 5)]
    assert records(batch.database, "SELECT status FROM files") == [("ok",), ("ok",)]
    assert batch.run().num_missing == 1
    assert records(batch.database, "SELECT status FROM files ORDER BY path") == [("missing",), ("ok",)]


def test_a_path_that_cannot_even_be_looked_at_holds_up_no_stop(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, server = Stop(), Server()
    monkeypatch.setattr(runner, "walk", lambda *_: server.hang())
    threading.Timer(0.2, stop.request, ["SIGINT"]).start()
    try:
        with pytest.raises(StopRequest):
            run(batch.config, Silent(), stop)
        assert server.hangs, "it was not waited for"
    finally:
        server.is_back.set()
    assert not Path(batch.database).exists()
