"""Plain text: a line naming file and page before each page."""

from collections.abc import Iterable
from typing import TextIO

from storage.export.rows import PageRow, shortfall
from storage.strings.printable import one_line


def write(rows: Iterable[PageRow], stream: TextIO) -> int:
    """Writes the pages; returns their number. A page that is not fine states why in square brackets."""
    number = 0
    for row in rows:
        mark = " (superseded)" if row["superseded"] else ""
        stream.write(
            ("\n" if number else "") + f"==== {one_line(row['path'])}, page {row['page']}{mark} ====\n"
        )
        reason = shortfall(row)
        body = (row["text"] or "").strip("\n")
        stream.write("".join(f"{part}\n" for part in (f"[{reason}]" if reason else "", body) if part))
        number += 1
    return number
