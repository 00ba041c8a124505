"""A run does what its plan said."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pymupdf
import pytest
from PIL import Image

from pipeline import plan as module
from pipeline.cli.main import main
from pipeline.config.schema import Config
from pipeline.errors import ConfigError, ExitCode, StopRequest
from pipeline.plan import plan
from pipeline.reports.plan_lines import Plan
from pipeline.stop import Stop
from storage.database import open_for_reading
from storage.queries.statistics import Pace, pace
from tests.pipeline.conftest import Batch, MakePdf
from tests.pipeline.run.test_runner_walk import Server
from tests.pipeline.runs import changed, run_quietly

SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.fixture
def mixed(docs: Path, make_pdf: MakePdf) -> Path:
    make_pdf(docs / "a.pdf", ["one", "", "three"])
    shutil.copy(docs / "a.pdf", docs / "copy.pdf")
    Image.effect_noise((80, 60), 90).save(docs / "b.png")
    with pymupdf.open() as document:
        document.new_page().insert_image((0, 0, 300, 300), filename=docs / "b.png")
        document.save(docs / "scan.pdf")
    with pymupdf.open() as document:
        document.new_page()
        document.save(docs / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret")
    (docs / "broken.pdf").write_bytes(b"nonsense")
    for name in ("a.txt", "b.TXT", "noted"):
        (docs / name).write_text("notes")
    return docs


@pytest.mark.slow
def test_a_plan_counts_what_the_run_then_reads_and_makes_no_database(mixed: Path, config: Config) -> None:
    before = sorted(mixed.parent.rglob("*"))
    found = plan(config, Stop())
    assert sorted(mixed.parent.rglob("*")) == before
    assert found.is_new
    assert found.documents == {"ok": 4, "encrypted": 1, "broken": 1, "skipped": 3}
    assert found.skipped_types == {".txt": 2, "without an ending": 1}
    assert (found.num_copies, found.num_found, found.num_to_read, found.num_done_before) == (1, 5, 5, 0)
    assert found.kinds == {"digital": 2, "empty": 1, "scanned": 2}
    assert {(Path(one["path"]).name, one["status"]) for one in found.refused} == {
        ("locked.pdf", "encrypted"),
        ("broken.pdf", "broken"),
    }
    assert found.estimated_s is None
    summary = run_quietly(config)
    assert summary.num_pages == found.num_to_read
    assert summary.documents == found.documents


@pytest.mark.slow
def test_what_was_read_is_done_and_gives_the_estimate(mixed: Path, batch: Batch) -> None:
    summary = batch.run()
    batch.pdf(mixed / "new.pdf", ["four", "five"])
    found = plan(batch.config, Stop())
    assert not found.is_new
    assert (found.num_done_before, found.num_to_read, found.kinds) == (5, 2, {"digital": 2})
    assert found.pace is not None
    assert found.pace.num_pages == 5
    assert found.estimated_s == pytest.approx(2 / 5 * summary.wall_s, rel=0.3)
    assert plan(changed(batch.config, run={"force": True}), Stop()).num_to_read == 7


@pytest.mark.slow
def test_pages_that_need_no_reading_are_told_and_take_no_time(batch: Batch) -> None:
    batch.run(ingest={"paths": [str(batch.pdf("first.pdf", ["one", "two"]))]})
    shutil.copy(SAMPLES / "report.pdf", batch.docs)
    shutil.copy(SAMPLES / "scanned.pdf", batch.docs)
    taking = batch.config.model_copy(update={"text_layer": "prefer"})
    found = plan(taking, Stop())
    assert found.kinds == {"embedded": 5, "scanned": 2}
    printed = found.to_json()
    assert (found.num_to_read, printed["num_to_read"], printed["num_unread"]) == (7, 2, 5)
    assert "pages to read: 2 (2 scanned)" in found.lines()
    assert "pages that need no reading: 5 (5 with a text layer, pictures apart)" in found.lines()
    assert found.pace is not None
    assert found.estimated_s == pytest.approx(2 * found.pace.seconds_per_page)
    summary = run_quietly(taking)
    assert (summary.num_unread, summary.pages["embedded"], summary.num_pages) == (5, 5, 7)
    with closing(open_for_reading(batch.database)) as db:
        again = pace(db, "other settings", db.conn.execute("SELECT weights_sha256 FROM runs").fetchone()[0])
    assert again is not None
    assert again.num_pages == 4, "two of the first run, and the scans"


@pytest.mark.slow
def test_nothing_but_layers_needs_no_model(batch: Batch) -> None:
    shutil.copy(SAMPLES / "report.pdf", batch.docs)
    found = plan(batch.config.model_copy(update={"text_layer": "prefer"}), Stop())
    assert "time: a fraction of a second a page, without a model" in found.lines()


@pytest.mark.slow
def test_pages_that_are_set_aside_are_not_planned(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one"])
    short = changed(batch.config, decode={"max_tokens": 80}, store={"attempt_limit": 1})
    run_quietly(short)
    found = plan(short, Stop())
    assert (found.num_given_up, found.num_kept, found.num_to_read) == (1, 0, 0)
    assert "pages given up after repeated attempts: 1" in found.lines()
    assert plan(changed(short, run={"retry_failed": True}), Stop()).num_to_read == 1


@pytest.mark.slow
def test_selection_and_limits_count_as_in_the_run(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one", "two", "three", "four"])
    found = plan(changed(batch.config, ingest={"pages": "2-", "max_pages_per_document": 1}), Stop())
    assert (found.num_found, found.num_to_read, found.num_left_out) == (4, 1, 2)


def test_a_plan_can_be_stopped_and_needs_something_to_read(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one"])
    stop = Stop()
    stop.request("SIGTERM")
    with pytest.raises(StopRequest):
        plan(batch.config, stop)
    with pytest.raises(ConfigError):
        plan(changed(batch.config, ingest={"paths": []}), Stop())


def test_a_stop_does_not_wait_for_a_folder_that_hangs(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Stop()
    server = Server(str(batch.pdf("a.pdf", ["one"])), stop=stop)
    monkeypatch.setattr(module, "walk", server.walk)
    assert_stops_soon(batch.config, stop, server)


def test_a_stop_does_not_wait_for_a_path_that_cannot_even_be_looked_at(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Stop()
    server = Server(stop=stop)
    monkeypatch.setattr(module, "walk", lambda *_: server.hang())
    assert_stops_soon(config, stop, server)


def assert_stops_soon(config: Config, stop: Stop, server: Server) -> None:
    try:
        with pytest.raises(StopRequest):
            plan(config, stop)
        assert server.hangs, "it was not waited for"
    finally:
        server.is_back.set()


@pytest.mark.slow
def test_the_pace_is_of_these_settings_or_else_of_this_model(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one", "two"])
    batch.run()
    with closing(open_for_reading(batch.database)) as db:
        settings, weights = db.conn.execute("SELECT settings_hash, weights_sha256 FROM runs").fetchone()
        exact = pace(db, settings, weights)
        assert exact is not None
        assert exact.num_pages == 2
        assert exact.seconds_per_page > 0
        assert pace(db, "other settings", weights) == exact
        assert pace(db, "other settings", "other model") is None


@pytest.mark.slow
def test_the_command_prints_it(
    mixed: Path, reader: Path, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", str(mixed), "--db", database, "--model", str(reader), "--plan"]
    assert main(arguments) == ExitCode.OK
    text = capsys.readouterr().out
    assert "pages to read: 4 (2 digital (with a text layer), 2 scanned)" in text
    assert "pages that need no reading: 1 (1 empty)" in text
    assert "no estimate" in text
    assert main([*arguments, "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["num_files"], found["num_to_read"], found["num_unread"]) == (9, 4, 1)
    assert found["estimated_s"] is None
    assert found["kinds"] == {"digital": 2, "empty": 1, "scanned": 2}
    assert {one["status"] for one in found["refused"]} == {"encrypted", "broken"}
    assert not Path(database).exists()
    assert main(["run", str(mixed), "--json"]) == ExitCode.USAGE


def test_long_lists_are_cut_and_the_time_is_told() -> None:
    found = Plan(
        database="a.db", is_new=False, num_to_read=100, pace=Pace(seconds_per_page=60.0, num_pages=9)
    )
    found.refused += [{"path": str(n), "status": "broken", "reason": "torn"} for n in range(25)]
    lines = found.lines()
    assert lines[-1] == "and 5 more that cannot be read; --json has all"
    assert "time: about 1 h 40 min (60 s a page, as the last 9 pages took)" in lines
