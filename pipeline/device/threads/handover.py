"""Hands items from one thread to another through a queue bounded in bytes."""

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Handover(Generic[Item]):
    """A queue between two threads: one puts, one takes, any may end it. max_bytes: its capacity, None for no limit."""

    def __init__(self, max_bytes: int | None = None) -> None:
        self._max_bytes = max_bytes
        self._items: deque[tuple[Item, int]] = deque()
        self._held_bytes = 0
        self._num_first = 0
        self._changed = threading.Condition()
        self._finished = False

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_over(self) -> bool:
        """Tells whether the queue is empty and nothing more will come."""
        return self._finished and not self._items

    def put(self, item: Item, num_bytes: int, *, first: bool = False) -> None:
        """Puts an item once there is room, which an empty queue always has. After the end it drops the item.

        first: puts it before all items that were put without this, and behind those that were put with it.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._finished or self._has_room(num_bytes))
            if not self._finished:
                if first:
                    self._items.insert(self._num_first, (item, num_bytes))
                    self._num_first += 1
                else:
                    self._items.append((item, num_bytes))
                self._held_bytes += num_bytes
                self._changed.notify_all()

    def put_back(self, items: Iterable[Item]) -> None:
        """Puts items that were taken in vain back to the front, whether there is room or not."""
        with self._changed:
            back = list(items)
            self._items.extendleft((item, 0) for item in reversed(back))
            self._num_first += len(back)
            self._changed.notify_all()

    def take(self, most: int, *, at_least: int = 1, timeout_s: float | None = None) -> list[Item]:
        """Returns up to `most` items as soon as there are at_least; none after timeout_s, the rest at the end."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._changed:
            while len(self._items) < at_least and not self._finished:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return []
                self._changed.wait(left)
            taken = [self._items.popleft() for _ in range(min(most, len(self._items)))]
            self._num_first = max(0, self._num_first - len(taken))
            if taken:
                self._held_bytes -= sum(num_bytes for _, num_bytes in taken)
                self._changed.notify_all()
        return [item for item, _ in taken]

    def finish(self) -> None:
        """Ends the queue: nothing more can be put, but what is in it can still be taken."""
        with self._changed:
            self._finished = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """Ends the queue and drops what is in it."""
        with self._changed:
            self._finished = True
            self._items.clear()
            self._held_bytes = self._num_first = 0
            self._changed.notify_all()

    def _has_room(self, num_bytes: int) -> bool:
        if self._max_bytes is None or not self._items:
            return True
        return self._held_bytes + num_bytes <= self._max_bytes
