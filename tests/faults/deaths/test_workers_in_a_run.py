"""Workers that crash, hang, eat memory or are killed, in whole runs: each costs its page or its file, and no other."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.schema import Config
from pipeline.errors import ExitCode
from pipeline.ingest.workers import tasks
from pipeline.ingest.workers.pool import WorkerPool
from storage.database import open_for_reading
from tests.faults.deaths import hostile_tasks
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import changed, rows, run_quietly

# How each failure is reported. That a worker left in peace is noticed when the page's time is over.
CATEGORIES = {
    "segv": "crash", "abort": "crash", "kill": "crash", "exit": "crash", "leave": "timeout", "hang": "timeout",
    "stopped": "timeout", "eat": "memory", "raise": "internal", "unpicklable": "internal",
}  # fmt: skip
LIMIT_S = 3.0


@pytest.fixture
def hostile(config: Config, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setattr(tasks, "render_task", hostile_tasks.render_task)
    monkeypatch.setattr(tasks, "probe_task", hostile_tasks.probe_task)
    submit = WorkerPool._submit

    def submit_in_time(
        self: WorkerPool, task: Any, arguments: Any, limit_s: float, *rest: Any, **keys: Any
    ) -> Any:
        """Gives little time only to tasks that never end: others may need more on a busy machine."""
        path = getattr(arguments[0], "path", arguments[0])
        fate = Path(path).stem.rpartition("-")[2]
        limit_s = LIMIT_S if CATEGORIES.get(fate) == "timeout" else limit_s
        return submit(self, task, arguments, limit_s, *rest, **keys)

    monkeypatch.setattr(WorkerPool, "_submit", submit_in_time)
    return changed(config, render={"workers": 2})


def test_each_fate_costs_its_page_and_no_other(batch: Batch, hostile: Config) -> None:
    for number, fate in enumerate(hostile_tasks.FATES):
        batch.pdf(f"{number}-{fate}.pdf", [fate])
        batch.pdf(f"{number}-good.pdf", [f"good {number}", f"and good {number}"])
    assert set(hostile_tasks.FATES) == set(CATEGORIES)

    summary = run_quietly(hostile)

    assert summary.pages == {"ok": 2 * len(CATEGORIES), "failed": len(CATEGORIES)}
    assert summary.exit_code == ExitCode.INCOMPLETE
    for row in rows(batch.database):
        fate = Path(row["path"]).stem.rpartition("-")[2]
        if fate == "good":
            assert (row["status"], row["text"]) == ("ok", TEXT)
        else:
            assert row["error"]["category"] == CATEGORIES[fate], row
            assert row["error"]["message"], row


def test_each_fate_of_a_look_costs_its_file_and_no_other(batch: Batch, hostile: Config) -> None:
    for fate in hostile_tasks.FATES:
        batch.pdf(f"probe-{fate}.pdf", [fate])
    batch.pdf("good.pdf", ["good", "and good"])

    summary = run_quietly(hostile)

    assert summary.pages == {"ok": 2}
    assert summary.documents == {"ok": 1, "broken": len(CATEGORIES)}
    with closing(open_for_reading(batch.database)) as db:
        reasons = dict(db.conn.execute("SELECT path, reason FROM files WHERE status = 'broken'").fetchall())
    assert len(reasons) == len(CATEGORIES)
    assert all(reason.startswith("inspecting the file ") for reason in reasons.values()), reasons
