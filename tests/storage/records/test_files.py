"""Paths and content: equal, changed, unreadable, moved and vanished files."""

import os
from pathlib import Path
from typing import Any

import pytest

from storage.records import files
from storage.records.store import Store
from tests.storage.sample_records import SHA_A, SHA_B, a_file, a_page, a_run, mark_missing, new_run, rows

LINKS = "SELECT f.path, d.sha256, f.status FROM files f JOIN documents d ON d.id = f.document_id ORDER BY 1"


def test_equal_content_is_one_document(store: Store, path: Path) -> None:
    new_run(store, a_file("a.pdf"), a_file("copy.pdf"))
    assert rows(path, LINKS) == [("a.pdf", SHA_A, "ok"), ("copy.pdf", SHA_A, "ok")]
    assert rows(path, "SELECT kind, size_bytes, num_pages FROM documents") == [("pdf", 10, 3)]


def test_a_changed_file_points_at_its_new_content_and_history_stays(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page("old"))
    store.record_file(run_id, a_file(sha256=SHA_B))
    assert rows(path, LINKS) == [("docs/a.pdf", SHA_B, "ok")]
    assert rows(path, "SELECT sha256 FROM documents ORDER BY 1") == [(SHA_A,), (SHA_B,)]
    assert rows(path, "SELECT text FROM attempts") == [("old",)]


@pytest.mark.parametrize("status", ["skipped", "encrypted", "broken", "left_out"])
def test_files_that_cannot_be_read_have_a_row_with_the_reason(store: Store, path: Path, status: str) -> None:
    new_run(store, a_file(status=status, reason="why", num_pages=0))
    assert rows(path, "SELECT status, reason FROM files") == [(status, "why")]
    assert rows(path, "SELECT status, reason FROM documents") == [(status, "why")]


def test_one_empty_content_may_be_broken_here_and_skipped_there(store: Store, path: Path) -> None:
    new_run(store, a_file("a.pdf", status="broken"), a_file("a.xyz", status="skipped"))
    assert rows(path, LINKS) == [("a.pdf", SHA_A, "broken"), ("a.xyz", SHA_A, "skipped")]


def test_files_without_content_share_no_document(store: Store, path: Path) -> None:
    new_run(store, *(a_file(name, None, status="broken", reason="denied") for name in "ab"))
    assert rows(path, "SELECT count(DISTINCT document_id) FROM files") == [(2,)]
    store.record_file(1, a_file("a", None, status="broken", reason="denied"))
    assert rows(path, "SELECT count(*) FROM documents") == [(2,)]
    store.record_file(1, a_file("a", SHA_A))
    assert rows(path, LINKS) == [("a", SHA_A, "ok"), ("b", None, "broken")]
    assert rows(path, "SELECT count(*) FROM documents") == [(2,)]


def test_a_file_that_cannot_be_read_any_more_keeps_its_pages(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page("kept"))
    store.record_file(run_id, a_file(sha256=None, status="broken", reason="permission denied"))
    assert rows(path, LINKS) == [("docs/a.pdf", SHA_A, "broken")]
    assert rows(path, "SELECT path, text FROM results") == [("docs/a.pdf", "kept")]


def test_a_failed_look_does_not_forget_the_number_of_pages(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_file(run_id, a_file(status="broken", reason="timeout", num_pages=0, kind=None))
    assert rows(path, "SELECT status, num_pages, kind FROM documents") == [("broken", 3, "pdf")]


def test_vanished_files_are_marked_and_unmarked(store: Store, path: Path, tmp_path: Path) -> None:
    there, gone, outside = (str(tmp_path / name) for name in ("in/there.pdf", "in/gone.pdf", "in-not/x.pdf"))
    os.mkdir(tmp_path / "in")
    Path(there).touch()
    files = [a_file(there, SHA_A), a_file(gone, SHA_B), a_file(outside, "c" * 64)]
    new_run(store, *files)
    second = store.start_run(a_run())
    # `there` exists but was not walked this time (a pattern left it out): it is not missing.
    assert mark_missing(store, second, str(tmp_path / "in")) == 1
    statuses = "SELECT path, status FROM files ORDER BY path"
    assert rows(path, statuses) == [(outside, "ok"), (gone, "missing"), (there, "ok")]
    assert mark_missing(store, second, str(tmp_path / "in")) == 0
    store.record_file(second, files[1])
    assert mark_missing(store, second, str(tmp_path / "in")) == 0
    assert dict(rows(path, statuses))[gone] == "ok"
    assert rows(path, "SELECT count(*) FROM documents") == [(3,)]


def test_a_root_may_be_relative_the_root_folder_or_a_file(
    store: Store, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new_run(store, a_file("docs/a.pdf"), a_file("b.pdf", SHA_B), a_file("/nowhere/c.pdf", "c" * 64))
    second = store.start_run(a_run())
    assert mark_missing(store, second, "docs/../docs/") == 1
    assert mark_missing(store, second, "b.pdf") == 1
    assert mark_missing(store, second, "/") == 1


def test_names_that_are_not_unicode_are_looked_for_as_they_are(
    store: Store, path: Path, tmp_path: Path
) -> None:
    name = str(tmp_path / "caf\udce9.pdf")
    Path(name).touch()
    new_run(store, a_file(name))
    second = store.start_run(a_run())
    assert mark_missing(store, second, str(tmp_path)) == 0
    os.unlink(name)
    assert mark_missing(store, second, str(tmp_path)) == 1


def test_only_what_the_run_did_not_find_is_looked_for(store: Store) -> None:
    new_run(store, a_file("/in/a.pdf"), a_file("/in/b.pdf", SHA_B), a_file("/other/c.pdf", "c" * 64))
    second = new_run(store, a_file("/in/a.pdf"))
    assert store.unseen_files(second, ["/in"]) == [(2, "/in/b.pdf")]
    assert store.mark_missing([2]) == 1
    assert store.unseen_files(second, ["/in"]) == []
    assert (store.mark_missing([2, 3]), store.mark_missing([])) == (1, 0)


def test_a_folder_that_may_not_be_entered_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def stat(path: str) -> None:
        raise {"a": FileNotFoundError, "b": PermissionError, "c": NotADirectoryError, "d": OSError}[path]

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", stat)
        found = files.gone(enumerate("abcd"))
    assert found == [0, 2]


def test_a_moved_file_is_listed_once_and_a_vanished_one_still(store: Store, path: Path) -> None:
    run_id = new_run(store, a_file("/gone/old.pdf", SHA_A), a_file("/gone/inbox.pdf", SHA_B))
    store.record_page(run_id, a_page("moved", sha256=SHA_A))
    store.record_page(run_id, a_page("taken out", sha256=SHA_B))
    second = store.start_run(a_run())
    store.record_file(second, a_file("/gone/new.pdf", SHA_A))
    assert mark_missing(store, second, "/gone") == 2
    assert rows(path, "SELECT path, text FROM results ORDER BY path") == [
        ("/gone/inbox.pdf", "taken out"),
        ("/gone/new.pdf", "moved"),
    ]


def test_a_page_has_its_row_as_soon_as_its_document_is_found(store: Store, path: Path) -> None:
    found = "SELECT page_index, status, asked FROM pages ORDER BY 1"
    run_id = new_run(store, a_file("empty.pdf", SHA_B, num_pages=0, status="encrypted"))
    assert rows(path, found) == []
    store.record_file(run_id, a_file(num_pages=2))
    assert rows(path, found) == [(0, "pending", 0), (1, "pending", 0)]
    store.record_page(run_id, a_page("read"))
    store.record_file(run_id, a_file("copy.pdf", num_pages=2))
    store.record_file(run_id, a_file(status="broken", num_pages=0))
    assert rows(path, found) == [(0, "ok", 1), (1, "pending", 0)]
    store.record_file(run_id, a_file(num_pages=3))  # a newer library finds another
    assert rows(path, found) == [(0, "ok", 1), (1, "pending", 0), (2, "pending", 0)]


def test_a_file_and_its_pages_come_together_or_not_at_all(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = store.start_run(a_run())
    real = files._make_pages

    def broken(*args: Any) -> None:
        real(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_make_pages", broken)
    with pytest.raises(KeyboardInterrupt):
        store.record_file(run_id, a_file())
    for table in ("files", "documents", "pages"):
        assert rows(path, f"SELECT count(*) FROM {table}") == [(0,)]


def test_content_that_a_path_held_before_is_noted_until_it_is_back(store: Store, path: Path) -> None:
    noted = "SELECT s.path, d.sha256, s.run_id FROM superseded s JOIN documents d ON d.id = s.document_id"
    first = new_run(store)
    store.record_file(first, a_file(sha256=None, status="broken", reason="denied"))
    assert rows(path, noted) == []
    second = store.start_run(a_run())
    store.record_file(second, a_file(sha256=SHA_B))
    store.record_file(second, a_file(sha256=SHA_B))
    assert rows(path, noted) == [("docs/a.pdf", SHA_A, second)]
    third = store.start_run(a_run())
    store.record_file(third, a_file())
    assert rows(path, noted) == [("docs/a.pdf", SHA_B, third)]


def test_a_root_without_files_any_more_counts_all_and_names_some(store: Store) -> None:
    new_run(store, *(a_file(f"/in/{name}.pdf", sha * 64) for name, sha in zip("abc", "123", strict=True)))
    run_id = new_run(store, a_file("/out/d.pdf", "4" * 64))
    found = store.empty_roots(run_id, ["/in", "/out", "/none", "/in/c.pdf"], 2)
    assert found == {"/in": (3, ["/in/a.pdf", "/in/b.pdf"]), "/in/c.pdf": (1, ["/in/c.pdf"])}
    assert store.empty_roots(run_id, [], 2) == {}
    assert store.unseen_files(run_id, []) == []


def test_what_the_run_did_not_find_is_named_in_parts(store: Store) -> None:
    new_run(store, *(a_file(f"/in/{number}.pdf", f"{number:064}") for number in range(5)))
    second = store.start_run(a_run())
    first = store.unseen_files(second, ["/in"], most=3)
    assert [file_id for file_id, _ in first] == [1, 2, 3]
    store.mark_missing([1, 3])
    assert store.unseen_files(second, ["/in"], after=3, most=3) == [(4, "/in/3.pdf"), (5, "/in/4.pdf")]
    assert store.unseen_files(second, ["/in"], after=5) == []
