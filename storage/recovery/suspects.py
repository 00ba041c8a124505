"""Sets apart pages that may have lost the model or killed the process: read after the others, alone if necessary.

One loss says little about each of several pages in the model. Read last, together again, none of them keeps the others
from being read; read one by one, only the one that causes it gets a failed attempt.
"""

import sqlite3
from dataclasses import replace

from storage.recovery import in_flight
from storage.types import LOST_CATEGORIES, PROCESS_DIED, PagePlan


def set_apart(conn: sqlite3.Connection, document: int, plan: PagePlan) -> PagePlan:
    """Returns the plan with pages to be read last, and pages to be read alone, set apart from the others to read."""
    lost, deaths = _lost(conn, document), in_flight.deaths(conn, document)
    alone = {
        index: lost.get(index, 0) + deaths.get(index, 0)
        for index in plan.to_read
        if index in lost or deaths.get(index, 0) > 1
    }
    last = tuple(index for index in plan.to_read if index in deaths and index not in alone)
    return replace(plan, last=last, alone=alone)


def _lost(conn: sqlite3.Connection, document: int) -> dict[int, int]:
    """Returns the pages whose latest attempt lost the model or the process -> how many of their attempts did."""
    rows = conn.execute(
        "SELECT p.page_index, count(*), max(a.id) = (SELECT max(id) FROM attempts WHERE page_id = p.id)"
        " FROM pages p JOIN attempts a ON a.page_id = p.id"
        " WHERE p.document_id = ? AND a.error_category IN (?, ?, ?) GROUP BY p.id",
        (document, *LOST_CATEGORIES, PROCESS_DIED),
    )
    return {int(index): int(count) for index, count, is_latest in rows if is_latest}
