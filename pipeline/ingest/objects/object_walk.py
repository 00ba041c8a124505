"""Lists the objects below URLs, in a stable order and folder by folder; opens none.

Also tells which stored files are gone: local ones by looking, objects by listing the folder that they were in.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from pipeline.documents.settings import IngestSettings
from pipeline.errors import ConfigError
from pipeline.ingest.found import Candidate, Found, unreadable
from pipeline.ingest.globs import matcher
from pipeline.ingest.objects.stores import StalledError, Store, is_folder, patient, reason_of, within
from storage.records import files
from storage.strings.urls import is_url, is_web, name_of, parent_of


def canonical_url(url: str) -> str:
    """Returns the one URL of an object or folder: without slashes at its end, but for a web address."""
    return url if is_web(url) else url.rstrip("/") if url.partition("://")[2].strip("/") else url


def checked_roots(urls: Sequence[str], settings: IngestSettings) -> list[tuple[str, bool]]:
    """Returns each URL and whether it is a folder. Raises: ConfigError naming one that cannot be read."""
    roots = []
    for url in urls:
        try:
            roots.append((canonical_url(url), is_folder(url, settings.object_timeout_s)))
        except (OSError, StalledError) as error:
            raise ConfigError(f"{url}: {reason_of(error)}; check the URL") from error
        except ConfigError:
            raise
        except Exception as error:  # what a store's own library raises: no credentials, no such host
            raise ConfigError(f"{url}: {reason_of(error)}; check the URL and the credentials") from error
    return roots


def walk_objects(roots: Sequence[tuple[str, bool]], settings: IngestSettings) -> Iterator[Found]:
    """Yields a Candidate for each object, an InputFile for a folder that cannot be listed.

    roots: from checked_roots. Of each folder first the objects by name, then the folders by name, as of a local one.
    Hidden names and those that the globs leave out are no inputs; of an object that is also a folder both are.
    """
    included, excluded = matcher(settings.include), matcher(settings.exclude)
    takes_all = not settings.include
    for root, root_is_folder in roots:
        if not root_is_folder:
            yield Candidate(path=root, relative=name_of(root))
            continue
        stack = [(root, "")]
        while stack:
            folder, prefix = stack.pop()
            folders: list[tuple[str, str]] = []
            try:
                parts = patient(lambda its=folder: Store(its).pages(), settings.object_timeout_s)  # type: ignore[misc]
                for name, its_folder in chain.from_iterable(parts):
                    relative, url = prefix + name, f"{folder}/{name}"
                    if not name:
                        yield unreadable(
                            url, "broken", "a folder without a name (//) cannot be listed; rename it"
                        )
                    elif name.startswith(".") or excluded(relative):
                        continue
                    elif its_folder:
                        folders.append((url, relative + "/"))
                    elif takes_all or included(relative):
                        yield Candidate(path=url, relative=relative)
            except Exception as error:
                yield unreadable(folder, "broken", f"folder cannot be listed: {reason_of(error)}")
            stack.extend(reversed(folders))


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
                entries = within(lambda: Store(folder).entries(), self._limit_s)
                self._names[folder] = frozenset(name for name, _ in entries)
            except FileNotFoundError:
                self._absent.add(folder)
                self._names[folder] = None
            except Exception:
                self._names[folder] = None
        return self._names[folder]


def gone(stored: Iterable[tuple[int, str]], listings: Listings) -> list[int]:
    """Returns the ids of those of the files (id, path) that are known to be gone; may block as storage's `gone`."""
    return [
        file_id
        for file_id, path in stored
        if (listings.is_gone(path) if is_url(path) else files.gone([(file_id, path)]))
    ]


def are_gone(paths: Iterable[str], listings: Listings) -> bool:
    """Returns whether all of these files are known to be gone; may block."""
    numbered = list(enumerate(paths))
    return len(gone(numbered, listings)) == len(numbered)
