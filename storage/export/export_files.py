"""Writes an export into files, each of which appears whole or not at all, and none over a document or the database."""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import IO, Any

from sqlite_utils import Database

from storage.database import database_path, explained, snapshot
from storage.errors import ExportPathError, NotExportedError
from storage.export.document_names import DocumentNames
from storage.export.figures import DocumentFigures, Draw, partial_path
from storage.export.formats import Counted, Format
from storage.export.rows import PageRow, export_rows
from storage.export.selection import Selection
from storage.strings.text import real_path

# What a file system says of one name, and not of the disk.
_NAME_FAULTS = (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.EISDIR, errno.ENOTDIR, errno.EEXIST)


@dataclass(slots=True, kw_only=True)
class Written:
    """What an export wrote: pages, files, and figures beside or in them.

    left_out: each document that was not written, and why. undrawn: each with figures that are not shown, and why.
    renamed: each whose file could not be called like it, and how it is called.
    """

    pages: int = 0
    files: int = 0
    figures: int = 0
    left_out: list[str]
    undrawn: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)


def export_to_file(db: Database, form: Format, path: str, selection: Selection | None = None) -> Written:
    """Writes the selected pages (None: all) to one file, UTF-8 if it is text, that appears, whole, at the end.

    Raises: ExportPathError where the format is of a file a document, the file cannot be written, or is the database
    itself or one of the documents.
    """
    if form.one_file != "all":
        raise ExportPathError(
            f"{path}: this format is a file for each {form.one_file}; name a folder with --out-dir"
        )
    if path.endswith(os.sep) or os.path.isdir(path):
        raise ExportPathError(
            f"{path}: is a folder; name a file, or use --out-dir for a file for each document"
        )
    target = os.path.realpath(path)
    _Kept(db).refuse(target, path)
    rows = Counted(export_rows(db, selection, with_words=form.with_words))
    pages = form.pages(db, rows)
    try:
        # A pipe or device is written to, not replaced.
        if os.path.exists(target) and not os.path.isfile(target):
            with _opened(target, form) as stream:
                form.write(pages, stream)
        else:
            replace_file(target, form, partial(form.write, pages))
    except OSError as error:
        raise _unwritable(path, error) from error
    return Written(pages=rows.number, files=1, left_out=[])


def export_to_folder(
    db: Database, form: Format, folder: str, selection: Selection | None = None, draw: Draw | None = None
) -> Written:
    """Writes the selected pages to one file a document, or a page, in a folder; both are created as needed.

    A document's file is called like it, with the format's ending added (report.pdf.md; report.pdf.0002.page.xml for its
    second page), in folders like those between it and the folder that all listed files share (DocumentNames says where
    it is called otherwise). A document that the format or the file system cannot hold is left out. draw: draws figures,
    which are in the file, or beside it in a folder of their own (report.pdf.figures); None: none is. Raises:
    ExportPathError.
    """
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise ExportPathError(f"{folder}: is a file; this format is a file for each document: name a folder")
    done = Written(left_out=[])
    with snapshot(db):
        kept, names = _Kept(db), DocumentNames(db, form)
        rows = export_rows(db, selection, with_words=form.with_words)
        for (path, sha256, superseded), pages in groupby(
            rows, lambda row: (row["path"], row["sha256"], row["superseded"])
        ):
            name = names.of(path, sha256 if superseded else None)
            if name.is_other:
                done.renamed.append(f"{path}: {name.stem}{name.ending}")
            stem = os.path.join(folder, name.stem)
            if form.one_file != "page":
                _write_document(db, form, pages, stem, name.ending, draw, kept, done)
                continue
            for page in pages:
                _write_document(db, form, [page], f"{stem}.{page['page']:04}", name.ending, draw, kept, done)
    return done


def _write_document(
    db: Database,
    form: Format,
    pages: Iterable[PageRow],
    stem: str,
    ending: str,
    draw: Draw | None,
    kept: "_Kept",
    done: Written,
) -> None:
    target = stem + ending
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        kept.refuse(os.path.realpath(target), target)
        rows = Counted(pages)
        write = partial(form.write_document or form.write, form.pages(db, rows))
        if form.figures is None or draw is None:
            replace_file(target, form, write)
        else:
            folder = f"{stem}.figures" if form.figures == "beside" else None
            with DocumentFigures(draw, folder, kept.refuse) as figures:
                # Figures appear just before their document does.
                replace_file(target, form, partial(write, place=figures.place), figures.keep)
            done.figures += figures.number
            if (line := figures.shortfall()) is not None:
                done.undrawn.append(line)
        done.files += 1
        done.pages += rows.number
    except NotExportedError as error:
        done.left_out.append(str(error))
    except OSError as error:
        if error.errno not in _NAME_FAULTS:
            raise _unwritable(target, error) from error
        done.left_out.append(f"{target}: cannot be written: {error.strerror}")


class _Kept:
    """The files that no export may replace: the documents, and the database."""

    def __init__(self, db: Database) -> None:
        self._database = database_path(db)
        with explained(self._database):
            self._documents = {real_path(path) for (path,) in db.conn.execute("SELECT path FROM files")}

    def refuse(self, target: str, path: str) -> None:
        """Raises ExportPathError if the target, a real path, is one of them. path: as it was named."""
        if is_database(target, self._database):
            raise ExportPathError(f"{path}: is the database itself; choose another place for the export")
        if target in self._documents or os.path.abspath(path) in self._documents:
            raise ExportPathError(f"{path}: is one of the documents; choose another place for the export")


def is_database(target: str, database: str) -> bool:
    """Returns whether a real path is that of a database or of a file beside it."""
    own = {os.path.realpath(database) + suffix for suffix in ("", "-wal", "-shm", "-journal", ".lock")}
    return target in own or (os.path.exists(target) and os.path.samefile(target, database))


def _unwritable(path: str, error: OSError) -> ExportPathError:
    return ExportPathError(f"{path}: cannot write the export: {error.strerror}; choose another place for it")


def _opened(path: str, form: Format) -> IO[Any]:
    return open(path, "wb") if form.is_binary else open(path, "w", encoding="utf-8", newline="\n")


def replace_file(
    target: str, form: Format, write: Callable[[IO[Any]], object], written: Callable[[], None] = lambda: None
) -> None:
    """Writes a file that appears whole in the target's place.

    written: is called once all is written, before it appears. Raises: OSError, and what these raise.
    """
    partial_file = partial_path(target)
    try:
        with _opened(partial_file, form) as stream:
            write(stream)
        written()
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(target, partial_file)
        os.replace(partial_file, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial_file)
        raise
