"""Downloads one object to a local file: within limits of size and time, and once more after an error that may pass."""

import os
import time
from collections.abc import Callable
from typing import BinaryIO

from pipeline.documents import sniff
from pipeline.documents.settings import IngestSettings
from pipeline.errors import ConfigError
from pipeline.ingest.objects.stores import StalledError, Store, patient, reason_of, status_of

CHUNK_BYTES = 4 << 20
# Waits before the next attempt; a stalled store is asked only once more, for its time limit is long already.
_PAUSES_S = (0.5, 2.0)
_STALLS = 2


class ObjectError(Exception):
    """An object cannot be had, and why, as in "it ...": not for a later attempt of this run."""


class _ChangedError(Exception):
    """An object ended before its size was reached, or went on beyond it."""


# Waits until a file may have so many bytes in all. Raises: ObjectError.
Reserve = Callable[[int], None]


def download(url: str, path: str, settings: IngestSettings, reserve: Reserve) -> None:
    """Writes an object to a file. Of an object that is no input by name or content, only the beginning.

    Raises: ObjectError.
    """
    num_stalls = 0
    for attempt in range(len(_PAUSES_S) + 1):
        try:
            _download(url, path, settings, reserve)
            return
        except ObjectError:
            raise
        except (FileNotFoundError, PermissionError, IsADirectoryError, ConfigError) as error:
            raise ObjectError(f"cannot be read: {reason_of(error)}") from error
        except Exception as error:
            num_stalls += isinstance(error, StalledError)
            is_denied = status_of(error) in (401, 403, 404, 410)
            if attempt == len(_PAUSES_S) or num_stalls == _STALLS or is_denied:
                raise ObjectError(f"cannot be read: {reason_of(error)}") from error
            time.sleep(_PAUSES_S[attempt])


def _download(url: str, path: str, settings: IngestSettings, reserve: Reserve) -> None:
    """Makes one attempt. Raises: ObjectError, StalledError, and what the store raises."""
    size, taken = -1, 0
    chunks = patient(lambda: Store(url).chunks(CHUNK_BYTES), settings.object_timeout_s)
    # Nobody else reads it; an attempt before this one may have left a part.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, 0o600), "wb") as file:
        for chunk in chunks:
            if isinstance(chunk, int):
                size = chunk
                reserve(max(size, 0))
                continue
            if not taken and not _is_input(chunk, path, settings):
                _write(file, chunk[: sniff.HEAD_BYTES])
                return
            taken += len(chunk)
            if taken > size:
                reserve(taken)
            _write(file, chunk)
    if size not in (-1, taken):
        raise _ChangedError(
            f"{taken} of {size} bytes came; it was changed meanwhile, or the connection broke"
        )


def _write(file: BinaryIO, chunk: bytes) -> None:
    try:
        file.write(chunk)
        file.flush()
    except OSError as error:
        raise ObjectError(f"cannot be kept in the spool: {error.strerror}; see ingest.spool") from error


def _is_input(head: bytes, path: str, settings: IngestSettings) -> bool:
    """Returns whether the object may be an input, as pipeline.stages.discover sees it."""
    videos = settings.video
    return bool(
        sniff.claimed(path, videos=videos) or sniff.found(head[: sniff.HEAD_BYTES], path, videos=videos)
    )
