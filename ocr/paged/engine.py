"""Reads pages with a fixed number of slots: a finished page's slot is refilled, and the device never waits.

Step t + 1 is launched before the host has looked at step t. What the host then forbids (a repeated n-gram, an end
that comes too early) is chosen again from step t's logits, which are kept, and the page goes back to where it was.
Numbers under way for a page that ended or went back are thrown away.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor

from ocr.paged.control import Control
from ocr.paged.pool import BlockPool, PoolShape
from ocr.paged.seats import Seats
from ocr.paged.steps import DeviceSteps
from ocr.paged.types import EngineSettings, EngineStats, Entry, Page, Record
from ocr.reading import Loaded, PageReading
from ocr.types import Transcript

# A prompt's embeddings [L, D] and its reading; None where there is none at the moment.
Item = tuple[Tensor, PageReading] | None
Finished = tuple[int, Transcript, float]
_KV_BYTES_CPU = 1 << 31


class PagedEngine:
    """Greedy decoding over a paged key-value cache, token by token what ocr.decoding.decode_pages() writes.

    One thread at a time. Memory running out halves slots and cache, and the pages go on from where they were.

    Raises: ValueError when the cache does not hold one page of max_tokens.
    """

    def __init__(self, loaded: Loaded, settings: EngineSettings | None = None) -> None:
        self.settings = settings or EngineSettings()
        self.stats = EngineStats()
        self.slots = self.settings.slots
        self._loaded = loaded
        self._language = loaded.model.language_model
        weight: Tensor = loaded.model.lm_head.weight
        self.device = weight.device
        self._shape = PoolShape.of(self._language, weight.dtype, self.settings.block_tokens)
        positions = int(self._language.config.max_position_embeddings)
        self._max_tokens = min(self.settings.max_tokens, positions)
        self._kv_bytes = self.settings.kv_bytes or self._default_bytes()
        self._prefill_tokens = self.settings.prefill_tokens
        lag = self.settings.lag
        self._lag = int(self.device.type == "cuda") if lag is None else lag
        self._waiting: deque[Page] = deque()
        self._records: deque[Record] = deque()
        self._finished: deque[Finished] = deque()
        self._exhausted = False
        self._control = Control(loaded.eos_id, self.stats, self._end, self._feed)
        with self._on_device():
            self._build()

    def read(self, readings: Iterable[Item]) -> Iterator[Finished]:
        """The pages as they end: (place among the readings, transcript, seconds since its prefill began).

        readings is asked for more when slots are free. A None says that there is nothing yet: decoding goes on and
        asks again later, so that an idle source should wait a little before it says so; it takes no place.

        Raises: ocr.reading.DecodeError when logits are not numbers; torch.OutOfMemoryError with one slot.
        """
        source = iter(readings)
        self._exhausted, self._count = False, 0
        try:
            while True:
                with self._on_device():
                    self._advance(source)
                while self._finished:
                    yield self._finished.popleft()
                if self._exhausted and not self._waiting and not self._seats.pages:
                    return
        finally:
            self._abandon()

    def warm_up(self, rows: Iterable[int] = ()) -> None:
        """Captures the steps of so many rows and of all slots, if steps are captured. Only between readings."""
        if not self._steps.graphs:
            return
        with self._on_device():
            for size in sorted({self._steps.bucket(count) for count in (*rows, self.slots)}, reverse=True):
                if self._steps.captured_for(size) != size:
                    self._steps.capture(size)

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        """Triton launches, and events are recorded, on the current device."""
        on_cuda = self.device.type == "cuda"
        with torch.inference_mode(), torch.cuda.device(self.device) if on_cuda else nullcontext():
            yield

    def _advance(self, source: Iterator[Item]) -> None:
        """One turn: fill slots, launch a step, look at the one before."""
        try:
            self._admit(source)
            if self._seats.pages:
                self._launch()
            self._look(keep_step=self._lag > 0 and bool(self._seats.pages))
            return
        except torch.OutOfMemoryError:
            if self.slots == 1:
                raise
        self._shrink()  # here, where the exception no longer holds what was being computed

    def _admit(self, source: Iterator[Item]) -> None:
        """Fills the free slots, once enough of them are free to make a prefill worth it."""
        enough = self.settings.refill or -(-self.slots // 16)
        if self._seats.pages and self._seats.num_free < min(enough, self.slots):
            return
        chosen: dict[int, list[Page]] = {}
        while self._seats.num_free and (page := self._next(source)) is not None:
            if not self._seats.take(page):
                self._waiting.appendleft(page)
                break
            page.started = page.started or time.perf_counter()
            chosen.setdefault(page.num_tokens, []).append(page)
        for length, pages in chosen.items():
            most = max(1, self._prefill_tokens // length)
            for start in range(0, len(pages), most):
                self._prefill(pages[start : start + most], length)

    def _next(self, source: Iterator[Item]) -> Page | None:
        """The next page that may write anything, None if there is none now."""
        if self._waiting:
            return self._waiting.popleft()
        for item in source:
            if item is None:
                return None
            prompt_LD, reading = item
            index, self._count = self._count, self._count + 1
            if reading.budget > 0:
                assert len(prompt_LD) + reading.budget <= self._max_tokens, "beyond the engine's max_tokens"
                return Page(index=index, prompt_LD=prompt_LD, reading=reading)
            self._finished.append((index, reading.transcript(self._loaded.tokenizer), 0.0))
        self._exhausted = True
        return None

    def _prefill(self, pages: list[Page], length: int) -> None:
        """Pages of equal length, in one forward."""
        num_blocks = self._shape.blocks(length)
        done = self._steps.prefill(
            torch.stack([self._prompt(page) for page in pages]),
            [page.blocks[:num_blocks] for page in pages],
            _rows(pages),
        )
        entries = [
            Entry(page=page, generation=page.generation, source=place, position=length)
            for place, page in enumerate(pages)
        ]
        self._records.append(
            Record(entries=entries, pending=done.pending, logits_NV=done.logits_NV, seconds=done.seconds)
        )
        self.stats.prefills += 1
        self.stats.prefilled += len(pages)

    def _prompt(self, page: Page) -> Tensor:
        """With what it has written already, for a page that was taken off."""
        prompt_LD = page.prompt_LD.to(device=self.device, dtype=self._shape.dtype)
        if not page.fed:
            return prompt_LD
        written = self._language.get_input_embeddings()(torch.tensor(page.fed, device=self.device))
        return torch.cat((prompt_LD, written))

    def _launch(self) -> None:
        """The next step for all pages."""
        self._seats.compact()
        if self._steps.graphs and self._steps.captured_for(self._seats.top) is None:
            self._look(keep_step=False)  # capturing spoils the last step's logits
            self._seats.compact()
        self._seats.grow()
        pages = self._seats.pages
        if not pages:
            return
        self._seats.plan_step()
        pending = self._steps.step(self._seats.top)
        self.stats.steps += 1
        self.stats.rows += len(pages)
        entries = []
        for page, row in zip(pages, _rows(pages), strict=True):
            page.length += 1
            entries.append(Entry(page=page, generation=page.generation, source=row, position=page.length))
        self._records.append(Record(entries=entries, pending=pending, step=self.stats.steps))

    def _look(self, *, keep_step: bool) -> None:
        """Looks at all records, or at those that are older than the last step."""
        steps = [place for place, record in enumerate(self._records) if record.step is not None]
        count = (steps[-1] if steps else len(self._records)) if keep_step else None
        while self._records and count != 0:
            self._look_at(self._records.popleft())
            count = None if count is None else count - 1

    def _look_at(self, record: Record) -> None:
        started = time.perf_counter()
        numbers = record.pending.rows()
        waited = time.perf_counter()
        if record.seconds is not None:
            self.stats.prefill_s += record.seconds()
        if refused := self._control.look(record, numbers):
            self._choose_again(refused, self._logits(record))
        self.stats.wait_s += waited - started
        self.stats.host_s += time.perf_counter() - waited

    def _logits(self, record: Record) -> Tensor:
        """What the record's tokens were chosen from."""
        if record.logits_NV is not None:
            return record.logits_NV
        assert record.step is not None
        age = self.stats.steps - record.step
        assert age <= 1, "only the last two steps' logits are kept"
        return self._steps.previous if age else self._steps.current

    def _choose_again(self, refused: list[Entry], logits_NV: Tensor) -> None:
        """Sends the pages back to where their tokens were chosen. What is under way for them counts no more."""
        pages = [entry.page for entry in refused]
        pending = self._steps.choose_again(
            logits_NV,
            [entry.source for entry in refused],
            [entry.banned for entry in refused],
            _rows(pages),
            self._loaded.eos_id,
        )
        self._records.append(
            Record(
                entries=[entry.rewound(place) for place, entry in enumerate(refused)],
                pending=pending,
                again=True,
            )
        )
        self.stats.rewinds += len(refused)

    def _end(self, page: Page) -> None:
        transcript = page.reading.transcript(self._loaded.tokenizer)
        self._seats.free(page)
        self._finished.append((page.index, transcript, time.perf_counter() - page.started))

    def _feed(self, page: Page, token: int) -> None:
        assert page.row is not None
        self._steps.set_token(page.row, token)

    def _taken_off(self, page: Page) -> None:
        """For want of blocks; the pages taken off first go on last."""
        self.stats.preemptions += 1
        self._waiting.appendleft(page)

    def _abandon(self) -> None:
        """Forgets the pages of a reading that was broken off."""
        self._records.clear()
        self._waiting.clear()
        self._finished.clear()
        if hasattr(self, "_seats"):  # not where there was no memory to build them again
            for page in self._seats.pages:
                self._seats.free(page)

    def _build(self) -> None:
        """Cache, state and seats; of half the size where they do not fit."""
        while True:
            try:
                pool = BlockPool(self._shape, self._kv_bytes, self.device)
                if pool.num_blocks <= self._shape.blocks(self._max_tokens):
                    raise ValueError(
                        f"a key-value cache of {self._kv_bytes:,} bytes does not hold one page of "
                        f"{self._max_tokens:,} tokens, which takes {self._least_bytes():,}; allow more, or "
                        "fewer tokens"
                    )
                self._steps = DeviceSteps(
                    self._loaded.model,
                    pool,
                    slots=self.slots,
                    max_tokens=self._max_tokens,
                    graphs=self.settings.graphs,
                    layers=self.settings.fused_layers,
                )
                self._seats = Seats(self._steps, self._taken_off)
                return
            except torch.OutOfMemoryError:
                if self.slots == 1:
                    raise
            pool = None  # type: ignore[assignment]
            self._halve()

    def _shrink(self) -> None:
        """After memory ran out: half of everything. Pages go on from the last token that the host has seen."""
        self.stats.shrinks += 1
        self._records.clear()
        for page in reversed(self._seats.pages):
            self._seats.free(page)
            self._waiting.appendleft(page)
        del self._steps, self._seats
        self._halve()
        self._build()

    def _halve(self) -> None:
        self.slots = max(1, self.slots // 2)
        self._kv_bytes = max(self._kv_bytes // 2, self._least_bytes())
        self._prefill_tokens //= 2
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _least_bytes(self) -> int:
        """One page and the scratch block."""
        return (1 + self._shape.blocks(self._max_tokens)) * self._shape.block_bytes

    def _default_bytes(self) -> int:
        most = (1 + self.slots * self._shape.blocks(self._max_tokens)) * self._shape.block_bytes
        if self.device.type != "cuda":
            return min(most, max(_KV_BYTES_CPU, self._least_bytes()))
        free, _ = torch.cuda.mem_get_info(self.device)
        return min(most, int(self.settings.kv_share * free))


def _rows(pages: Iterable[Page]) -> list[int]:
    return [page.row for page in pages if page.row is not None]
