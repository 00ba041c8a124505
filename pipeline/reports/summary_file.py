"""The summary file of a run, for monitoring: one JSON object, replaced as a whole when a run ends, however it ends.

Keys: schema (1), finished_at (UTC), exit_code (pipeline/run/NIGHTLY.md), end ("finished", "stopped", "failed"), reason
(of an early end, else null), run_id (null if none was begun), database, seconds, pages_per_s (null without pages),
pages {status: number}, documents {status: number}, counts (as `ocrbatch status --json` has them), left {pages,
documents, all_documents_known}, versions {name: version}. Only a process that is killed leaves the file as it was:
finished_at tells.
"""

import contextlib
import json
import os
import tempfile
from datetime import UTC, datetime
from typing import Any, Literal

from pipeline.errors import ConfigError
from pipeline.reports.summary import RunSummary

SCHEMA = 1
End = Literal["finished", "stopped", "failed"]


def write_summary_file(path: str, content: dict[str, Any]) -> None:
    """Replaces the file; who reads it meanwhile sees the old or the new one. Raises: ConfigError."""
    folder = os.path.dirname(os.path.realpath(path))
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".ocrbatch-", suffix=".tmp", dir=folder)
        with open(descriptor, "w", encoding="ascii") as file:
            json.dump(content, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(descriptor)
            os.chmod(temporary, 0o644)  # a monitor is another user
        os.replace(temporary, os.path.realpath(path))
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise ConfigError(
            f"{path}: cannot write the summary: {error.strerror}; check --summary-file"
        ) from None


def check_summary_file(path: str) -> None:
    """For before a run of hours. Raises: ConfigError where the file could not be written at its end."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path) or not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(
            f"{path}: cannot write the summary there; check --summary-file, and that its folder exists"
        )


def summary_content(
    summary: RunSummary, exit_code: int, end: End, reason: str | None, versions: dict[str, str]
) -> dict[str, Any]:
    """Returns the object that the module's docstring describes."""
    num_pages = summary.num_pages
    return {
        "schema": SCHEMA,
        "finished_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "exit_code": int(exit_code),
        "end": end,
        "reason": reason,
        "run_id": summary.run_id,
        "database": os.path.abspath(summary.database),
        "seconds": round(summary.wall_s, 3),
        "pages_per_s": round(num_pages / summary.wall_s, 4) if num_pages and summary.wall_s else None,
        "pages": dict(summary.pages),
        "documents": dict(summary.documents),
        "counts": summary.counts(),
        "left": {
            "pages": summary.num_left,
            "documents": summary.num_documents_left,
            "all_documents_known": summary.all_documents_known,
        },
        "versions": versions,
    }
