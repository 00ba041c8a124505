"""Runs a batch and reports on it: a log file and, however the run ends, a summary file.

The summary file is for monitoring: one JSON object, replaced atomically when a run ends.
Keys: schema (1), finished_at (UTC), exit_code (pipeline/run/NIGHTLY.md), end ("finished", "stopped", "failed"), reason
(of an early end, else null), run_id (null if none was begun), database, seconds, pages_per_s (null without pages),
pages {status: number}, documents {status: number}, counts (as in `ocrbatch status --json`), left {pages, documents,
all_documents_known}, versions {name: version}. Only a process that is killed leaves the old file, which finished_at
reveals.
"""

import contextlib
import json
import logging
import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

from pipeline.config.schema import Config
from pipeline.errors import ConfigError, StopRequest, exit_code, is_explained
from pipeline.reports.logs import LoggedProgress, RunLog, run_log
from pipeline.reports.summary import Progress, RunSummary
from pipeline.run.versions import versions
from pipeline.stop import Stop

LOGGER = logging.getLogger("ocrbatch")
SCHEMA = 1
End = Literal["finished", "stopped", "failed"]


Read = Callable[[Config, Progress, Stop, RunSummary], object]


def reported_run(config: Config, progress: Progress, stop: Stop, read: Read | None = None) -> RunSummary:
    """Runs a batch with its log file and summary file, and returns the run's summary.

    read: runs it, filling in the summary; None for pipeline.run.runner.run. Raises: what that raises, after the end was
    reported.
    """
    keys, summary = config.run, RunSummary(database=config.store.database)
    if keys.summary_file is not None:
        check_summary_file(keys.summary_file)
    with run_log(keys.log_file, keys.log_max_mb, summary) as log:
        found = versions()
        paths = config.ingest.paths
        log.event(
            "start",
            "the run starts",
            database=summary.database,
            paths=paths,
            model=config.model,
            versions=found,
        )
        try:
            logged = LoggedProgress(progress, log)
            if read is None:
                from pipeline.run import runner  # which takes long to import

                runner.run(config, logged, stop, summary=summary)
            else:
                read(config, logged, stop, summary)
        except BaseException as error:
            summary.all_documents_known = summary.all_documents_known and summary.run_id is not None
            stopped = isinstance(error, StopRequest | KeyboardInterrupt)
            _report(
                config, log, summary, exit_code(error), "stopped" if stopped else "failed", _reason(error)
            )
            raise
        end: End = "finished" if summary.stopped is None else "stopped"
        _report(config, log, summary, summary.exit_code, end, summary.stopped)
    return summary


def report_failure(summary_file: str, error: BaseException) -> None:
    """Writes the summary file of a run that failed before it had a configuration."""
    content = summary_content(RunSummary(database=""), exit_code(error), "failed", _reason(error), versions())
    _written(summary_file, {**content, "database": None})


def _report(
    config: Config, log: RunLog, summary: RunSummary, code: int, end: End, reason: str | None
) -> None:
    """Logs the run's end and writes its summary file; failing to write must not hide how the run ended."""
    content = summary_content(summary, code, end, reason, versions())
    level = logging.INFO if end == "finished" else logging.ERROR if end == "failed" else logging.WARNING
    log.event("end", end if reason is None else f"{end}: {reason}", level, **content)
    if config.run.summary_file is not None:
        _written(config.run.summary_file, content)


def _written(path: str, content: dict[str, object]) -> None:
    try:
        write_summary_file(path, content)
    except ConfigError as error:
        LOGGER.error("%s", error)


def _reason(error: BaseException) -> str:
    """Returns why a run ended: of an unexpected error only its type, as its message may contain a page's text."""
    if is_explained(error) or isinstance(error, StopRequest):
        return str(error)
    return "stopped" if isinstance(error, KeyboardInterrupt) else f"internal error: {type(error).__name__}"


def write_summary_file(path: str, content: dict[str, Any]) -> None:
    """Replaces the file; a reader sees either the old or the new content. Raises: ConfigError."""
    folder = os.path.dirname(os.path.realpath(path))
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".ocrbatch-", suffix=".tmp", dir=folder)
        with open(descriptor, "w", encoding="ascii") as file:
            json.dump(content, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(descriptor)
            os.chmod(temporary, 0o644)  # monitoring may run as another user
        os.replace(temporary, os.path.realpath(path))
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise ConfigError(
            f"{path}: cannot write the summary: {error.strerror}; check --summary-file"
        ) from None


def check_summary_file(path: str) -> None:
    """Checks before a run of hours that the file can be written at its end. Raises: ConfigError if not."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path) or not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(
            f"{path}: cannot write the summary there; check --summary-file, and that its folder exists"
        )


def summary_content(
    summary: RunSummary, exit_code: int, end: End, reason: str | None, versions: dict[str, str]
) -> dict[str, Any]:
    """Returns the JSON object that the module's docstring describes."""
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
