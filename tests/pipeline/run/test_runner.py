"""Whole runs, with real files, workers, model and database; the model is a tiny one."""

import logging
import shutil
from contextlib import closing
from pathlib import Path

import pymupdf
import pytest
from PIL import Image

from encoders.graphs.manager import EncoderGraphManager
from pipeline.config.schema import Config
from pipeline.device import open_models
from pipeline.device.run_encoder import RunEncoder
from pipeline.errors import ConfigError, DeviceLostError, ExitCode
from pipeline.reports.progress import Silent
from pipeline.reports.status import status_lines
from pipeline.run.runner import prepared, run
from pipeline.stop import Stop
from pipeline.types import PageResult
from storage.database import open_for_reading
from storage.queries.statistics import status
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch, MakePdf
from tests.pipeline.runs import changed, encode_together, read_slowly, rows, run_quietly
from tests.pipeline.winning import capture_that_wins


def test_every_page_becomes_a_row(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one", "", "three"])
    Image.effect_noise((300, 200), 90).save(batch.docs / "b.png")
    (batch.docs / "broken.pdf").write_bytes(b"nonsense")
    (batch.docs / "notes.txt").write_text("notes", encoding="utf-8")
    with pymupdf.open() as document:
        document.new_page()
        document.save(
            batch.docs / "secret.pdf",
            encryption=pymupdf.PDF_ENCRYPT_AES_256,
            user_pw="secret",
            owner_pw="owner",
        )

    summary = batch.run()

    assert summary.pages == {"ok": 3, "blank": 1}
    assert summary.documents == {"ok": 2, "broken": 1, "skipped": 1, "encrypted": 1}
    assert summary.exit_code == ExitCode.INCOMPLETE
    found = rows(batch.database)
    assert [(Path(row["path"]).name, row["page"], row["status"], row["text"]) for row in found] == [
        ("a.pdf", 1, "ok", TEXT),
        ("a.pdf", 2, "blank", ""),
        ("a.pdf", 3, "ok", TEXT),
        ("b.png", 1, "ok", TEXT),
    ]
    without_text = {"discover", "render", "tile", "store"}
    with_text = {"encode_global", "encode_local", "decode_prefill", "decode_generate", "place"} | without_text
    assert [set(row["timings"]) for row in found[:2]] == [with_text, without_text]
    stored = status(open_for_reading(batch.database)).runs[0]
    assert (stored.state, stored.exit_code, stored.num_pages) == ("finished", 3, 4)
    assert stored.counts["pages_ok"] == 3


def test_a_second_run_reads_only_what_is_new(
    docs: Path, config: Config, database: str, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pdf(docs / "a.pdf", ["one", ""])
    make_pdf(docs / "b.pdf", ["two"])
    assert run_quietly(config).exit_code == ExitCode.OK

    def no_model(config: Config) -> None:
        pytest.fail("the model was loaded for nothing")

    with monkeypatch.context() as patch:
        patch.setattr(open_models, "load_model", no_model)
        (docs / "sub").mkdir()
        shutil.move(docs / "a.pdf", docs / "sub" / "moved.pdf")
        shutil.copy(docs / "b.pdf", docs / "copy.pdf")
        summary = run_quietly(config)
    assert (summary.num_pages, summary.num_done_before, summary.num_missing) == (0, 3, 1)

    make_pdf(docs / "b.pdf", ["changed", "and longer"])
    summary = run_quietly(config)
    assert summary.pages == {"ok": 2}
    names = [(Path(row["path"]).name, row["page"], row["status"]) for row in rows(database)]
    assert names == [
        ("b.pdf", 1, "ok"),
        ("b.pdf", 2, "ok"),
        ("copy.pdf", 1, "ok"),
        ("moved.pdf", 1, "ok"),
        ("moved.pdf", 2, "blank"),
    ]


@pytest.mark.slow
def test_truncated_pages_are_tried_again_up_to_the_limit(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one"])
    short = changed(batch.config, decode={"max_tokens": 80}, store={"attempt_limit": 2})
    for _ in range(2):
        summary = run_quietly(short)
        assert summary.pages == {"truncated": 1}
        assert summary.exit_code == ExitCode.INCOMPLETE
    summary = run_quietly(short)
    assert (summary.num_pages, summary.num_given_up) == (0, 1)
    assert summary.exit_code == ExitCode.INCOMPLETE
    assert TEXT.startswith(rows(batch.database)[0]["text"])


def test_pages_and_limits_are_left_out_without_fault(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one", "two", "three", "four"])
    chosen = changed(batch.config, ingest={"pages": "2-", "max_pages_per_document": 1})
    summary = run_quietly(chosen)
    assert (summary.pages, summary.num_left_out) == ({"ok": 1}, 2)
    assert summary.exit_code == ExitCode.OK


@pytest.mark.slow
def test_a_run_records_what_its_encoder_did(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    batch.pdf("a.pdf", ["one", "two", "three"])
    capture_that_wins(monkeypatch)
    encode_together(monkeypatch, 3)
    graphs = {"max_items": 2, "budgets": {"global": [64, 128]}}
    with_graphs = changed(batch.config, encoder=graphs, decode={"batch_size": 3})
    assert run_quietly(with_graphs).pages == {"ok": 3}
    with closing(open_for_reading(batch.database)) as db:
        found = status(db)
        uses = db.conn.execute("SELECT stage, path_use FROM timings WHERE path_use IS NOT NULL").fetchall()
    assert uses == [("encode_global", "hit")] * 3, "a tiny page has no tiles"
    stored = found.runs[0].encoder
    assert stored is not None
    assert stored["global"]["hits"] == 3
    assert stored["global"]["budgets"] == {"512": [64, 128]}
    shown = [line for line in status_lines(found) if "encoder " in line]
    assert len(shown) == 1
    assert shown[0].startswith("    encoder global: 3 views: all replayed; padding ")

    monkeypatch.undo()
    assert batch.run(run={"force": True}).pages == {"ok": 3}
    assert batch.run().pages == {}
    with closing(open_for_reading(batch.database)) as db:
        *_, eager, idle = status(db).runs
    assert eager.encoder is not None
    assert eager.encoder["global"]["eager"] == 3
    assert idle.encoder is None, "nothing was read"


@pytest.mark.slow
def test_a_stopped_run_frees_its_graphs_and_records_them(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", ["one", "two"])
    closed: list[RunEncoder] = []
    real = RunEncoder.close

    def close(self: RunEncoder) -> None:
        closed.append(self)
        real(self)

    monkeypatch.setattr(RunEncoder, "close", close)
    read_slowly(monkeypatch, 0.3)
    stop = Stop()

    class StopsAfterOne(Silent):
        def page_done(self, result: PageResult) -> None:
            stop.request("SIGTERM")

    run(changed(batch.config, decode={"batch_size": 1}), StopsAfterOne(), stop)
    assert len(closed) == 1
    stored = status(open_for_reading(batch.database)).runs[0]
    assert stored.exit_code == ExitCode.STOPPED
    assert stored.encoder is not None
    assert stored.encoder["global"]["eager"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", [RuntimeError("no memory for graphs"), DeviceLostError("the GPU is gone")])
def test_graphs_that_cannot_be_captured_cost_nothing_but_the_graphs(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: Exception
) -> None:
    batch.pdf("a.pdf", ["one"])

    def fails(self: EncoderGraphManager, *_: object) -> None:
        raise fault

    monkeypatch.setattr(EncoderGraphManager, "warm_up", fails)
    if isinstance(fault, RuntimeError):
        with caplog.at_level(logging.WARNING, logger="ocrbatch"):
            assert batch.run().pages == {"ok": 1}
        assert "no memory for graphs; going on without them" in caplog.text
    else:
        with pytest.raises(DeviceLostError):
            batch.run()
    stored = status(open_for_reading(batch.database)).runs[0]
    assert stored.state == "finished"
    assert stored.encoder is not None


@pytest.mark.parametrize("paths", [[], ["no-such-folder"]])
def test_nothing_is_written_without_a_path_to_read(batch: Batch, paths: list[str]) -> None:
    with pytest.raises(ConfigError):
        batch.run(ingest={"paths": paths})
    assert not Path(batch.database).exists()


def test_keys_of_page_models_are_named_where_lines_are_read(caplog: pytest.LogCaptureFixture) -> None:
    values = {
        "device": "cpu",
        "dtype": "bfloat16",
        "ingest": {"paths": ["tests"]},
        "decode": {"max_tokens": 5, "batch_size": 2},
        "encoder": {"graphs": "on"},
    }
    with caplog.at_level(logging.WARNING, logger="ocrbatch"):
        prepared(Config.model_validate(values), Stop())
    keys = sorted(record.getMessage().split()[0] for record in caplog.records)
    assert keys == ["decode.batch_size", "decode.max_tokens", "dtype", "encoder.graphs"]
    caplog.clear()
    prepared(Config.model_validate({"ingest": {"paths": ["tests"]}}), Stop())
    assert not caplog.records
