"""A correction counts as the page's text everywhere, and nothing that was read is lost."""

from pathlib import Path

import pytest

from storage.database import open_for_reading, open_for_writing
from storage.errors import CorrectionError
from storage.export.rows import PageRow, export_rows
from storage.records.corrections import correct, withdraw
from storage.records.store import Store
from storage.upkeep.audit import audit
from tests.storage.sample_records import WordRecord, a_page, new_run, rows

MATCH = "SELECT rowid FROM page_search WHERE page_search MATCH ?"
FIXED = {"text": "right words", "made_by": "ada", "markdown": "# right words"}


def page(path: Path) -> PageRow:
    with open_for_reading(str(path)) as db:
        return next(export_rows(db, with_words=True))


def corrected(store: Store, path: Path, *corrections: dict[str, str]) -> None:
    words = (
        WordRecord(text="wrong", box_px=(1, 2, 3, 4), confidence=0.5),
        WordRecord(text="words", box_px=(5, 2, 9, 4)),
    )
    store.record_page(new_run(store), a_page("wrong words", words=words))
    with open_for_writing(str(path)) as db:
        for correction in corrections:
            correct(db, 1, **correction, attempt_id=1)


def test_it_is_the_text_of_exports_and_searches(store: Store, path: Path) -> None:
    corrected(store, path, FIXED)
    row = page(path)
    assert (row["text"], row["markdown"], row["corrected_by"]) == ("right words", "# right words", "ada")
    assert [(word["text"], word["box"]) for word in row["words"]] == [
        ("right", (1, 2, 3, 4)),
        ("words", (5, 2, 9, 4)),
    ]
    assert rows(path, MATCH, "right") == [(1,)]
    assert rows(path, MATCH, "wrong") == []
    assert rows(path, "SELECT text, corrected_by FROM page_text WHERE text IS NOT NULL") == [
        ("right words", "ada")
    ]


def test_cut_words_follow_it(store: Store, path: Path) -> None:
    store.record_page(new_run(store), a_page("a cor-\nrection"))
    with open_for_writing(str(path)) as db:
        for text, found in (("a plain one", []), ("an amend-\nment", ["amendment"])):
            correct(db, 1, text, made_by="ada", attempt_id=1)
            words = ("correction", "amendment")
            assert [word for word in words if rows(path, MATCH, word)] == found
        withdraw(db, 1)
        assert rows(path, MATCH, "correction") == [(1,)]
        assert rows(path, MATCH, "amendment") == []
        assert audit(db).problems == []


def test_what_was_read_stays_and_comes_back(store: Store, path: Path) -> None:
    corrected(store, path, FIXED, {"text": "other words", "made_by": "bob"})
    assert rows(path, "SELECT text FROM attempts") == [("wrong words",)]
    assert rows(path, "SELECT read_text, text, made_by FROM corrections") == [
        ("wrong words", "right words", "ada"), ("wrong words", "other words", "bob"),
    ]  # fmt: skip
    assert page(path)["markdown"] == "other words"
    with open_for_writing(str(path)) as db:
        withdraw(db, 1)
    assert page(path)["text"] == "wrong words"
    assert (rows(path, MATCH, "wrong"), rows(path, MATCH, "other")) == ([(1,)], [])


def test_it_counts_after_the_page_was_read_again(store: Store, path: Path) -> None:
    corrected(store, path, FIXED)
    store.record_page(new_run(store), a_page("new words", settings_hash="settings-2"))
    assert rows(path, "SELECT current_attempt_id FROM pages WHERE id = 1") == [(2,)]
    assert page(path)["text"] == "right words"
    with open_for_reading(str(path)) as db:
        assert audit(db).problems == []


def test_a_text_that_is_current_no_more_cannot_be_corrected(store: Store, path: Path) -> None:
    corrected(store, path)
    store.record_page(new_run(store), a_page("new words", settings_hash="settings-2"))
    with open_for_writing(str(path)) as db, pytest.raises(CorrectionError, match="read again meanwhile"):
        correct(db, 1, **FIXED, attempt_id=1)
    assert rows(path, "SELECT * FROM corrections") == []


def test_a_page_without_a_text_cannot_be_corrected(store: Store, path: Path) -> None:
    store.record_page(new_run(store), a_page(None))
    with open_for_writing(str(path)) as db, pytest.raises(CorrectionError, match="no text to correct"):
        correct(db, 1, **FIXED, attempt_id=1)


def test_a_page_goes_with_its_corrections(store: Store, path: Path) -> None:
    corrected(store, path, FIXED)
    with open_for_writing(str(path)) as db:
        db.conn.execute("UPDATE pages SET current_attempt_id = NULL WHERE id = 1")
        db.conn.execute("DELETE FROM attempts")
        db.conn.execute("DELETE FROM pages")
    assert rows(path, "SELECT * FROM corrections") == []
    assert rows(path, MATCH, "right") == []
