"""What a run asks for each document and page is found by an index, however many there are."""

import re
import sqlite3

from storage.records.store import Store
from storage.recovery import in_flight
from tests.storage.sample_records import SETTINGS, SHA_A, SHA_B, a_file, a_page, a_run, new_run

_SCAN = re.compile(r"SCAN (documents|files|pages|attempts|blocks|timings|corrections|superseded|\w)( |$)")


def scans(conn: sqlite3.Connection, statements: list[str]) -> list[str]:
    """Returns the statements that go through a whole table."""
    found = []
    for statement in statements:
        if statement.lstrip().split()[0].upper() in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"):
            steps = [row[3] for row in conn.execute(f"EXPLAIN QUERY PLAN {statement}")]
            if any(_SCAN.match(step) for step in steps):
                found.append(f"{statement} {steps}")
    return found


def test_a_scan_is_noticed(store: Store) -> None:
    assert scans(
        store._db.conn, ["SELECT id FROM pages WHERE asked = 1", "SELECT 1 FROM pages WHERE id = 1"]
    ) == ["SELECT id FROM pages WHERE asked = 1 ['SCAN pages']"]


def test_no_document_and_no_page_goes_through_a_table(store: Store) -> None:
    conn, asked = store._db.conn, list[str]()
    first = new_run(store, a_file("/in/a.pdf", num_pages=3))
    store.plan_pages(SHA_A, range(3), SETTINGS, attempt_limit=3)
    store.record_page(first, a_page("one"))
    store.finish_run(first, exit_code=0, counts={})
    run_id = store.start_run(a_run())
    conn.set_trace_callback(asked.append)
    store.record_file(run_id, a_file("/in/a.pdf", num_pages=3))
    store.record_file(run_id, a_file("/in/b.pdf", SHA_B, num_pages=2))
    for sha256, num_pages in ((SHA_A, 3), (SHA_B, 2)):
        store.plan_pages(sha256, range(num_pages), SETTINGS, attempt_limit=3)
    in_flight.mark(conn, run_id, [(SHA_A, 1), (SHA_A, 2)], alone=False)
    store.record_first(run_id, a_page("first", 1))
    store.record_page(run_id, a_page("two", 1), attempt_limit=3)
    store.record_page(run_id, a_page(None, 2), attempt_limit=3)
    in_flight.end_run(conn, run_id)
    conn.set_trace_callback(None)
    assert len(asked) > 40
    assert scans(conn, asked) == []
