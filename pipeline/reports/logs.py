"""Writes a run's log file: one JSON object per line, for machines, without any of the documents' text.

Every line has `time` (UTC, ISO 8601, milliseconds), `level`, `event`, `message` and `run_id` (null before the run has
begun). `event` is start, page, rescued (a finished page that was not read well at first), document, end, or log for a
line that also goes to standard error; each adds keys of its own. Text is escaped as ASCII JSON: no path or message can
break a line or reach a terminal as control characters.
"""

import contextlib
import json
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from typing import Any

from pipeline.errors import ConfigError
from pipeline.reports.run_figures import WorkerUse
from pipeline.reports.summary import Progress, RunSummary
from pipeline.types import InputFile, PageResult, Phase
from storage.types import FINE_STATUSES, PageError

LOGGER = logging.getLogger("ocrbatch")
# Not shown on standard error, where the progress display says the same for people.
_EVENTS = logging.getLogger("ocrbatch_events")
_OLDER_FILES = 4
_QUOTING = re.compile(
    r"(not a readable [\w ]+|the list of \w+ is damaged|the \w+ cannot be (?:rendered|decoded)"
    r"|(?:inspecting the file|rendering the page) failed: \w+): "
    r"|(named as a \w+ file), but begins with (?!nothing|a web page)",
)


class RunLog:
    """Writes a run's events to its log."""

    def __init__(self, handler: logging.Handler) -> None:
        self._handler = handler

    def event(self, name: str, message: str, level: int = logging.INFO, **values: Any) -> None:
        """Adds one line. values: its further keys, with JSON values."""
        record = logging.LogRecord(_EVENTS.name, level, "", 0, "%s", (message,), None)
        record.event, record.values = name, values
        self._handler.handle(record)


class LoggedProgress(Progress):
    """Passes progress on to another display and to the log.

    Pages that went well are logged as `info`, others and rescued ones as `warning`.
    """

    def __init__(self, inner: Progress, log: RunLog) -> None:
        self._inner, self._log = inner, log

    def pages_found(self, num_pages: int) -> None:
        self._inner.pages_found(num_pages)

    def all_found(self) -> None:
        self._inner.all_found()

    def at_work(self, phase: Phase, num_tokens: int) -> None:
        self._inner.at_work(phase, num_tokens)

    def workers(self, workers: Sequence[WorkerUse]) -> None:
        self._inner.workers(workers)

    def document_refused(self, document: InputFile) -> None:
        self._inner.document_refused(document)
        self._log.event(
            "document",
            f"{document.status}: {without_quotes(document.reason or '')}",
            logging.INFO if document.status == "skipped" else logging.WARNING,
            path=document.path,
            sha256=document.sha256,
            status=document.status,
        )

    def page_done(self, result: PageResult) -> None:
        self._inner.page_done(result)
        self._log.event(
            "page",
            _outcome_message(result),
            logging.INFO if result.status in FINE_STATUSES else logging.WARNING,
            **_where(result),
            status=result.status,
            confidence=result.confidence,
            tokens=result.num_tokens,
            seconds=round(sum(timing.share_s for timing in result.timings), 4),
            rung=result.rung,
            source=result.source,
            rotation_deg=result.rotation_deg,
            script=result.script,
            doubt=result.doubt,
            error=_error(result),
        )

    def page_rescued(self, first: PageResult, result: PageResult) -> None:
        self._inner.page_rescued(first, result)
        self._log.event(
            "rescued",
            f"{_outcome_message(first)}; rescued by the rung {result.rung}: {result.status}",
            logging.WARNING,
            **_where(result),
            status=result.status,
            rung=result.rung,
            source=result.source,
            first={"status": first.status, "error": _error(first)},
        )


def _where(result: PageResult) -> dict[str, Any]:
    page = result.page
    return {"path": page.path, "page": page.page_number, "sha256": page.sha256}


def _outcome_message(result: PageResult) -> str:
    if result.error is not None:
        return f"{result.status}: {_error_message(result.error)}"
    return result.status if result.doubt is None else f"{result.status}: {result.doubt}"


def _error(result: PageResult) -> dict[str, str] | None:
    error = result.error
    return None if error is None else {"stage": error.stage, "category": error.category}


def without_quotes(reason: str) -> str:
    """Returns a reason without the text that a parser added to it, which may quote the document."""
    found = _QUOTING.match(reason)
    return reason if found is None else found.group(1) or f"{found.group(2)}, but is none"


def _error_message(error: PageError) -> str:
    """Returns an error's message; of an unexpected one only its type, as its message may contain anything."""
    if error.category in ("internal", "model_ended") and error.stage != "render":
        return error.message.partition(":")[0]
    return without_quotes(error.message)


@contextmanager
def run_log(path: str | None, max_mb: int, summary: RunSummary) -> Iterator[RunLog]:
    """Opens the log, which also gets warnings while it is open; with None nothing is logged.

    Raises: ConfigError where the file cannot be opened. Later write errors are reported once and do not end the run.
    """
    if path is None:
        yield RunLog(logging.NullHandler())
        return
    try:
        handler = _File(path, max_mb << 20)
    except OSError as error:
        raise ConfigError(f"{path}: cannot write the log: {error.strerror}; check --log-file") from None
    handler.setFormatter(_Lines(summary))
    try:
        with _listening(handler):
            yield RunLog(handler)
    finally:
        with contextlib.suppress(OSError):  # a full disk, which was reported
            handler.close()


@contextmanager
def _listening(handler: logging.Handler) -> Iterator[None]:
    """Sends messages of level info and above to the file, and leaves what standard error shows unchanged."""
    shown, level = logging.getLogger().handlers, LOGGER.level
    levels = [other.level for other in shown]
    for other in shown:
        other.setLevel(max(other.level, level))
    handler.setLevel(logging.INFO)
    LOGGER.setLevel(min(level or logging.INFO, logging.INFO))
    LOGGER.addHandler(handler)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        for other, before in zip(shown, levels, strict=True):
            other.setLevel(before)


class _File(RotatingFileHandler):
    """A rotating log file whose write errors, as on a full disk, do not end the run."""

    def __init__(self, path: str, max_bytes: int) -> None:
        super().__init__(path, maxBytes=max_bytes, backupCount=_OLDER_FILES, encoding="ascii")
        self._failed = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the name it overrides)
        if not self._failed:
            self._failed = True
            error = sys.exception()
            print(f"{self.baseFilename}: cannot write the log: {error}; the run goes on", file=sys.stderr)


class _Lines(logging.Formatter):
    def __init__(self, summary: RunSummary) -> None:
        super().__init__()
        self._summary = summary

    def format(self, record: logging.LogRecord) -> str:
        values: Mapping[str, Any] = getattr(record, "values", {})
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "log"),
            "message": record.getMessage(),
            "run_id": self._summary.run_id,
            "pid": os.getpid(),
        }
        return json.dumps({**line, **values})
