"""Documents are matched and their pages read by indexes, a document at a time, however many there are."""

import re
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from storage.database import open_for_reading
from storage.queries import comparison, listing
from storage.queries.comparison import Side, compare
from storage.records.store import Store
from tests.storage.sample_records import a_file, a_page, new_run

_NUM_DOCUMENTS = 30
_WHOLE = re.compile(r"SCAN (p|a|d|l|pages|attempts|documents)( |$)|.*attempts_run|MATERIALIZE")


@pytest.fixture
def many(path: Path) -> Path:
    with Store(path) as store:
        files = [
            a_file(f"/in/{number:02}.pdf", f"{number:064}", num_pages=2) for number in range(_NUM_DOCUMENTS)
        ]
        run = new_run(store, *files)
        for file in files:
            for index in range(2):
                store.record_page(run, a_page("text", index, sha256=file.sha256))
    return path


def num_documents_read(asked: list[str]) -> int:
    """Returns how many statements read the pages of a document."""
    return sum("WHERE p.document_id = " in statement and "page_index" in statement for statement in asked)


@pytest.mark.parametrize(
    "statement",
    [
        listing._FILES,
        listing._SUPERSEDED,
        listing._PAGES.replace("?", ":document"),
        comparison._CURRENT,
        comparison._CURRENT_PAGES,
        comparison._PAGES_OF_RUN,
    ],
)
def test_a_document_does_not_go_through_all_pages_or_a_whole_run(many: Path, statement: str) -> None:
    with closing(open_for_reading(str(many))) as db:
        explained = db.conn.execute(f"EXPLAIN QUERY PLAN {statement}", {"document": 1, "run": 1})
        steps = [row[3] for row in explained]
    assert [step for step in steps if _WHOLE.match(step)] == []
    assert any("SEARCH" in step for step in steps)


@pytest.mark.parametrize("run_id", [None, 1])
def test_a_comparison_asks_for_one_document_after_the_other(many: Path, run_id: int | None) -> None:
    with closing(open_for_reading(str(many))) as db:
        asked = list[str]()
        db.conn.set_trace_callback(asked.append)
        found = compare(Side(db=db, run_id=run_id), Side(db=db, run_id=run_id))
        assert not db.conn.in_transaction
    assert (found["same"], found["changed"]) == (2 * _NUM_DOCUMENTS, 0)
    # Texts of the same hash are not read.
    assert not [statement for statement in asked if "a.text)" in statement or "SELECT text" in statement]
    assert num_documents_read(asked) == 2 * _NUM_DOCUMENTS


def test_the_first_files_are_listed_before_the_last_are_read(many: Path) -> None:
    with closing(open_for_reading(str(many))) as db:
        asked = list[str]()
        db.conn.set_trace_callback(asked.append)
        first = list(islice(listing.file_statuses(db), 3))
        assert [file.path for file in first] == ["/in/00.pdf", "/in/01.pdf", "/in/02.pdf"]
        assert num_documents_read(asked) == 3
