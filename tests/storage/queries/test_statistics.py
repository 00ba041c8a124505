"""Statistics agree with what was stored."""

import json
import statistics
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.database import open_for_reading
from storage.queries.statistics import Status, stages, status
from storage.records.store import Store
from storage.types import StageTiming
from tests.storage.sample_records import (
    SETTINGS,
    SHA_A,
    SHA_B,
    a_file,
    a_page,
    a_run,
    mark_missing,
    new_run,
)


def read_status(path: Path) -> Status:
    with open_for_reading(str(path)) as db:
        return status(db)


def timed(stage: str, share_s: float) -> StageTiming:
    return StageTiming(stage=stage, share_s=share_s, wall_s=share_s * 2, batch_size=2)


def test_an_empty_database_has_a_status(store: Store, path: Path) -> None:
    found = read_status(path)
    assert (found.runs, found.pages, found.documents, found.files, found.stages) == ([], {}, {}, {}, [])
    assert (found.left_out_pages, found.num_attempts) == (0, 0)
    assert found.database == str(path)


def test_pages_and_documents_are_counted_once_and_files_each(store: Store, path: Path) -> None:
    run_id = new_run(
        store,
        a_file("a.pdf"),
        a_file("copy.pdf"),
        a_file("locked.pdf", SHA_B, status="encrypted", num_pages=0),
        a_file("x.bin", None, status="skipped"),
        a_file("/gone/y.pdf", "c" * 64, num_pages=1),
    )
    store.plan_pages(SHA_A, [0, 1], SETTINGS, attempt_limit=1)
    store.record_page(run_id, a_page(None))
    store.record_page(run_id, a_page())
    mark_missing(store, store.start_run(a_run()), "/gone")
    found = read_status(path)
    assert found.pages == {"pending": 1, "ok": 1}
    assert list(found.pages) == ["pending", "ok"]
    assert found.documents == {"encrypted": 1, "missing": 1, "ok": 1, "skipped": 1}
    assert found.files == {"encrypted": 1, "missing": 1, "ok": 2, "skipped": 1}
    assert found.left_out_pages == 2  # the third of a.pdf, the only one of y.pdf
    assert found.num_attempts == 2


def test_pages_of_replaced_content_are_not_counted(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page())
    store.record_file(run_id, a_file(sha256=SHA_B))
    assert read_status(path).pages == {}


def test_runs_say_how_they_ended(path: Path) -> None:
    with Store(path) as store:
        first = new_run(store)
        store.record_page(first, a_page())
        store.finish_run(first, exit_code=3, counts={"pages_ok": 1})
        store.start_run(a_run(model="other"))
        running = read_status(path).runs
    assert [run.state for run in running] == ["finished", "running"]
    assert [run.state for run in read_status(path).runs] == ["finished", "interrupted"]
    done = running[0]
    assert (done.exit_code, done.num_pages, done.counts, done.model) == (3, 1, {"pages_ok": 1}, "small")
    assert done.seconds is not None
    assert done.pages_per_s == pytest.approx(1 / done.seconds)
    assert (running[1].num_pages, running[1].pages_per_s, running[1].counts) == (0, None, {})
    assert running[1].seconds is not None


def test_runs_say_what_their_encoder_and_their_stages_did(path: Path) -> None:
    encoder = {"local": {"hits": 3, "budgets": {"640": [100]}}}
    flow = {"stages": [{"name": "decode", "busy": 0.9}], "num_tokens": 70, "gpu_busy": None}
    with Store(path) as store:
        without, reading = new_run(store), store.start_run(a_run())
        store.finish_run(without, exit_code=0, counts={})
        store.finish_run(reading, exit_code=0, counts={}, encoder=encoder, flow=flow)
        store.start_run(a_run())
        found = read_status(path)
    assert [(run.encoder, run.flow) for run in found.runs] == [(None, None), (encoder, flow), (None, None)]
    run = json.loads(json.dumps(asdict(found), allow_nan=False))["runs"][1]
    assert (run["encoder"], run["flow"]) == (encoder, flow)


def test_a_killed_run_ends_with_its_last_page(path: Path) -> None:
    with Store(path) as store:
        store.record_page(new_run(store), a_page())
        sql = "UPDATE runs SET started_at = '2026-01-01T00:00:00.000+00:00'"
        store._db.conn.execute(sql)
        store._db.conn.execute("UPDATE attempts SET finished_at = '2026-01-01T00:00:04.000+00:00'")
    (run,) = read_status(path).runs
    assert (run.state, run.seconds, run.pages_per_s) == ("interrupted", 4.0, 0.25)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(shares=st.lists(st.floats(0.001, 100), min_size=1, max_size=130))
def test_stage_statistics_are_those_of_the_standard_library(
    tmp_path_factory: pytest.TempPathFactory, shares: list[float]
) -> None:
    path = tmp_path_factory.mktemp("stages") / "test.db"
    with Store(path) as store:
        run_id = new_run(store)
        attempt = store.record_page(run_id, a_page(timings=(timed("store", 0.0),)))
        store._db.conn.execute("DELETE FROM timings")
        store._db.conn.executemany(
            "INSERT INTO attempts (id, page_id, run_id, settings_hash, status, finished_at, seconds, num_tokens, text)"
            " SELECT ?, page_id, run_id, settings_hash, status, finished_at, 0, 0, '' FROM attempts LIMIT 1",
            [(attempt + 1 + index,) for index in range(len(shares))],
        )
        store._db.conn.executemany(
            "INSERT INTO timings (run_id, attempt_id, stage, share_s, wall_s, batch_size)"
            " VALUES (?, ?, 'render', ?, 0, 1)",
            [(run_id, attempt + 1 + index, share) for index, share in enumerate(shares)],
        )
        with open_for_reading(str(path)) as db:
            (found,) = stages(db)
    assert found["num_pages"] == len(shares)
    assert found["total_s"] == pytest.approx(sum(shares))
    assert found["mean_s"] == pytest.approx(statistics.fmean(shares))
    assert found["median_s"] == pytest.approx(statistics.median(shares))
    assert sum(share <= found["p99_s"] for share in shares) >= 0.99 * len(shares)
    assert sum(share < found["p99_s"] for share in shares) < 0.99 * len(shares)


def test_stages_are_summed_on_a_page_and_ordered_by_total(store: Store, path: Path) -> None:
    store_s = timed("store", 0.0)
    first = new_run(store)
    store.record_page(first, a_page(timings=(timed("render", 1.0), timed("render", 2.0), store_s)))
    second = store.start_run(a_run())
    store.record_page(second, a_page(page_index=1, timings=(timed("decode", 5.0), store_s)))
    with open_for_reading(str(path)) as db:
        assert [stage["stage"] for stage in stages(db)] == ["decode", "render", "store"]
        assert stages(db)[1] == {
            "stage": "render", "num_pages": 1, "total_s": 3.0, "mean_s": 3.0, "median_s": 3.0, "p99_s": 3.0
        }  # fmt: skip
