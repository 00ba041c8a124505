"""A page that kills the process is set aside in the end, and costs no other page; a kill from outside costs nothing."""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.config.schema import Config
from pipeline.errors import ExitCode
from pipeline.reports.progress import Silent
from pipeline.run.runner import run
from pipeline.stop import Stop
from pipeline.types import PageResult
from storage.recovery.in_flight import Marker
from tests.faults.rig import tables
from tests.faults.rig.launcher import REPOSITORY
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import changed
from tests.pipeline.runs import rows as results
from tests.storage.sample_records import died_with, rows

MARKS = "SELECT p.page_index, f.alone FROM in_flight f JOIN pages p ON p.id = f.page_id ORDER BY f.run_id, 1"


def nights(config: Config, folder: Path, how: str, page_index: int, most: int = 9) -> list[int]:
    """Returns the exit codes of runs, the last of which ended by itself."""
    path = folder / "config.json"
    path.write_text(config.model_dump_json(), encoding="utf-8")
    command = [sys.executable, "-m", "tests.faults.deaths.nights", str(path), how, str(page_index), str(most)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    found = subprocess.run(command, cwd=REPOSITORY, env=environment, check=True, stdout=subprocess.PIPE)
    codes: list[int] = json.loads(found.stdout)
    return codes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forks")
def test_a_page_that_kills_the_process_is_set_aside_after_some_nights(batch: Batch, tmp_path: Path) -> None:
    batch.pdf("a.pdf", [f"page {index}" for index in range(6)])
    limit = 2
    codes = nights(changed(batch.config, store={"attempt_limit": limit}), tmp_path, "abort", 2)
    # With the others; with those that were in the model with it; and alone, as often as a page is tried.
    assert codes == [-signal.SIGABRT] * (2 + limit) + [ExitCode.INCOMPLETE]
    found = results(batch.database)
    assert [row["status"] for row in found] == ["ok", "ok", "quarantined", "ok", "ok", "ok"]
    assert {row["text"] for row in found} == {TEXT, None}
    assert found[2]["error"]["category"] == "process_died"
    assert "the process ended while this page alone was being read (run 3)" in found[2]["error"]["message"]
    made = rows(
        batch.database,
        "SELECT p.page_index, count(*) FROM attempts a JOIN pages p ON p.id = page_id GROUP BY 1",
    )
    assert dict(made) == {0: 1, 1: 1, 2: limit, 3: 1, 4: 1, 5: 1}
    assert rows(batch.database, MARKS) == []
    assert not tables.faults(Path(batch.database))
    summary = batch.run(store={"attempt_limit": limit}, run={"retry_failed": True})
    assert summary.pages == {"ok": 1}, "nothing is wrong with it any more"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forks")
def test_a_process_that_dies_while_the_model_is_loaded_accuses_no_page(batch: Batch, tmp_path: Path) -> None:
    batch.pdf("a.pdf", ["one", "two"])
    assert nights(changed(batch.config, store={"attempt_limit": 1}), tmp_path, "load", 0, most=1) == [-9]
    assert rows(batch.database, MARKS) == []
    assert batch.run().pages == {"ok": 2}


def test_pages_that_were_being_read_when_a_run_died_come_last_and_lose_nothing(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    batch.pdf("a.pdf", [f"page {index}" for index in range(5)])
    assert batch.run().pages == {"ok": 5}
    ((sha256,),) = rows(batch.database, "SELECT sha256 FROM documents")
    for indices in [(0, 1), (1, 2), (1, 2)]:
        died_with(batch.database, sha256, indices)
    order: list[int] = []
    marked: list[tuple[list[int], bool]] = []
    begin_pages = Marker.begin_pages

    class Told(Silent):
        def page_done(self, result: PageResult) -> None:
            order.append(result.page.page_index)

    def begin(self: Marker, run_id: int, pages: list[tuple[str, int]], *, alone: bool) -> None:
        marked.append((sorted(index for _, index in pages), alone))
        begin_pages(self, run_id, pages, alone=alone)

    monkeypatch.setattr(Marker, "begin_pages", begin)
    caplog.set_level(logging.WARNING, logger="ocrbatch")
    summary = run(changed(batch.config, run={"force": True}), Told(), Stop())
    assert summary.pages == {"ok": 5}
    assert order == [3, 4, 0, 2, 1]
    assert [lot for lot in marked if lot[1]] == [([2], True), ([1], True)]
    assert sorted(index for lot, alone in marked for index in lot if not alone) == [0, 3, 4]
    assert "3 pages were being read when an earlier run" in caplog.text
    assert "2 of them one by one" in caplog.text
    assert rows(batch.database, MARKS) == []


def test_only_pages_that_the_model_is_given_are_marked(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    batch.pdf("a.pdf", ["one", "", "three"])
    (batch.docs / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    marked: list[int] = []
    begin_pages = Marker.begin_pages

    def begin(self: Marker, run_id: int, pages: list[tuple[str, int]], *, alone: bool) -> None:
        marked.extend(index for _, index in pages)
        begin_pages(self, run_id, pages, alone=alone)

    monkeypatch.setattr(Marker, "begin_pages", begin)
    assert batch.run().pages == {"ok": 2, "blank": 1}
    assert sorted(marked) == [0, 2]
