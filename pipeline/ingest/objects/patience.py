"""Takes items from a source that may stop answering, without stopping itself."""

import threading
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Full, Queue
from typing import Generic, TypeVar

Item = TypeVar("Item")
_POLL_S = 1.0


class StalledError(Exception):
    """Nothing came for as long as was allowed."""


class _End(Generic[Item]):
    """The source's end, or the error that ended it."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def patient(source: Callable[[], Iterable[Item]], limit_s: float) -> Iterator[Item]:
    """Yields a source's items; each may take limit_s seconds. Raises: StalledError, and what the source raises.

    The source runs in a daemon thread: a call that never returns cannot be ended in Python, only be left behind. Such a
    thread ends with its call, or with the process.
    """
    items: Queue[Item | _End[Item]] = Queue(2)
    is_left = threading.Event()
    threading.Thread(target=_supply, args=(source, items, is_left), name="object", daemon=True).start()
    try:
        while True:
            try:
                item = items.get(timeout=limit_s)
            except Empty:
                raise StalledError(f"nothing came for {limit_s:g} s") from None
            if not isinstance(item, _End):
                yield item
            elif item.error is not None:
                raise item.error
            else:
                return
    finally:
        is_left.set()


def within(call: Callable[[], Item], limit_s: float) -> Item:
    """Returns what a call returns. Raises: StalledError, and what the call raises."""
    return next(iter(list(patient(lambda: [call()], limit_s))))


def _supply(
    source: Callable[[], Iterable[Item]], items: "Queue[Item | _End[Item]]", is_left: threading.Event
) -> None:
    end: _End[Item] = _End()
    try:
        for item in source():
            if not _put(items, item, is_left):
                return
    except BaseException as error:
        end = _End(error)
    _put(items, end, is_left)


def _put(items: "Queue[Item | _End[Item]]", item: "Item | _End[Item]", is_left: threading.Event) -> bool:
    while not is_left.is_set():
        try:
            items.put(item, timeout=_POLL_S)
        except Full:
            continue
        return True
    return False
