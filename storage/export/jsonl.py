"""JSON Lines: one object per page, with everything the database holds about its current attempt."""

import json
from collections.abc import Iterable
from typing import TextIO

from storage.export.rows import PageRow


def write(rows: Iterable[PageRow], stream: TextIO) -> int:
    """Writes one line per page; returns the number of pages."""
    number = 0
    for row in rows:
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        number += 1
    return number
