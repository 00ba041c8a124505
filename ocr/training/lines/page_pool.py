"""A pool of the latest batches of pages, each used several times: a GPU is faster than what draws pages.

Source: Choi et al. 2019, Faster Neural Network Training with Data Echoing.
"""

import queue
import random
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, Generic, TypeVar, cast

from torch.utils.data import DataLoader, IterableDataset

Batch = TypeVar("Batch")
_AHEAD = 8  # batches that wait to enter the pool
_FREE_USES = 4  # the first batches may be used so much more often


class PagePool(Generic[Batch]):
    """Gives batches at random from the last `held`.

    source: batches, dataclasses of tensors, taken by a thread of its own. uses: how often each is given on average at
    most; where more would be needed, the pool waits for a new one. It is made once the first batch is there.
    """

    def __init__(self, source: Iterator[Batch], held: int, uses: float) -> None:
        self._fresh: queue.Queue[Batch | Exception] = queue.Queue(_AHEAD)
        self._pool: deque[Batch] = deque(maxlen=held)
        self._uses, self.arrived, self.used = uses, 0, 0
        threading.Thread(target=self._feed, args=(source,), daemon=True).start()
        self._take()

    def draw(self) -> Batch:
        """Returns a batch. Raises what ended the source."""
        while not self._fresh.empty():
            self._take()
        if self.used > self._uses * self.arrived + _FREE_USES:
            self._take()
        self.used += 1
        return random.choice(self._pool)

    def _take(self) -> None:
        batch = self._fresh.get()
        if isinstance(batch, Exception):
            self._fresh.put(batch)
            raise batch
        self._pool.append(batch)
        self.arrived += 1

    def _feed(self, source: Iterator[Batch]) -> None:
        try:
            for batch in source:
                self._fresh.put(copied(batch))
        except Exception as error:
            self._fresh.put(error)
        else:
            self._fresh.put(EOFError("no more pages are drawn"))


def copied(batch: Batch) -> Batch:
    """Returns a batch with tensors of its own: what workers send lies in shared memory, which is scarce."""
    tensors: dict[str, Any] = {
        field.name: getattr(batch, field.name).clone() for field in fields(cast(Any, batch))
    }
    return cast(Batch, replace(cast(Any, batch), **tensors))


def batches(dataset: IterableDataset[Batch], workers: int) -> Iterator[Batch]:
    """Returns the dataset's batches, drawn by `workers` processes (in this one where 0), two ahead in each."""
    context = "spawn" if workers else None
    return iter(DataLoader(dataset, batch_size=None, num_workers=workers, multiprocessing_context=context))
