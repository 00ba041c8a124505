"""Tells which stored files are gone: local ones by looking, objects by listing the folder that they were in."""

from collections.abc import Iterable

from pipeline.ingest.objects.stores import listed
from storage.records import files
from storage.strings.urls import is_url, is_web, parent_of


class Listings:
    """The names in folders, each listed once; None for one that could not be listed. limit_s: for one listing."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._names: dict[str, frozenset[str] | None] = {}
        self._absent: set[str] = set()

    def is_gone(self, url: str) -> bool:
        """Returns True only where a listing that succeeded lacks the object, or the folder that it would be in.

        An error proves nothing: neither does a bucket that is not there, for credentials may name another account. A
        web server lists nothing.
        """
        if is_web(url):
            return False
        name = url
        while (parent := parent_of(name)) is not None:
            if (names := self._listed(parent)) is not None:
                return name.removeprefix(f"{parent}/") not in names
            if parent not in self._absent:
                return False
            name = parent
        return False

    def _listed(self, folder: str) -> frozenset[str] | None:
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(name for name, _ in listed(folder, self._limit_s))
            except FileNotFoundError:
                self._absent.add(folder)
                self._names[folder] = None
            except Exception:
                self._names[folder] = None
        return self._names[folder]


def gone(stored: Iterable[tuple[int, str]], listings: Listings) -> list[int]:
    """Returns the ids of those of the files (id, path) that are known to be gone; may block as storage's `gone`."""
    local: list[tuple[int, str]] = []
    ids = []
    for file_id, path in stored:
        if not is_url(path):
            local.append((file_id, path))
        elif listings.is_gone(path):
            ids.append(file_id)
    return ids + files.gone(local)


def are_gone(paths: Iterable[str], listings: Listings) -> bool:
    """Returns whether all of these files are known to be gone; may block."""
    numbered = list(enumerate(paths))
    return len(gone(numbered, listings)) == len(numbered)
