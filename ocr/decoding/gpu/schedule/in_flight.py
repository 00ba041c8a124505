"""Holds the launches in flight on the device, and has the host check their results."""

import time
from collections import deque
from collections.abc import Callable

from torch import Tensor

from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.schedule.control import Control
from ocr.decoding.gpu.schedule.entries import EngineStats, Entry, Record
from ocr.decoding.gpu.schedule.scheduler import rows_of


class InFlight:
    """The launches whose results the host has not checked, oldest first.

    prefilled: called with a page that was prefilled, before its first token is checked, and its share of the prefill's
    seconds.
    """

    def __init__(
        self,
        steps: DeviceSteps,
        control: Control,
        stats: EngineStats,
        prefilled: Callable[[Entry, float], None],
    ) -> None:
        self._steps = steps
        self._control = control
        self._stats = stats
        self._prefilled = prefilled
        self._records: deque[Record] = deque()

    def add(self, record: Record) -> None:
        """Adds the newest launch."""
        self._records.append(record)

    def clear(self) -> None:
        """Drops all launches unchecked."""
        self._records.clear()

    def look(self, *, keep_step: bool) -> None:
        """Checks all launches, or with keep_step those that are older than the last step."""
        records = self._records
        count = None
        if keep_step:
            steps = [place for place, record in enumerate(records) if record.step is not None]
            count = steps[-1] if steps else len(records)
        while records and count != 0:
            self._look_at(records.popleft())
            count = None if count is None else count - 1

    def _look_at(self, record: Record) -> None:
        started = time.perf_counter()
        numbers = record.pending.numbers()
        waited = time.perf_counter()
        if record.seconds is not None:
            self._took_prefill(record, record.seconds())
        if refused := self._control.look(record, numbers):
            self._choose_again(refused, *self._logits(record, refused))
        self._stats.wait_s += waited - started
        self._stats.host_s += time.perf_counter() - waited

    def _took_prefill(self, record: Record, seconds: float) -> None:
        self._stats.prefill_s += seconds
        for entry in record.entries:
            self._prefilled(entry, seconds / len(record.entries))

    def _logits(self, record: Record, refused: list[Entry]) -> tuple[Tensor, list[int]]:
        """Returns the logits that the record's tokens were chosen from, and the rows of the refused ones."""
        sources = [entry.source for entry in refused]
        if record.logits_NV is not None:
            return record.logits_NV, sources
        assert record.step is not None
        age = self._stats.steps - record.step
        assert age <= 1, "only what the last two steps left is kept"
        return self._steps.previous if age else self._steps.current, sources

    def _choose_again(self, refused: list[Entry], logits_NV: Tensor, sources: list[int]) -> None:
        """Rewinds the pages and has their tokens chosen again; results in flight for them are discarded.

        Sampled pages come here with every token, so they take two steps for each; the others take no more steps.
        """
        pages = [entry.page for entry in refused]
        pending = self._steps.choose_again(
            logits_NV,
            sources,
            [entry.banned for entry in refused],
            rows_of(pages),
            [page.reading.noise(logits_NV.shape[1]) for page in pages],
        )
        self._records.append(
            Record(
                entries=[entry.rewound(place) for place, entry in enumerate(refused)],
                pending=pending,
                again=True,
            )
        )
        self._stats.rewinds += len(refused)
