"""Runs a batch and reports on it: a log file and, however the run ends, a summary file."""

import logging
from collections.abc import Callable

from pipeline.config.schema import Config
from pipeline.errors import ConfigError, StopRequest, exit_code, is_explained
from pipeline.reports.logs import LoggedProgress, RunLog, run_log
from pipeline.reports.summary import Progress, RunSummary
from pipeline.reports.summary_file import End, check_summary_file, summary_content, write_summary_file
from pipeline.run import runner
from pipeline.run.versions import versions
from pipeline.stop import Stop

LOGGER = logging.getLogger("ocrbatch")


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
