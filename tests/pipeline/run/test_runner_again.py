"""Whole runs in which pages are read again, set aside, not read at all, or cannot be stored."""

import shutil
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from ocr.decoding.gpu.forward.steps import DeviceSteps
from pipeline.config.schema import Config
from pipeline.config.sources import load
from pipeline.device import open_models
from pipeline.device.threads import encoder_thread
from pipeline.errors import ExitCode, PipelineError, WorkersError
from pipeline.ingest.workers import tasks
from pipeline.reports.progress import Silent
from pipeline.run.runner import run
from pipeline.stop import Stop
from pipeline.types import PageResult
from storage.database import open_for_reading
from storage.queries.statistics import status
from storage.records.store import Store
from storage.types import PageRecord
from storage.upkeep.audit import audit
from tests.faults.doubt.layer_pages import INVOICE, KINDS, document
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.ingest.workers.test_pool import end_at_once
from tests.pipeline.runs import changed, rows, run_quietly

SAMPLES = Path(__file__).parents[2] / "samples"


def attempts(database: str, columns: str = "rung, status") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as conn:
        return conn.execute(f"SELECT {columns} FROM attempts ORDER BY id").fetchall()


def rungs(text: str) -> dict[str, Any]:
    return {"rungs": load(None, [f"ladder.rungs={text}"]).ladder.rungs}


def overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder's numbers are none."""
    real = encoder_thread.encode

    def overflows(encoder: Any, pages: Sequence[Any]) -> list[Any]:
        return [
            (replace(tokens, tokens_TD=torch.full_like(tokens.tokens_TD, torch.nan)), timings)
            for tokens, timings in real(encoder, pages)
        ]

    monkeypatch.setattr(encoder_thread, "encode", overflows)


def no_model(config: Config) -> None:
    pytest.fail("the model was loaded for nothing")


@pytest.mark.slow
def test_a_page_that_loops_is_read_again_and_both_attempts_are_stored(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one"])
    endless = load(None, ["decode.pdf.size=0", "decode.loop.tokens=20"]).decode
    looping = changed(
        batch.config,
        decode={"pdf": endless.pdf, "loop": endless.loop},
        render={"orientation": "off"},  # one word may stand either way up
        ladder=rungs("[{name: pairs, ngram_size: 2, ngram_window: 90}, {name: never, mode: small}]"),
    )
    told: list[tuple[str, str | None]] = []

    class Told(Silent):
        def page_rescued(self, first: PageResult, result: PageResult) -> None:
            told.append((first.status, result.rung))

    summary = run(looping, Told(), Stop())
    assert (summary.pages, summary.num_rescued, told) == ({"ok": 1}, 1, [("repeated", "pairs")])
    assert attempts(batch.database) == [(None, "repeated"), ("pairs", "ok")]
    (found,) = rows(batch.database)
    assert (found["text"], found["rung"]) == (TEXT, "pairs")
    assert len(set(attempts(batch.database, "settings_hash, run_id"))) == 1
    stored = status(open_for_reading(batch.database))
    assert (stored.num_attempts, stored.runs[0].num_pages) == (2, 1)
    assert run_quietly(looping).num_done_before == 1


@pytest.mark.slow
def test_pages_that_loop_are_read_again_together_and_not_a_third_time(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_pages = 6
    batch.pdf("a.pdf", ["one"] * num_pages)
    endless = load(None, ["decode.pdf.size=0", "decode.loop.tokens=60"]).decode
    looping = changed(
        batch.config,
        decode={"pdf": endless.pdf, "loop": endless.loop},
        render={"orientation": "off"},
        ladder=rungs("[{name: larger, mode: small}, {name: warm, temperature: 0.1}]"),
    )
    steps: list[int] = []
    real = DeviceSteps.step

    def step(self: DeviceSteps, rows: int) -> Any:
        steps.append(rows)
        time.sleep(0.03)  # a model that takes longer than rendering does
        return real(self, rows)

    monkeypatch.setattr(DeviceSteps, "step", step)
    run_quietly(looping)
    assert sorted(attempts(batch.database, "coalesce(rung, ''), status")) == [
        *[("", "repeated")] * num_pages,
        *[("larger", "repeated")] * num_pages,
    ]
    assert len(steps) * 2 < sum(steps), "pages waited for each other"


@pytest.mark.slow
def test_a_page_that_always_fails_is_set_aside_and_read_when_asked_for(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", ["one"])
    twice = changed(
        batch.config, store={"attempt_limit": 2}, ladder=rungs("[{name: tiny-pairs, ngram_size: 3}]")
    )
    with monkeypatch.context() as patch:
        overflow(patch)
        summary = run_quietly(twice)
        assert (summary.pages, summary.num_quarantined) == ({"failed": 1}, 0)
        summary = run_quietly(twice)
        assert (summary.pages, summary.num_quarantined) == ({"failed": 1}, 1)
        assert attempts(batch.database) == [(None, "failed"), ("tiny-pairs", "failed")] * 2
        assert "DecodeError" in attempts(batch.database, "error_message")[0][0]
        patch.setattr(open_models, "load_model", no_model)
        summary = run_quietly(twice)
    assert summary.exit_code == ExitCode.INCOMPLETE
    where = str(batch.docs / "a.pdf")
    assert (summary.num_given_up, summary.quarantined) == (1, [(where, 1)])
    assert f"  {where}, page 1" in summary.lines()
    assert [row["status"] for row in rows(batch.database)] == ["quarantined"]
    assert status(open_for_reading(batch.database)).pages == {"quarantined": 1}

    summary = run_quietly(changed(twice, run={"retry_failed": True}))
    assert (summary.pages, summary.exit_code) == ({"ok": 1}, ExitCode.OK)
    assert rows(batch.database)[0]["text"] == TEXT


@pytest.mark.slow
def test_by_default_the_shipped_model_is_not_asked_what_a_pdf_says_itself(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text that reading would spoil is kept to the character: an address, a measure, an account number."""
    with document(KINDS["invoice"]) as made:
        made.save(batch.docs / "invoice.pdf")
    monkeypatch.setattr(open_models, "load_model", no_model)
    defaults = load(
        None, [], [("test", {"ingest": {"paths": [str(batch.docs)]}, "store": {"database": batch.database}})]
    )
    summary = run_quietly(defaults)
    assert (summary.pages, summary.num_unread) == ({"embedded": 1}, 1)
    (found,) = rows(batch.database)
    assert set(INVOICE) <= set(found["text"].split("\n"))
    with closing(open_for_reading(batch.database)) as db:
        assert audit(db).problems == []


@pytest.mark.slow
def test_pages_with_a_text_layer_to_be_trusted_need_no_model(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SAMPLES / "report.pdf", batch.docs)
    monkeypatch.setattr(open_models, "load_model", no_model)
    summary = run_quietly(batch.config.model_copy(update={"text_layer": "prefer"}))
    assert (summary.pages, summary.exit_code) == ({"embedded": 3}, ExitCode.OK)
    assert set(attempts(batch.database, "status, source, confidence")) == {("embedded", "layer", None)}
    assert all(row["text"] for row in rows(batch.database))
    assert summary.did.load_s == 0


@pytest.mark.slow
def test_the_text_layer_stands_in_for_a_page_that_is_cut_short(batch: Batch) -> None:
    shutil.copy(SAMPLES / "report.pdf", batch.docs)
    short = changed(
        batch.config,
        decode={"max_tokens": 80},
        ingest={"pages": "1"},
        ladder=rungs("[{name: pairs, ngram_size: 3}]"),
    )
    summary = run_quietly(short.model_copy(update={"text_layer": "fallback"}))
    assert (summary.pages, summary.exit_code) == ({"embedded": 1}, ExitCode.OK)
    assert attempts(batch.database) == [(None, "truncated"), ("pairs", "truncated"), ("layer", "embedded")]
    (found,) = rows(batch.database)
    assert (found["source"], found["status"]) == ("layer", "embedded")
    assert len(found["text"]) > 100


class Refusing:
    """Stands for a database that takes no result of page 2, or, where it is strict, nothing about it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, strict: bool = False) -> None:
        real = Store.record_page

        def record(store: Store, run_id: int, *pages: PageRecord, **keys: Any) -> int:
            if pages[0].page_index == 1 and (strict or pages[0].status == "ok"):
                raise sqlite3.IntegrityError("CHECK constraint failed")
            return real(store, run_id, *pages, **keys)

        monkeypatch.setattr(Store, "record_page", record)


@pytest.mark.slow
def test_a_result_that_the_database_refuses_costs_its_page_alone(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", ["one", "two", "three"])
    Refusing(monkeypatch)
    assert batch.run().pages == {"ok": 2, "failed": 1}
    error = rows(batch.database)[1]["error"]
    assert (error["stage"], error["category"]) == ("store", "refused")
    assert error["message"].endswith("IntegrityError: CHECK constraint failed")


@pytest.mark.slow
def test_a_page_of_which_nothing_can_be_stored_ends_the_run_with_its_name(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", ["one", "two"])
    Refusing(monkeypatch, strict=True)
    with pytest.raises(PipelineError, match=r"a\.pdf, page 2: nothing about it can be stored"):
        batch.run()
    stored = status(open_for_reading(batch.database))
    assert (stored.runs[0].state, stored.runs[0].exit_code) == ("finished", ExitCode.FATAL)


@pytest.mark.slow
def test_workers_that_never_start_end_the_run_and_mark_no_file(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", ["one"])
    batch.pdf("b.pdf", ["two"])
    monkeypatch.setattr(tasks, "start", end_at_once)
    with pytest.raises(WorkersError, match=r"do not start .*No file was marked; run again"):
        batch.run()
    monkeypatch.undo()
    with closing(open_for_reading(batch.database)) as db:
        assert status(db).files == {}
    assert batch.run().pages == {"ok": 2}
