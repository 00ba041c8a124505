"""Has ocrbatch read made pages, and compares how each ended with how it may."""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

from storage.database import open_for_reading
from storage.export.rows import export_rows
from storage.queries.listing import file_statuses

MANIFEST = "manifest.json"
_MOST_WRONG = 0.1  # of a text that counts as read


def measure(folder: Path, database: Path, arguments: list[str]) -> int:
    """Reads the folder and prints the table and the faults; returns 1 if there are any."""
    command = [sys.executable, "-m", "pipeline.cli", "run", str(folder), "--db", str(database), "--quiet"]
    code = subprocess.run([*command, *arguments], check=False).returncode
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    with closing(open_for_reading(str(database))) as db:
        rows: list[tuple[str, Mapping[str, Any]]] = [
            (str(Path(row["path"]).relative_to(folder.resolve())), row) for row in export_rows(db)
        ]
        broken = [file for file in file_statuses(db) if file.status == "broken"]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    wrong: Counter[str] = Counter()
    for file in broken:  # too much so to have a page
        name = str(Path(file.path).relative_to(folder.resolve()))
        rows.append((name, {"status": "failed", "text": None, "confidence": None, "doubt": file.reason}))
    for name, row in rows:
        kind = name.partition("/")[0]
        counts[kind][row["status"]] += 1
        wrong[kind] += is_fault(row, manifest[name])
    for name, row in rows:
        if is_fault(row, manifest[name]):
            print(
                f"{name}: {row['status']} {row['confidence'] or 0:.2f} {row['doubt'] or ''} {row['text'] or ''!r:.60}"
            )
    print(*table(counts, wrong), sep="\n")
    missing = sorted(set(manifest) - {name for name, _ in rows})
    print(*(f"no row: {name}" for name in missing), sep="\n")
    return 1 if wrong.total() or missing or code not in (0, 3) else 0


def is_fault(row: Mapping[str, Any], truth: Mapping[str, Any]) -> bool:
    """Returns whether a page ended as it must not; a doubtful or failed one must say why."""
    text = " ".join((row["text"] or "").split())
    if row["status"] != "doubtful" and any(part not in text for part in truth["holds"]):
        return True
    if row["status"] == "ok" and truth["text"] and "ok" not in truth["statuses"]:
        return not _is_right(row["text"] or "", truth["text"])
    return row["status"] not in truth["statuses"] or (
        row["status"] in ("doubtful", "failed") and not (row["doubt"] or row.get("error"))
    )


def table(counts: Mapping[str, Counter[str]], wrong: Mapping[str, int]) -> Iterable[str]:
    """Yields a line for each kind: pages, how many of them ended as they must not, and in which statuses all ended."""
    yield f"{'kind':<20}{'pages':>6}{'wrong':>6}  statuses"
    for kind, found in counts.items():
        statuses = ", ".join(f"{number} {status}" for status, number in found.most_common())
        yield f"{kind:<20}{found.total():>6}{wrong[kind]:>6}  {statuses}"


def _is_right(text: str, truth: str) -> bool:
    # Case does not count: a typeface may draw small letters as capitals, as Humor Sans does.
    read, written = ("".join(its.casefold().split()) for its in (text, truth))
    return Levenshtein.distance(read, written) <= _MOST_WRONG * len(written)
