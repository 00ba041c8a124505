"""Finds the files to read, in a stable order; of files it opens only regular ones, for their first bytes."""

import itertools
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from pipeline.documents import sniff
from pipeline.documents.file_access import open_at_once, stamp_of
from pipeline.documents.settings import IngestSettings
from pipeline.documents.videos.frame_folders import NO_FRAMES, is_frame, natural_order
from pipeline.errors import ConfigError
from pipeline.ingest import manifest
from pipeline.ingest.found import Candidate, Found, unreadable
from pipeline.ingest.globs import matcher
from pipeline.ingest.objects.object_walk import canonical_url, checked_roots, walk_objects
from pipeline.ingest.seen_names import SeenNames
from pipeline.types import InputFile
from storage.strings.urls import is_url, is_web, name_of, objection, without_secrets

__all__ = ["Candidate", "Found", "canonical", "walk"]

_DATABASE_COMPANIONS = ("-wal", "-shm", "-journal", ".lock")


def canonical(path: str) -> str:
    """Returns the one path under which a file or folder is known: absolute, without links in its folder's path.

    A folder that is itself a link becomes its target. A link to a file keeps its name, as a copy would. A URL stays.
    """
    if is_url(path):
        return canonical_url(path)
    if os.path.isdir(path):
        return os.path.realpath(path)
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def walk(
    paths: Sequence[str], settings: IngestSettings, databases: Sequence[str] = ()
) -> Iterator[Candidate | InputFile]:
    """Yields every input once: a Candidate to be probed, or an InputFile for what cannot be opened.

    Paths are absolute, and the same however the folder is named (see `canonical`); a link to a folder within it keeps
    its name. Of each folder first the files by name, then the folders by name; folders reached through a link come
    last, and only if they were not read already, which also ends link loops. The images of a folder that the settings
    name as a video's are one Candidate, the folder, ahead of what else is in it. Hidden names, paths that the globs
    leave out and this program's databases (also `databases`, with side files, and its other files) are not inputs.

    URLs are listed through their store (pipeline.ingest.objects), and the settings' manifest is read after all paths.

    Raises: ConfigError naming a path or URL that does not exist, or a manifest that cannot be read, before anything is
    yielded.
    """
    for path in paths:
        if not is_url(path) and not os.path.lexists(path):
            raise ConfigError(f"{path}: no such file or folder; check the path")
    urls = [path for path in paths if is_url(path)]
    roots = dict(zip(urls, checked_roots(urls, settings), strict=True))
    walk_ = _Walk(settings, databases)
    found = walk_.run(paths, roots)
    if settings.manifest is None:
        return found
    named = manifest.entries(settings.manifest)
    return itertools.chain(found, walk_.named(named))


class _Walk:
    def __init__(self, settings: IngestSettings, databases: Sequence[str]) -> None:
        self._settings = settings
        self._included = matcher(settings.include) if settings.include else lambda relative: True
        self._excluded = matcher(settings.exclude)
        self._is_video_folder = matcher(settings.video_folders)
        self._databases = {
            absolute for path in databases for absolute in (os.path.abspath(path), os.path.realpath(path))
        }
        self._files = SeenNames()
        self._folders = SeenNames()  # by device and inode
        self._linked: list[tuple[str, str]] = []

    def run(self, paths: Sequence[str], roots: Mapping[str, tuple[str, bool]]) -> Iterator[Found]:
        """Yields the inputs of paths. roots: of those that are URLs, from checked_roots."""
        for named in paths:
            if named in roots:
                yield from self._objects(roots[named])
                continue
            path = canonical(str(PurePath(named)))
            if os.path.isdir(path):
                yield from self._tree(path, "")
            else:
                yield from self._file(path, os.path.basename(path))
        while self._linked:
            yield from self._tree(*self._linked.pop(0))

    def named(self, entries: Iterator[manifest.Entry]) -> Iterator[Found]:
        """Yields what a manifest names and was not found yet; of what cannot be opened a document with the reason."""
        for entry in entries:
            if isinstance(entry, InputFile):
                yield entry
            elif is_url(entry):
                yield from self._named_object(entry)
            elif os.path.lexists(entry):
                yield from self.run([entry], {})
            else:
                yield from self._once(
                    unreadable(canonical(entry), "broken", "no such file; the manifest names it")
                )

    def _named_object(self, url: str) -> Iterator[Found]:
        """Yields an object, unlisted, or the objects in a folder, whose URL ends with a slash."""
        if (reason := objection(url)) is not None:
            yield from self._once(unreadable(without_secrets(url), "broken", reason))
        elif url.endswith("/") and not is_web(url):
            yield from self._objects((canonical_url(url), True))
        else:
            yield from self._once(Candidate(path=url, relative=name_of(url)))

    def _once(self, found: Found) -> Iterator[Found]:
        if self._files.add(found.path):
            yield found

    def _objects(self, root: tuple[str, bool]) -> Iterator[Found]:
        for found in walk_objects([root], self._settings):
            yield from self._once(found)

    def _tree(self, root: str, root_prefix: str) -> Iterator[Candidate | InputFile]:
        """Yields the inputs below a folder."""
        # A stack instead of recursion: trees may be deeper than Python's stack.
        stack = [(root, root_prefix)]
        while stack:
            folder, prefix = stack.pop()
            try:
                stamp = os.stat(folder)
                if not self._folders.add(f"{stamp.st_dev}:{stamp.st_ino}"):
                    continue
                with os.scandir(folder) as entries:
                    ordered = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                yield unreadable(folder, "broken", f"folder cannot be read: {error.strerror}")
                continue
            folders = []
            if self._is_video_folder(prefix.rstrip("/") or "."):
                yield from self._video(folder, prefix, ordered)
            for entry in ordered:
                relative, path = prefix + entry.name, str(PurePath(folder, entry.name))
                if entry.name.startswith(".") or self._excluded(relative) or path in self._databases:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append((path, relative + "/"))
                elif os.path.isdir(path):
                    self._linked.append((path, relative + "/"))
                elif self._included(relative):
                    yield from self._file(path, relative)
            stack.extend(reversed(folders))

    def _video(
        self, folder: str, prefix: str, entries: Sequence[os.DirEntry[str]]
    ) -> Iterator[Candidate | InputFile]:
        """Yields the folder as a video of its images, which are no inputs of their own then; all else in it is."""
        names = [
            entry.name
            for entry in entries
            if not entry.name.startswith(".")
            and is_frame(entry.name)
            and not self._excluded(prefix + entry.name)
            and self._included(prefix + entry.name)
            and not entry.is_dir()
        ]
        if not names:
            if not any(entry.is_dir() for entry in entries):  # else those may be the videos
                yield unreadable(folder, "broken", NO_FRAMES)
            return
        for name in names:
            self._files.add(str(PurePath(folder, name)))
        yield Candidate(
            path=folder,
            relative=prefix.rstrip("/") or ".",
            frames=tuple(sorted(names, key=natural_order)),
        )

    def _file(self, path: str, relative: str) -> Iterator[Candidate | InputFile]:
        if self._is_database(path) or not self._files.add(path):
            return
        try:
            found = os.stat(path)
            if not stat.S_ISREG(found.st_mode):
                kind = _SPECIAL.get(stat.filemode(found.st_mode)[0], "something else")
                yield unreadable(path, "skipped", f"not a regular file but {kind}")
            elif not sniff.is_own_database(_head(path)):
                yield Candidate(path=path, relative=relative, stamp=stamp_of(found))
        except OSError as error:
            is_input = sniff.claimed(path, videos=self._settings.video)
            yield unreadable(path, "broken" if is_input else "skipped", f"cannot be read: {error.strerror}")

    def _is_database(self, absolute: str) -> bool:
        mains = [absolute.removesuffix(end) for end in _DATABASE_COMPANIONS if absolute.endswith(end)]
        own = (main in self._databases or main.endswith(".db") or _is_own(main) for main in mains)
        return absolute in self._databases or any(own)


# By the letter that `ls -l` shows for it.
_SPECIAL = {"p": "a named pipe", "s": "a socket", "b": "a block device", "c": "a character device"}


def _head(path: str) -> bytes:
    with open_at_once(path) as file:
        return file.read(100)


def _is_own(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and sniff.is_own_database(_head(path))
    except OSError:
        return False
