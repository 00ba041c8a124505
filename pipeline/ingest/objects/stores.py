"""Opens object stores through fsspec, and waits so long for one and no longer.

Credentials come from the environment alone, as each store's own tools take them. A folder of S3 is listed part by part,
as the store sends it: s3fs alone would hold every object's description.

Needs the extra `cloud`; stores other than S3 need a package more.
"""

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from typing import IO, Any, TypeVar

from pipeline.errors import ConfigError
from pipeline.stop import settle
from storage.strings.urls import is_web, objection, protocol_of

_NEEDED = "fsspec s3fs"
_PACKAGES = {
    **dict.fromkeys(("s3", "s3a", "http", "https"), _NEEDED),
    **dict.fromkeys(("gs", "gcs"), "fsspec gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss", "adl"), "fsspec adlfs"),
}
_COPY_BYTES = 8 << 20
DENIED = "access denied; check the credentials in the environment"
GONE = "no such object"


class Store:
    """A store and an object or folder in it. fs: of fsspec. path: as the store names it, without protocol.

    Raises: ConfigError for a URL that holds credentials or names a file, an unknown protocol or a missing package.
    """

    def __init__(self, url: str) -> None:
        if (reason := objection(url)) is not None:
            raise ConfigError(reason)
        protocol = protocol_of(url)
        package = _PACKAGES.get(protocol, _NEEDED)
        try:
            import fsspec

            fsspec.get_filesystem_class(protocol)
        except ImportError as error:
            raise ConfigError(f"{url}: reading it needs more packages: pip install {package}") from error
        except ValueError as error:
            raise ConfigError(f"{url}: {protocol}:// is no protocol that is known: {error}") from error
        try:
            # Listings are not kept: in a long process they would go stale.
            self.fs: Any = fsspec.filesystem(protocol, use_listings_cache=False)
        except ValueError as error:  # Azure's, without any credentials
            said = without_links(str(error))
            raise ConfigError(f"{url}: {said}; check the credentials in the environment") from error
        # A web address is a path as it is; a store's path keeps "?" and "#", which are letters of a name.
        self.path: str = url if is_web(url) else str(self.fs._strip_protocol(url))

    @classmethod
    def local(cls, folder: str) -> "Store":
        """Returns a local folder as a store, for what is written to either."""
        from fsspec.implementations.local import LocalFileSystem

        store = cls.__new__(cls)
        store.fs, store.path = LocalFileSystem(), os.path.abspath(folder)
        return store

    def put(self, file: IO[bytes], name: str) -> None:
        """Writes a file into this folder, which is made as needed; it appears whole. Raises: OSError."""
        target = f"{self.path}/{name}"
        if isinstance(self.fs.protocol, tuple) and "file" in self.fs.protocol:
            self.fs.makedirs(self.path, exist_ok=True)
            partial = f"{self.path}/.{name}.{os.getpid()}.part"
        else:
            partial = target  # a store shows an object once it is closed
        with self.fs.open(partial, "wb") as out:
            shutil.copyfileobj(file, out, _COPY_BYTES)
        if partial != target:
            os.replace(partial, target)

    def entries(self) -> list[tuple[str, bool]]:
        """Returns names, "" for one that is empty, and whether each is a folder, by name. Raises: OSError."""
        found: dict[tuple[str, bool], None] = {}
        for entry in self.fs.ls(self.path, detail=True):
            is_folder = entry["type"] == "directory"
            whole = str(entry["name"])
            below = whole.strip("/").removeprefix(self.path.strip("/"))
            if not below.strip("/"):
                # The marker of the folder itself, or "a//b": a folder without a name.
                if is_folder and whole.rstrip("/") + "/" == whole and whole.endswith("//"):
                    found["", True] = None
                continue
            found[below.strip("/").rpartition("/")[2], is_folder] = None
        return sorted(found)

    def pages(self) -> Iterator[list[tuple[str, bool]]]:
        """Yields `entries` in parts, without all of them in memory where the store allows it. Raises: OSError."""
        if hasattr(self.fs, "call_s3") and self.fs.split_path(self.path)[0]:
            yield from s3_pages(self.fs, self.path)
        else:
            yield self.entries()

    def is_folder(self) -> bool:
        """Returns whether this is a folder rather than an object. Raises: OSError."""
        return not is_web(self.path) and self.fs.info(self.path)["type"] == "directory"

    def chunks(self, chunk_bytes: int) -> Iterator[int | bytes]:
        """Yields the object's size, -1 where the store does not say, then its content. Raises: OSError and others."""
        with self.fs.open(self.path, "rb", cache_type="none") as file:
            size = getattr(file, "size", None)
            yield -1 if size is None else int(size)
            while chunk := file.read(chunk_bytes):
                yield bytes(chunk)


def is_folder(url: str, limit_s: float) -> bool:
    """Returns whether a URL is a folder's. Raises: OSError, StalledError, ConfigError."""
    return within(lambda: Store(url).is_folder(), limit_s)


def reason_of(error: BaseException, key: str = "ingest.object_timeout_s") -> str:
    """Returns why something could not be read, for users. key: of the time limit."""
    if isinstance(error, FileNotFoundError):
        return GONE
    if isinstance(error, PermissionError):
        return DENIED
    if isinstance(error, StalledError):
        return f"{error}; raise {key} if the store is slow, or run again"
    if isinstance(error, ConfigError):
        return str(error)
    if status_of(error) in (401, 403):
        return DENIED
    said = without_links(" ".join(str(error).split()))[:300]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def status_of(error: BaseException) -> int | None:
    """Returns the HTTP status in an error of a web server's (status), Azure's (status_code) or Google's (code)."""
    found = (getattr(error, name, None) for name in ("status", "status_code", "code"))
    return next((status for status in found if isinstance(status, int)), None)


def without_links(text: str) -> str:
    """Returns an error's text with the web addresses in it cut at their query, which may be signed."""
    return re.sub(r"(https?://[^\s?'\"]+)\?[^\s'\"]*", r"\1", text)


Item = TypeVar("Item")


class StalledError(Exception):
    """Nothing came for as long as was allowed."""


def patient(source: Callable[[], Iterable[Item]], limit_s: float) -> Iterator[Item]:
    """Yields a source's items; each may take limit_s seconds. Raises: StalledError, and what the source raises."""

    def supplied() -> Iterator[tuple[Item]]:
        for item in source():
            yield (item,)

    items = supplied()
    coming = _begun(lambda: next(items, None))
    while (found := _waited_for(coming, limit_s)) is not None:
        coming = _begun(lambda: next(items, None))  # while the one before is written
        yield found[0]


def within(call: Callable[[], Item], limit_s: float) -> Item:
    """Returns what a call returns. Raises: StalledError, and what the call raises."""
    return _waited_for(_begun(call), limit_s)


def _begun(call: Callable[[], Item]) -> "Future[Item]":
    """Returns the future of a call in a daemon thread.

    A call that never returns cannot be ended in Python, only be left behind: its thread ends with it, or with the
    process.
    """
    future: Future[Item] = Future()
    threading.Thread(target=settle, args=(future, call), name="object", daemon=True).start()
    return future


def _waited_for(future: "Future[Item]", limit_s: float) -> Item:
    wait((future,), limit_s)
    if not future.done():
        raise StalledError(f"nothing came for {limit_s:g} s")
    return future.result()


def s3_pages(fs: Any, path: str) -> Iterator[list[tuple[str, bool]]]:
    """Yields parts of about a thousand names and whether each is a folder; "" is a folder without a name.

    fs: of s3fs. S3 sends keys by name, so all parts together are in order, but that folders are among the objects. A
    marker, an object named as its folder, is left out. Raises: OSError; FileNotFoundError where there is nothing.
    """
    bucket, key, _ = fs.split_path(path)
    prefix = f"{key.rstrip('/')}/" if key.strip("/") else ""
    asked = {"Bucket": bucket, "Prefix": prefix, "Delimiter": "/"}
    is_there = not prefix  # a bucket may be empty
    while True:
        part = fs.call_s3("list_objects_v2", **asked)
        objects, folders = part.get("Contents") or (), part.get("CommonPrefixes") or ()
        is_there = is_there or bool(objects or folders)
        if not is_there:
            raise FileNotFoundError(path)
        names = [(str(one["Key"]).removeprefix(prefix), False) for one in objects]
        names += [(str(one["Prefix"]).removeprefix(prefix).removesuffix("/"), True) for one in folders]
        yield sorted(entry for entry in names if entry != ("", False))
        if not (token := part.get("NextContinuationToken")):
            return
        asked["ContinuationToken"] = token
