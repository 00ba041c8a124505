"""Every file is listed once, what a path held before too, each with its pages."""

from dataclasses import asdict
from pathlib import Path

from storage.database import open_for_reading
from storage.queries.listing import FileStatus, file_statuses
from storage.queries.statistics import status
from storage.records.store import Store
from tests.storage.sample_records import SETTINGS, SHA_A, SHA_B, a_file, a_page, a_run, mark_missing, new_run


def test_files_are_listed_with_status_pages_and_reason(store: Store, path: Path) -> None:
    first = new_run(
        store,
        a_file("a.pdf"),
        a_file("copy.pdf"),
        a_file("locked.pdf", SHA_B, status="encrypted", reason="needs a password", num_pages=0),
        a_file("/gone/x.pdf", "c" * 64, num_pages=1),
    )
    store.plan_pages(SHA_A, [0, 1], SETTINGS, attempt_limit=1)
    store.record_page(first, a_page())
    second = store.start_run(a_run())
    store.record_file(second, a_file("a.pdf", "d" * 64, num_pages=2))
    mark_missing(store, second, "/gone")
    with open_for_reading(str(path)) as db:
        found = list(file_statuses(db))
        counted = status(db)
    read = {"pending": 1, "ok": 1}
    replaced = f"run {second} found other content there"
    assert found == [
        FileStatus(path="/gone/x.pdf", status="missing", num_pages=1, pages={}, reason="last found by run 1"),
        FileStatus(path="a.pdf", status="ok", num_pages=2, pages={}, reason=None),
        FileStatus(path="a.pdf", status="superseded", num_pages=3, pages=read, reason=replaced),
        FileStatus(path="copy.pdf", status="ok", num_pages=3, pages=read, reason=None),
        FileStatus(path="locked.pdf", status="encrypted", num_pages=0, pages={}, reason="needs a password"),
    ]
    assert (counted.superseded, counted.files["missing"]) == (1, 1)
    assert list(asdict(found[3])) == [
        "path", "status", "num_pages", "pages", "reason", "older_pages", "doubtful", "low_confidence",
    ]  # fmt: skip


def test_pages_that_the_last_run_s_settings_did_not_make_are_told(store: Store, path: Path) -> None:
    """Of the last run that found the content: what other runs read elsewhere is none of it."""
    first = new_run(store, a_file("a.pdf"), a_file("b.pdf", SHA_B, num_pages=1))
    for page in (a_page("kept"), a_page("not asked for", 1), a_page("elsewhere", sha256=SHA_B)):
        store.record_page(first, page)
    second = store.start_run(a_run(settings_hash="settings-2"))
    store.record_file(second, a_file("moved.pdf"))
    store.record_page(second, a_page(None, settings_hash="settings-2"))
    store.record_page(second, a_page("new", 2, settings_hash="settings-2"))
    with open_for_reading(str(path)) as db:
        found = {file.path: file.older_pages for file in file_statuses(db)}
        assert status(db).older_pages == 2
    assert found == {"a.pdf": 2, "b.pdf": 0, "moved.pdf": 2}


def test_pages_read_with_a_low_confidence_are_listed_by_the_last_run_s_bound(
    store: Store, path: Path
) -> None:
    run_id = store.start_run(a_run(config={"store": {"low_confidence": 0.7}}))
    store.record_file(run_id, a_file("a.pdf"))
    for index, confidence in enumerate((0.69, 0.7, None)):
        store.record_page(run_id, a_page("text", index, confidence=confidence))
    with open_for_reading(str(path)) as db:
        (file,) = file_statuses(db)
    assert file.low_confidence == ({"page": 1, "status": "ok", "confidence": 0.69},)
