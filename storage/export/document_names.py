"""Gives each document of an export a file name that no other document has, on any file system."""

import os
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from sqlite_utils import Database

from storage.database import database_path, explained
from storage.export.formats import Format
from storage.strings.text import real_path, text_sha256

LONGEST_BYTES = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentName:
    """Where a document's file is, below the export's folder. is_other: whether it is not called like the document."""

    stem: str
    ending: str
    is_other: bool


class DocumentNames:
    """The names of all listed documents' files, whatever is selected: an export of some has them where one of all has.

    A file is called like its document, in folders like those below the folder that all listed files share, with the
    format's ending added unless it is the document's own; content that a path held earlier has its hash in its name. A
    name that an earlier document or a folder has, or that differs from it in letter case or Unicode form alone, or that
    is too long, has a hash of the document's path. Bytes that are not UTF-8 are escaped, as everywhere.
    """

    def __init__(self, db: Database, form: Format) -> None:
        self._form = form
        longest = f".000000{form.ending}" if form.one_file == "page" else form.ending
        if form.figures == "beside":
            longest = max(longest, ".figures", key=len)
        self._most_bytes = LONGEST_BYTES - len(longest)
        self._others: dict[tuple[str, str | None], str] = {}
        with explained(database_path(db)):
            paths = db.conn.execute("SELECT path FROM files UNION SELECT path FROM superseded").fetchall()
            folders = [os.path.dirname(os.path.abspath(path)) for (path,) in paths]
            self._shared = os.path.commonpath(folders or [os.sep])
            # Hashes are smaller than names; two names of one hash are only parted without need.
            taken = {hash(_folded(folder)) for folder in self._folders(db)}
            for path, sha256 in _listed(db, form.ending):
                self._take(path, sha256, taken)

    def of(self, path: str, sha256: str | None) -> DocumentName:
        """Returns the name of the file of a document. sha256: of content that the path holds no more, else None."""
        stem, ending = self._plain(path, sha256)
        other = self._others.get((path, sha256))
        return DocumentName(
            stem=other or stem, ending=ending, is_other=other is not None or real_path(path) != path
        )

    def _take(self, path: str, sha256: str | None, taken: set[int]) -> None:
        plain, ending = self._plain(path, sha256)
        marks = (text_sha256(f"{path}\0{sha256}\0{number}")[:8] for number in count())
        for stem in stems(plain, marks, self._most_bytes):
            if (key := hash(_folded(stem + ending))) not in taken:
                break
        taken.add(key)
        if stem != plain:
            self._others[path, sha256] = stem

    def _plain(self, path: str, sha256: str | None) -> tuple[str, str]:
        """Returns the name and the ending that make a document's file."""
        name = os.path.relpath(os.path.abspath(path), self._shared)
        name += "" if sha256 is None else f".{sha256[:8]}"
        return (name, self._form.ending) if self._form.one_file == "page" else parted(name, self._form.ending)

    def _folders(self, db: Database) -> set[str]:
        found = set[str]()
        for path, _ in _listed(db, self._form.ending):
            folder = os.path.dirname(self._plain(path, None)[0])
            while folder and folder not in found:
                found.add(folder)
                folder = os.path.dirname(folder)
        return found


def parted(name: str, ending: str) -> tuple[str, str]:
    """Returns a name without an ending that it has, and that ending: a searchable report.pdf is a report.pdf."""
    cut = len(name) - len(ending) if name.lower().endswith(ending.lower()) else len(name)
    return name[:cut], name[cut:] or ending


def stems(plain: str, marks: Iterable[str], most_bytes: int) -> Iterator[str]:
    """Yields what a file may be called, before its ending: plainly, unless that is too long, then with each mark."""
    folder, name = os.path.split(plain)
    encoded = name.encode(errors="surrogateescape")
    if len(encoded) <= most_bytes:
        yield plain
    for mark in marks:
        short = encoded[: most_bytes - len(mark) - 1].decode(errors="ignore")
        yield os.path.join(folder, f"{short}.{mark}")


def _listed(db: Database, ending: str) -> Iterator[tuple[str, str | None]]:
    """Yields the documents, those first that have the ending themselves, and the former ones last."""
    own = "substr(lower(path), -length(:ending)) <> :ending"
    yield from db.conn.execute(
        f"SELECT path, NULL FROM listed_files ORDER BY {own}, path", {"ending": ending}
    )
    yield from db.conn.execute(
        "SELECT s.path, d.sha256 FROM superseded s JOIN documents d ON d.id = s.document_id ORDER BY 1, 2"
    )


def _folded(name: str) -> str:
    """Returns the same for names that some file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())
