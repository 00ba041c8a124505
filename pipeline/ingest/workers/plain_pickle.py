"""Reads what worker processes send back, so that one that a file has taken over cannot run code in the run's own.

A pickle may call whatever it names. Here it may name only values of these packages, arrays and the process pool's
messages: what it makes is data, right or wrong. Torch-free.
"""

import dataclasses
import io
import logging
import pickle
import sys
from collections.abc import Iterable
from contextlib import suppress
from enum import EnumMeta
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from pebble.common.types import Result as PoolResult
from pebble.common.types import ResultStatus
from pebble.pool.process import TaskResult

LOGGER = logging.getLogger("ocrbatch")
_PACKAGES = frozenset({"encoders", "ocr", "pipeline", "storage"})
_OTHERS = {
    "collections": {"Counter"},
    "numpy": {"dtype", "ndarray"},
    "pebble.common.types": {"RemoteException.rebuild_exception", "Result", "ResultStatus"},
    "pebble.pool.process": {"Acknowledgement", "TaskResult"},
} | {
    f"numpy.{core}.{part}": {"_frombuffer", "_reconstruct", "scalar"}
    for core in ("core", "_core")
    for part in ("multiarray", "numeric")
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _OTHERS.get(module, ()):
            return super().find_class(module, name)
        if (module, name) == ("builtins", "getattr"):
            return _member
        # Nothing is imported: a module may do something then.
        found = vars(sys.modules.get(module, object)).get(name)
        is_ours = module.split(".")[0] in _PACKAGES
        if isinstance(found, type) and (
            dataclasses.is_dataclass(found)
            if is_ours
            else module == "builtins" and issubclass(found, Exception)
        ):
            return found
        raise pickle.UnpicklingError(f"a worker's result has a {module}.{name}, which is no value")


def _member(kind: Any, name: str) -> Any:
    """Returns an enum's member, which early versions of Python 3.11, such as Debian's, pickle as an attribute."""
    if isinstance(kind, EnumMeta) and name in kind.__members__:
        return kind.__members__[name]
    raise pickle.UnpicklingError(f"a worker's result has an attribute {name}, which is no value")


def loads(data: bytes, buffers: Iterable[Any] = ()) -> Any:
    """Returns a pickled value. buffers: its arrays' bytes.

    Raises: pickle.UnpicklingError where it names what is no value; anything for bytes that are no pickle.
    """
    return _Unpickler(io.BytesIO(data), buffers=buffers).load()


def plain(error: Exception) -> Exception:
    """Returns an error that can be read from its pickle: itself, or one that says the same."""
    try:
        loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class PlainContext:
    """A context of multiprocessing in which what comes through a pipe to this process is plain, or None."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def Pipe(self, duplex: bool = True) -> tuple[Connection, Connection]:  # noqa: N802 (multiprocessing's name)
        """Returns a pipe's ends as multiprocessing does."""
        reader, writer = self._context.Pipe(duplex)
        # Here alone: in another process it reads what this one sends.
        reader.recv = partial(_received, reader)
        return reader, writer


class _Ignored:
    """What stands in for any other value of a message of which only the task is to be known."""

    def __init__(self, *_: Any) -> None:
        """Takes whatever it is made of, and whatever is put into it."""

    append = extend = __setitem__ = __setstate__ = __init__


class _Envelope(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return TaskResult if (module, name) == (TaskResult.__module__, TaskResult.__name__) else _Ignored


def _received(reader: Connection) -> Any:
    data = reader.recv_bytes()
    try:
        return loads(data)
    except Exception as error:  # the process pool goes on
        LOGGER.warning("what a worker process sent was not opened: %s: %s", type(error).__name__, error)
        with suppress(Exception):  # else the task ends in time, as one that hangs does
            message = _Envelope(io.BytesIO(data)).load()
            if isinstance(message, TaskResult):
                return TaskResult(message.task, PoolResult(ResultStatus.ERROR, error))
        return None
