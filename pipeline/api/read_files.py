"""Reads files from Python: one without a database that stays behind, or many into one."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pipeline.api.page_text import Document, PageText, Summary, of_result, of_row
from pipeline.config import sources
from pipeline.errors import ConfigError
from pipeline.reports.progress import Silent
from pipeline.stop import Stop, stop_on_signals
from pipeline.types import PageResult

if TYPE_CHECKING:
    from pipeline.config.schema import Config
    from pipeline.reports.summary import RunSummary

Path = str | os.PathLike[str]
# A YAML file, or its content: {"model": "small", "ingest": {"pages": "1-3"}}.
Settings = Path | Mapping[str, Any] | None


def read(path: Path, *, config: Settings = None) -> Document:
    """Reads one PDF or image and returns its pages; no database is left behind.

    A file that cannot be read is no error: the document says so, or its pages do. config: as in `run`. Every call
    starts worker processes and loads the model, which takes longer than reading a page: for many files take `run`.

    Raises: ConfigError where there is no such file, or a setting is wrong; CheckpointError, ModelMemoryError,
    DeviceLostError, WorkersError where nothing can be read at all; KeyboardInterrupt.
    """
    name = os.fspath(path)
    if not os.path.isfile(name):
        found = "a folder, which is read by `run`" if os.path.isdir(name) else "no such file; check the path"
        raise ConfigError(f"{name}: {found}")
    with tempfile.TemporaryDirectory(prefix="ocrbatch-") as folder:
        database = os.path.join(folder, "pages.db")
        _run(_config(config, [name], database), Silent())
        return _document(database, name)


def run(
    paths: Path | Iterable[Path],
    *,
    db: Path | None = None,
    config: Settings = None,
    on_page: Callable[[PageText], None] | None = None,
) -> Summary:
    """Reads all pages of files and folders into a database, as `ocrbatch run` does, and returns what it came to.

    Pages that were read before with the same settings are skipped. db: the database, made if need be; "ocrbatch.db"
    if neither it nor the configuration says otherwise. config: a YAML file, or a mapping like one; keys as in
    configs/default.yaml. on_page: called with each page once it is stored, in no order; where it raises, the run ends,
    pages that are done are stored, and the error is raised here.

    Raises: ConfigError where a path or setting is wrong; StorageError where the database cannot be used (its kind
    DatabaseBusyError: another run has it); CheckpointError, ModelMemoryError, DeviceLostError, WorkersError where
    nothing can be read; KeyboardInterrupt at Ctrl-C, once the pages that are done are stored.
    """
    named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    chosen = _config(config, [os.fspath(path) for path in named], None if db is None else os.fspath(db))
    done = _run(chosen, _Calling(on_page) if on_page is not None else Silent())
    assert done.run_id is not None, "a run that has ended has a number"
    return Summary(
        run=done.run_id,
        pages=dict(done.pages),
        documents=dict(done.documents),
        num_done_before=done.num_done_before,
        num_left=done.num_left,
        seconds=done.wall_s,
        exit_code=int(done.exit_code),
    )


class _Calling(Silent):
    """Calls a function with every page. It stops the run when the function raises, and keeps the error."""

    def __init__(self, on_page: Callable[[PageText], None]) -> None:
        self._on_page = on_page
        self.error: BaseException | None = None
        self.stop = Stop()

    def page_done(self, result: PageResult) -> None:
        if self.error is not None:
            return
        try:
            self._on_page(of_result(result))
        except BaseException as error:  # the caller's own, which is raised where the caller is
            self.error = error
            self.stop.request("on_page raised an error")


def _config(settings: Settings, paths: list[str], database: str | None) -> "Config":
    layers: list[sources.Layer] = []
    file: str | None = None
    if isinstance(settings, Mapping):
        layers.append(("config", settings))
    elif settings is not None:
        file = os.fspath(settings)
    given = {"paths": ("ingest.paths", paths), "db": ("store.database", database)}
    return sources.load(file, (), [*layers, *sources.layers(given)])


def _run(config: "Config", progress: Silent) -> "RunSummary":
    """Runs a batch; Ctrl-C and SIGTERM end it in order and then count as they would without this run."""
    from pipeline.cluster import choose  # heavy, and needed for reading only
    from pipeline.stop import time_limit

    stop = progress.stop if isinstance(progress, _Calling) else Stop()
    with stop_on_signals(stop), time_limit(stop, config.run.time_limit_s):
        summary = choose.run(config, progress, stop)
    if isinstance(progress, _Calling) and progress.error is not None:
        raise progress.error
    if stop.reason == "SIGINT":
        raise KeyboardInterrupt
    if stop.reason == "SIGTERM":
        raise SystemExit(128 + signal.SIGTERM)
    return summary


def _document(database: str, name: str) -> Document:
    from storage.database import open_for_reading
    from storage.export.rows import export_rows
    from storage.queries.listing import file_statuses

    with open_for_reading(database) as db:
        files = list(file_statuses(db))
        pages = tuple(map(of_row, export_rows(db, with_words=True)))
    if not files:  # filtered out by ingest.include or exclude
        return Document(
            path=os.path.abspath(name), status="skipped", pages=(), reason="the settings leave it out"
        )
    (file,) = files
    reason = file.reason
    if file.status == "ok" and not pages:
        reason = f"has none of the pages that were asked for: {file.num_pages} in all"
    return Document(path=file.path, status=file.status, pages=pages, reason=reason)
