"""Watches folders and reads what arrives in them: each batch of files is a run of its own in the database.

Folders are looked at again and again, for network shares and scanners announce nothing. A file is read once it has
stayed as it is from one look to the next: a scanner may still be writing to it. Between runs the database is free.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from pipeline.config.schema import Config, ingest_settings, own_files
from pipeline.errors import ConfigError, ExitCode, StopRequest
from pipeline.ingest.walk import Candidate, walk
from pipeline.reports.summary import RunSummary
from pipeline.stop import Stop
from storage.errors import DatabaseBusyError
from storage.strings.urls import is_url

LOGGER = logging.getLogger("ocrbatch")
# Seconds from one look to the next, and how long a file must have been left alone.
EVERY_S = 5.0
_STEP_S = 0.1

# What changes while a file is written: its size, and its time of modification in ns; of a video's folder also how many
# frames it has.
_State = tuple[int, int, int]


class Watched:
    """The files of the watched folders: which of them have changed, and which of these have settled."""

    def __init__(self) -> None:
        self._before: Mapping[str, _State] = {}
        self._read: dict[str, _State] = {}

    def settled(self, now: Mapping[str, _State]) -> list[str]:
        """Returns the files that are to be read now: unchanged since the last look, and not read as they are."""
        found = [
            path
            for path, state in now.items()
            if self._before.get(path) == state and self._read.get(path) != state
        ]
        self._before = now
        return found

    def note_read(self, paths: Iterable[str]) -> None:
        """Notes that files were read as they were at the last look, however that ended."""
        self._read.update({path: self._before[path] for path in paths})


def watch(
    config: Config, stop: Stop, read: Callable[[Config], RunSummary], every_s: float = EVERY_S
) -> ExitCode:
    """Reads files as they arrive in the paths of the configuration until a stop is requested; returns the exit code.

    That is STOPPED where a run was cut short, else INCOMPLETE where one was, else OK: to be stopped while it waits is
    the watch's normal end. read: makes a run of a configuration. A file that failed is read again when it changes.

    Raises: ConfigError where a path does not exist at the beginning; what read raises, but for a database that another
    run has: that is waited for.
    """
    watched, code = Watched(), ExitCode.OK
    watched.settled(_look(config, stop))
    while True:
        try:
            _wait(stop, every_s)
            batch = watched.settled(_look_again(config, stop))
        except StopRequest:
            return code
        if not batch:
            continue
        try:
            ingest = config.ingest.model_copy(update={"paths": batch})
            summary = read(config.model_copy(update={"ingest": ingest}))
        except DatabaseBusyError as error:
            LOGGER.warning("%s; trying again", error)
            continue
        except StopRequest:
            return ExitCode.STOPPED
        watched.note_read(batch)
        if summary.stopped is not None:
            return summary.exit_code
        code = max(code, summary.exit_code)


def _look(config: Config, stop: Stop) -> dict[str, _State]:
    """Returns the state of each file that a run over the paths would read. Raises: ConfigError, StopRequest."""
    if not config.ingest.paths:
        raise ConfigError("nothing to watch: name folders, or set ingest.paths in the configuration")
    if config.ingest.manifest is not None or any(map(is_url, config.ingest.paths)):
        raise ConfigError(
            "only local folders can be watched: run again for URLs and manifests, from cron say"
        )
    return stop.while_doing(partial(_states, config))


def _look_again(config: Config, stop: Stop) -> dict[str, _State]:
    """Returns what _look does; {} where a path is gone, for a share may be mounted again. Raises: StopRequest."""
    try:
        return _look(config, stop)
    except ConfigError as error:
        LOGGER.warning("%s; waiting for it", error)
        return {}


def _states(config: Config) -> dict[str, _State]:
    states: dict[str, _State] = {}
    for found in walk(config.ingest.paths, ingest_settings(config), own_files(config)):
        if not isinstance(found, Candidate):
            continue
        try:
            state = os.stat(found.path)
        except OSError:  # gone meanwhile
            continue
        states[found.path] = (state.st_size, state.st_mtime_ns, len(found.frames))
    return states


def _wait(stop: Stop, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        stop.check()
        time.sleep(min(_STEP_S, left))
    stop.check()
