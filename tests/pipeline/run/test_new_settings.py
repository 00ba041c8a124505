"""Whole runs after an update, with which a page that was read before cannot be read any more."""

from contextlib import closing

import pytest

from pipeline.config.schema import Config
from pipeline.device import open_models
from pipeline.errors import ExitCode
from pipeline.plan import plan
from pipeline.stop import Stop
from pipeline.verify import verify
from storage.database import open_for_reading
from storage.queries.statistics import status
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import changed, rows, run_quietly


def no_model(config: Config) -> None:
    pytest.fail("the model was loaded for nothing")


@pytest.mark.slow
def test_the_text_stays_until_the_new_settings_read_the_page(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", ["one"])
    assert batch.run().pages == {"ok": 1}
    rules = {"store": {"attempt_limit": 2}, "ladder": {"rungs": []}}
    new = changed(batch.config, decode={"max_tokens": batch.config.decode.max_tokens + 1}, **rules)
    cut = changed(batch.config, decode={"max_tokens": 2}, **rules)
    for _ in range(2):
        summary = run_quietly(cut)
        assert (summary.pages, summary.exit_code) == ({"truncated": 1}, ExitCode.INCOMPLETE)
        assert [(row["status"], row["text"]) for row in rows(batch.database)] == [("ok", TEXT)]
    with monkeypatch.context() as patch:
        patch.setattr(open_models, "load_model", no_model)
        summary = run_quietly(cut)
        assert summary.exit_code == ExitCode.OK, "the page has a text, and nobody need look at it every night"
    assert (summary.num_kept, summary.num_given_up, summary.num_quarantined) == (1, 0, 0)
    planned = plan(cut, Stop())
    assert (planned.num_kept, planned.num_given_up, planned.num_to_read) == (1, 0, 0)
    assert "pages kept as read with other settings: 1" in planned.lines()
    assert plan(changed(cut, run={"retry_failed": True}), Stop()).num_to_read == 1
    with closing(open_for_reading(batch.database)) as db:
        found = status(db)
    assert (found.pages, found.older_pages, found.num_attempts) == ({"ok": 1}, 1, 3)
    assert verify(batch.database).problems == []

    assert run_quietly(new).pages == {"ok": 1}
    with closing(open_for_reading(batch.database)) as db:
        assert status(db).older_pages == 0
