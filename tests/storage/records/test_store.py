"""One transaction a page, whatever happens; runs are told apart; secrets stay out."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

from ocr.types import Block
from storage.errors import DatabaseAccessError
from storage.records import attempts
from storage.records.store import Store
from storage.types import StageTiming
from tests.storage.sample_records import SETTINGS, a_file, a_page, a_run, new_run, rows


def test_a_page_is_one_attempt_with_everything_about_it(store: Store, path: Path) -> None:
    run_id = new_run(store)
    page = a_page(
        "Hello world",
        page_index=2,
        markdown="# Hello world",
        confidence=0.9,
        num_tokens=4,
        width_px=1190,
        height_px=1684,
        dpi=144.0,
        blocks=(
            Block(label="title", text="Hello", box_px=(1, 2, 3, 4), confidence=0.75),
            Block(label="text", text="world"),
        ),
        timings=(
            StageTiming(stage="render", share_s=0.25, wall_s=0.25),
            StageTiming(stage="encode_global", share_s=0.5, wall_s=4.0, batch_size=8, path_use="hit"),
        ),
    )
    attempt_id = store.record_page(run_id, page)
    assert rows(path, "SELECT page_index, status, current_attempt_id FROM pages") == [
        (0, "pending", None),
        (1, "pending", None),
        (2, "ok", attempt_id),
    ]
    assert rows(
        path,
        "SELECT run_id, settings_hash, status, seconds, confidence, num_tokens, width_px, height_px, dpi,"
        " text, markdown, error_stage, error_category, error_message FROM attempts",
    ) == [
        (run_id, SETTINGS, "ok", 0.75, 0.9, 4, 1190, 1684, 144.0, "Hello world", "# Hello world", *[None] * 3)
    ]
    assert rows(
        path, "SELECT block_index, label, x0_px, y0_px, x1_px, y1_px, text, confidence FROM blocks"
    ) == [
        (0, "title", 1, 2, 3, 4, "Hello", 0.75),
        (1, "text", None, None, None, None, "world", None),
    ]
    timings = rows(path, "SELECT run_id, stage, path_use, share_s, wall_s, batch_size FROM timings")
    assert timings[:2] == [
        (run_id, "render", None, 0.25, 0.25, 1),
        (run_id, "encode_global", "hit", 0.5, 4.0, 8),
    ]
    (_, stage, _, share_s, wall_s, _) = timings[2]
    assert stage == "store"
    assert 0 < share_s == wall_s < 1


def test_a_store_timing_of_the_caller_is_kept(store: Store, path: Path) -> None:
    timing = StageTiming(stage="store", share_s=7.0, wall_s=7.0)
    store.record_page(new_run(store), a_page(timings=(timing,)))
    assert rows(path, "SELECT stage, share_s FROM timings") == [("store", 7.0)]


@pytest.mark.parametrize("step", ["_insert_attempt", "_insert_blocks", "_is_better", "_insert_timings"])
def test_nothing_is_written_when_storing_breaks_off(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page("before"))
    real = getattr(attempts, step)

    def broken(*args: object) -> None:
        real(*args)
        raise KeyboardInterrupt

    counts = "SELECT (SELECT count(*) FROM pages), (SELECT count(*) FROM attempts),"
    counts += " (SELECT count(*) FROM blocks), (SELECT count(*) FROM timings)"
    before = rows(path, counts)
    monkeypatch.setattr(attempts, step, broken)
    for page_index in (0, 1):
        with pytest.raises(KeyboardInterrupt):
            store.record_page(
                run_id, a_page("after", page_index, blocks=(Block(label="text", text="after"),))
            )
    assert rows(path, counts) == before
    assert rows(path, "SELECT text FROM current_text") == [("before",)]
    assert rows(path, "SELECT rowid FROM page_search WHERE page_search MATCH 'after'") == []
    monkeypatch.undo()
    store.record_page(run_id, a_page("after"))
    assert rows(path, "SELECT text FROM current_text") == [("after",)]


def test_a_run_is_recorded_without_its_secrets(store: Store, path: Path) -> None:
    config = {"model": "small", "hub": {"token": "hf_abc"}, "decode": {"max_tokens": 8192}}
    run_id = store.start_run(a_run(config=config))
    assert rows(path, "SELECT state, finished_at, exit_code FROM runs") == [("running", None, None)]
    store.finish_run(run_id, exit_code=3, counts={"pages_ok": 2})
    ((state, finished_at, seconds, exit_code, stored, versions, counts),) = rows(
        path, "SELECT state, finished_at, seconds, exit_code, config, versions, counts FROM runs"
    )
    assert (state, exit_code, json.loads(counts)) == ("finished", 3, {"pages_ok": 2})
    assert finished_at.endswith("+00:00")
    assert 0 <= seconds < 60
    assert json.loads(stored) == {**config, "hub": {"token": "***"}}
    assert json.loads(versions) == {"ocrbatch": "0.1.0"}


def test_text_that_is_not_unicode_is_kept_as_far_as_it_goes(store: Store, path: Path) -> None:
    run_id = new_run(store, a_file("caf\udce9.pdf"))
    store.record_page(run_id, a_page("nul \0 lone \ud800 end"))
    store.record_file(run_id, a_file("caf\udce9.pdf"))
    assert rows(path, "SELECT path FROM files") == [("caf\\udce9.pdf",)]
    assert rows(path, "SELECT text FROM attempts") == [("nul \0 lone \\ud800 end",)]


def test_foreign_keys_hold(store: Store, path: Path) -> None:
    new_run(store)
    with pytest.raises(sqlite3.IntegrityError):
        store.record_page(999, a_page())
    store.record_page(1, a_page())
    assert rows(path, "PRAGMA foreign_key_check") == []


def test_a_full_disk_is_explained_and_costs_no_stored_page(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page("kept"))
    pages = store._db.conn.execute("PRAGMA page_count").fetchone()[0]
    store._db.conn.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DatabaseAccessError, match="disk is full; free space"):
        store.record_page(run_id, a_page("x" * 1_000_000, 1))
    assert rows(path, "SELECT text FROM current_text") == [("kept",)]


def test_closing_twice_is_fine_and_leaves_only_the_database(path: Path) -> None:
    store = Store(path)
    new_run(store)
    store.close()
    store.close()
    assert os.listdir(path.parent) == [path.name]
