"""Verifies that the files and the database agree: every listed file is probed once more, in worker processes.

A file that has changed or vanished since is not a fault of the database and is listed separately; so is one that cannot
be opened now.
"""

import json
import os
import shlex
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field, replace

from sqlite_utils import Database

from pipeline.config.passwords import passwords_there
from pipeline.config.schema import Config, ingest_settings
from pipeline.config.sources import as_stored
from pipeline.device.startup.loading import render_workers
from pipeline.documents.settings import IngestSettings
from pipeline.errors import ExitCode
from pipeline.ingest.objects.object_walk import Listings, are_gone
from pipeline.ingest.walk import Candidate, walk
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.reports.listing import cut
from pipeline.types import InputFile
from storage.database import Row, open_for_reading
from storage.records.files import gone
from storage.strings.text import real_path
from storage.strings.urls import is_url
from storage.upkeep.audit import Audit, Problem, audit, listed_files

_MEANINGS = {
    "file": "SQLite finds the {} pages of its file in order; application and schema are ours",
    "references": "rows of {} tables refer to existing rows",
    "documents": "{} documents have one row for each of their pages",
    "pages": "{} pages have the status of their current attempt",
    "attempts": "{} attempts have the text, markdown and blocks that were stored",
    "blocks": "{} blocks are numbered without a gap",
    "search": "{} pages are in the search index with their current text",
    "runs": "of {} runs at most one is under way",
    "files": "{} files have the content and the number of pages that the database records",
    "pages_in_files": "{} pages were counted in them",
}
# How long a store may take to list a folder.
_LISTING_S = 60.0
_KINDS = {
    "changed": "changed since it was read; the next run reads it",
    "gone": "not there any more",
    "uncounted": "its pages cannot be counted now",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Audit):
    """The result of a verification: that of the audit, with the files. Files that were compared are found unchanged.

    changed, gone, uncounted: files that can prove nothing any more, each with its path and the reason.
    """

    database: str
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    uncounted: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> ExitCode:
        """The exit code: FAULTY if there are problems."""
        return ExitCode.FAULTY if self.problems else ExitCode.OK

    def to_json(self) -> dict[str, object]:
        """Returns the result as values that json.dumps accepts."""
        return {"ok": not self.problems, "database": self.database, **asdict(self)}

    def lines(self) -> list[str]:
        """Returns the lines that `ocrbatch verify` prints: the checks, notes, and a line per problem."""
        wrong = {problem.check for problem in self.problems}
        lines = [self.database]
        lines += [
            f"{'WRONG' if name in wrong else 'ok':<6}{_MEANINGS[name].format(number)}"
            for name, number in self.checked.items()
        ]
        lines += [f"note: {note}" for note in self.notes]
        for kind, meaning in _KINDS.items():
            paths: list[str] = getattr(self, kind)
            listed, more = cut(paths)
            lines += [f"{kind}: {path}" for path in listed]
            if more:
                lines.append(f"{kind}: {more} (--json lists all): {meaning}")
        lines += [f"PROBLEM: {p.check}: {p.message}; {p.remedy}" for p in self.problems]
        lines.append(f"{len(self.problems)} problems" if self.problems else "no problem")
        return lines


def verify(database: str, *, with_files: bool = True) -> Verification:
    """Verifies a database as of one moment; a run may go on meanwhile. Raises: StorageError."""
    with open_for_reading(database) as db:
        files = listed_files(db) if with_files else []
        found = audit(db)
        config = last_config(db)
    result = Verification(
        database=database, checked=found.checked, problems=found.problems, notes=found.notes
    )
    if with_files:
        _check_files(result, files, config, result.checked.get("documents", 0))
    return result


def last_config(db: Database) -> Config:
    """Returns the last run's configuration, for its limits and passwords; the defaults where that is not known."""
    row = db.conn.execute("SELECT config FROM runs ORDER BY id DESC LIMIT 1").fetchone()
    try:
        return Config() if row is None else as_stored(json.loads(row[0]))
    except ValueError:  # no JSON, in a damaged database
        return Config()


def _check_files(result: Verification, files: Iterable[Row], config: Config, num_documents: int) -> None:
    """Compares the files and adds the findings to the result.

    num_documents: in the database; if there are any but no file could be compared, nothing was proved.
    """
    compared, counted = 0, 0
    for file, document in _looked_into(files, config):
        kind, reason = _compare(file, document)
        if kind in ("same", "wrong"):
            compared += 1
            counted += 0 if document is None else document.num_pages
        if kind == "wrong":
            again = f"`ocrbatch run {shlex.quote(file['path'])}`"
            remedy = f"{again} adds what is missing; restore a copy where there are too many"
            result.problems.append(Problem(check="files", message=f"{file['path']}: {reason}", remedy=remedy))
        elif kind != "same":
            getattr(result, kind).append(f"{file['path']}: {reason}")
    result.checked.update({"files": compared, "pages_in_files": counted})
    if not compared and num_documents:
        message = f"not one of the files of {num_documents} documents could be compared with the database"
        remedy = (
            "mount the share or disk that they are on, or verify where they are; --no-files looks at none"
        )
        result.problems.append(Problem(check="files", message=message, remedy=remedy))


def _compare(file: Row, document: InputFile | None) -> tuple[str, str]:
    """Returns "same", "wrong", or the name of the list that the file belongs to, and the reason."""
    if document is None:
        return "gone", _KINDS["gone"]
    if document.sha256 is None:
        return "uncounted", document.reason or _KINDS["uncounted"]
    if document.sha256 != file["sha256"]:
        return "changed", _KINDS["changed"]
    if document.status != "ok" and file["num_pages"]:
        return "uncounted", document.reason or document.status
    if file["status"] != "ok" and not file["num_pages"]:
        return (
            ("same", "")
            if not document.num_pages
            else ("uncounted", "can be opened now; the next run reads it")
        )
    if document.num_pages != file["num_pages"]:
        return "wrong", f"has {document.num_pages} pages, but {file['num_pages']} in the database"
    return "same", ""


def _looked_into(files: Iterable[Row], config: Config) -> Iterator[tuple[Row, InputFile | None]]:
    """Yields each file with its document as probed now, in order, None if it is gone; a few are probed ahead."""
    num_workers = render_workers(config)
    settings = ingest_settings(config, passwords_there(config.ingest))
    pool = WorkerPool(max_workers=num_workers, ingest=settings, probe_timeout_s=config.ingest.probe_timeout_s)
    ahead: deque[tuple[Row, Future[InputFile] | None]] = deque()
    with pool as workers:
        for file in files:
            path = _present(file["path"])
            ahead.append((file, None if path is None else _probed(path, settings, workers)))
            if len(ahead) > 2 * num_workers:
                yield _waited_for(*ahead.popleft())
        while ahead:
            yield _waited_for(*ahead.popleft())


def _probed(path: str, settings: IngestSettings, workers: WorkerPool) -> Future[InputFile]:
    """Probes a file, or a folder of a video's frames: those that the last run's settings take."""
    if not os.path.isdir(path):
        return workers.probe(path)
    of_folder = replace(settings, video_folders=(".",), manifest=None)
    frames = (its.frames for its in walk([path], of_folder) if isinstance(its, Candidate) and its.frames)
    return workers.probe(path, next(frames, ()))


def _waited_for(file: Row, future: Future[InputFile] | None) -> tuple[Row, InputFile | None]:
    return file, None if future is None else future.result()


def _present(stored: str) -> str | None:
    """Returns the file's path, or None if it is known to be gone; a link loop, for example, is not gone."""
    if is_url(stored):
        return None if are_gone([stored], Listings(_LISTING_S)) else stored
    return None if gone([(0, stored)]) else real_path(stored)
