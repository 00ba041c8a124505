"""Decodes pages continuously in a fixed number of slots: a finished page's slot is refilled, and the device never
idles.

Step t + 1 is launched before the host has checked step t. A token that the host then refuses (a repeated n-gram, an
end that comes too early) is chosen again from step t's logits, which are kept, and the sequence is rewound to it.
Results still in flight for a page that ended or was rewound are thrown away.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor

from encoders.graphs.capturing.gate import working
from ocr.decoding.gpu.forward.block_pool import BlockPool, PoolShape
from ocr.decoding.gpu.forward.choices import upload
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.schedule.clock import ShareClock
from ocr.decoding.gpu.schedule.entries import EngineSettings, Entry, Page, Record
from ocr.decoding.gpu.schedule.in_flight import Control, InFlight
from ocr.decoding.gpu.schedule.scheduler import Arrivals, Scheduler, rows_of
from ocr.decoding.requests import PageRead
from ocr.decoding.sequence.page_reading import Loaded

_KV_BYTES_CPU = 1 << 31
# Tokens of a page: one of 900 tokens of prompt and 1,000 of output ends with 1,900. Where more is allowed, a quarter of
# the most. Where pages are longer and blocks run out, some are read later.
_USUAL, _SHARE = 2048, 0.25


class PagedEngine:
    """Decodes over a paged key-value cache, on any device.

    One thread at a time. When memory runs out, slots and cache are halved and the pages go on from where they were.

    Raises: ValueError when a cache for kernels does not hold one page of max_tokens; without them it always does.
    """

    def __init__(self, loaded: Loaded, settings: EngineSettings | None = None) -> None:
        self.settings = settings or EngineSettings()
        self.slots = self.settings.slots
        self._loaded = loaded
        self._language = loaded.model.language_model
        weight: Tensor = loaded.model.lm_head.weight
        self.device = weight.device
        self._dtype = weight.dtype
        positions = int(self._language.config.max_position_embeddings)
        self._max_tokens = min(self.settings.max_tokens, positions)
        self._shape = PoolShape.of(
            self._language, weight.dtype, self.settings.block_tokens or self._max_tokens
        )
        self._kv_bytes = self.settings.kv_bytes or self._default_bytes()
        if not self.settings.kernels:
            # Of a scratch block as long as a page hardly anything is written to.
            scratch = self._shape.block_bytes if self.settings.block_tokens is None else 0
            most = min(self._kv_bytes + scratch, self._bytes(self._max_tokens))
            self._kv_bytes = max(self._least_bytes(), most)
        self._prefill_tokens = self.settings.prefill_tokens
        lag = self.settings.lag
        self._lag = int(self.device.type == "cuda") if lag is None else lag
        self._arrivals = Arrivals(iter(()))
        self._finished: deque[PageRead] = deque()
        self._clock = ShareClock()
        self._control = Control(loaded.eos_id, self._end)
        with self._on_device():
            self._build()

    def read(
        self, pages: Iterable[Page | None], check: Callable[[], None] | None = None
    ) -> Generator[PageRead]:
        """Yields the pages as they end. check: called before each step; it may raise to break off.

        More of them are asked for when slots are free. A None says that there is nothing yet: decoding goes on and
        asks again later, so an idle source should block briefly before it says None; a None gets no index. On
        CUDA it must not wait long for a thread that may capture graphs, as that one waits for the end of the turn.

        Raises: ocr.decoding.sequence.page_reading.DecodeError when logits are not numbers; torch.OutOfMemoryError with
        one slot; and whatever the source raises. The engine can read again after any of them but the second.
        RuntimeError where another reading has begun meanwhile, which ends this one.
        """
        self._abandon()
        self._arrivals = arrivals = Arrivals(iter(pages))
        try:
            while True:
                if check is not None:
                    check()
                with self._on_device():
                    self._clock.resume()
                    self._advance(arrivals)
                    self._clock.pause()
                while self._finished:
                    yield self._finished.popleft()
                    if self._arrivals is not arrivals:
                        raise RuntimeError("another reading has begun")
                if arrivals.exhausted and not arrivals.waiting and not self._scheduler.pages:
                    return
        finally:
            if self._arrivals is arrivals:
                self._abandon()

    def warm_up(self, rows: Iterable[int] = ()) -> None:
        """Captures the steps for these numbers of rows and for all slots, if steps are captured.

        Only between readings.
        """
        if not self._steps.graphs:
            return
        with self._on_device():
            for size in sorted({self._steps.bucket(count) for count in (*rows, self.slots)}, reverse=True):
                if self._steps.captured_for(size) != size:
                    self._steps.capture(size)

    def try_prompts(self) -> None:
        """Compiles the kernels of a prefill, so that no page waits for them. Only between readings."""
        with self._on_device():
            self._steps.try_prompts()

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        """Makes this device the current one for Triton's launches and for events.

        Waits while another thread captures.
        """
        on_cuda = self.device.type == "cuda"
        with (
            torch.inference_mode(),
            torch.cuda.device(self.device) if on_cuda else nullcontext(),
            working() if on_cuda else nullcontext(),
        ):
            yield

    def _advance(self, arrivals: Arrivals) -> None:
        """Runs one turn: fills slots, launches a step, checks the one before."""
        try:
            self._admit(arrivals)
            launched = bool(self._scheduler.pages) and self._launch()
            self._in_flight.look(keep_step=launched and self._lag > 0)
            return
        except torch.OutOfMemoryError:
            if self.slots == 1:
                raise
        self._shrink()  # here, where the exception no longer keeps the step's tensors alive

    def _launch(self) -> bool:
        """Launches the next step for all pages; returns whether there was any left to launch it for."""
        steps, scheduler = self._steps, self._scheduler
        scheduler.compact()
        if (size := steps.to_capture(scheduler.top)) is not None:
            self._in_flight.look(keep_step=False)  # capturing spoils the last step's logits
            steps.capture(size)
            scheduler.compact()
        scheduler.grow()
        if not (pages := scheduler.pages):
            return False
        pending = steps.step(scheduler.top)
        scheduler.stepped()
        self._in_flight.launched += 1
        self._in_flight.add(
            Record(
                pending=pending,
                rows=scheduler.rows,
                pages=pages,
                generations=[page.generation for page in pages],
                step=self._in_flight.launched,
            )
        )
        return True

    def _admit(self, arrivals: Arrivals) -> None:
        """Fills the free slots once enough of them are free to make a prefill worth it."""
        idle, scheduler = not self._scheduler.pages, self._scheduler
        enough = min(self.settings.refill or -(-self.slots // 16), self.slots)
        if not idle and scheduler.num_free < enough:
            return
        for page in arrivals.pull(scheduler.num_free):
            self._finished.append(self._read(page))
        if idle:
            self._clock.resume()  # the time that the source took counts for no page
        elif not arrivals.are_enough(enough):
            return
        chosen: dict[int, list[Page]] = {}
        while arrivals.waiting and scheduler.num_free and scheduler.take(arrivals.waiting[0]):
            page = arrivals.waiting.popleft()
            assert page.num_prompt + page.reading.budget <= self._max_tokens, "beyond the engine's max_tokens"
            chosen.setdefault(page.num_tokens, []).append(page)
        for length, pages in chosen.items():
            most = max(1, self._prefill_tokens // length)
            for start in range(0, len(pages), most):
                self._prefill(pages[start : start + most], length)

    def _prefill(self, pages: list[Page], length: int) -> None:
        """Prefills pages of equal length in one forward pass."""
        num_blocks = self._shape.blocks(length)
        done = self._steps.prefill(
            torch.stack([self._prompt(page) for page in pages]),
            [page.blocks[:num_blocks] for page in pages],
            rows_of(pages),
        )
        entries = [
            Entry(page=page, generation=page.generation, source=place, position=length)
            for place, page in enumerate(pages)
        ]
        self._in_flight.add(
            Record(pending=done.pending, entries=entries, logits_NV=done.logits_NV, seconds=done.seconds)
        )

    def _prompt(self, page: Page) -> Tensor:
        """Returns the page's prompt, [L, D], followed by the tokens already written if the page was preempted."""
        prompt_LD = page.prompt().to(device=self.device, dtype=self._dtype)
        if not page.fed:
            return prompt_LD
        written = self._language.get_input_embeddings()(upload(page.fed, self.device))
        return torch.cat((prompt_LD, written))

    def _end(self, page: Page) -> None:
        self._scheduler.free(page)
        self._left(page)
        self._finished.append(self._read(page))

    def _read(self, page: Page) -> PageRead:
        return PageRead(
            index=page.index,
            transcript=page.reading.transcript(self._loaded.tokenizer),
            prefill_s=page.prefill_s,
            generate_s=page.generate_s,
        )

    def _prefilled(self, entries: Sequence[Entry], seconds: float) -> None:
        """Counts a prefill, all of it before its pages enter: the first one would pay for the others' share."""
        self._clock.take_prefill(seconds)
        shares = not self._in_flight.has_prefills
        for entry in entries:
            entry.page.prefill_s += seconds / len(entries)
            if entry.counts:
                entry.page.entered = self._clock.enter(shares=shares)

    def _left(self, page: Page) -> None:
        """Stops the page's share of the clock: it has ended, or waits for a slot again."""
        if page.entered is not None:
            page.generate_s += self._clock.leave(page.entered)
            page.entered = None

    def _preempted(self, page: Page) -> None:
        """Queues a page that was preempted for want of blocks; pages preempted first go on last."""
        self._left(page)
        self._arrivals.waiting.appendleft(page)

    def _abandon(self) -> None:
        """Drops the pages of a reading that was broken off."""
        self._arrivals = Arrivals(iter(()))
        self._finished.clear()
        self._clock = ShareClock()
        if hasattr(self, "_scheduler"):  # not where there was no memory to build them again
            self._in_flight.clear()
            for page in self._scheduler.pages:
                self._scheduler.free(page)

    def _build(self) -> None:
        """Builds block pool, device state and scheduler; halves their size until they fit."""
        while True:
            try:
                in_place = self.device.type == "cpu" and self._shape.blocks(self._max_tokens) == 1
                pool = BlockPool(self._shape, self._kv_bytes, self.device, zeroed=not in_place)
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
                    kernels=self.settings.kernels,
                    graphs=self.settings.graphs,
                )
                break
            except torch.OutOfMemoryError:
                if self.slots == 1:
                    raise
            pool = None  # type: ignore[assignment]
            self._halve()
        self._scheduler = Scheduler(self._steps, self._preempted)
        self._in_flight = InFlight(self._steps, self._control, self._prefilled)

    def _shrink(self) -> None:
        """Rebuilds everything at half the size after memory ran out.

        Pages go on from the last token the host has seen.
        """
        for page in reversed(self._scheduler.pages):
            self._scheduler.free(page)
            self._left(page)
            self._arrivals.waiting.appendleft(page)
        del self._steps, self._scheduler, self._in_flight
        self._halve()
        self._build()

    def _halve(self) -> None:
        self.slots = max(1, self.slots // 2)
        self._kv_bytes = max(self._kv_bytes // 2, self._least_bytes())
        self._prefill_tokens //= 2
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _least_bytes(self) -> int:
        """Returns the bytes of a cache for one page and the scratch block."""
        return (1 + self._shape.blocks(self._max_tokens)) * self._shape.block_bytes

    def _bytes(self, tokens: int) -> int:
        """Returns the bytes of a cache for pages of so many tokens in all slots, and the scratch block."""
        return (1 + self.slots * self._shape.blocks(tokens)) * self._shape.block_bytes

    def _default_bytes(self) -> int:
        usual = min(self._max_tokens, max(_USUAL, int(_SHARE * self._max_tokens)))
        enough = max(self._least_bytes(), self._bytes(usual))
        if self.device.type != "cuda":
            return min(enough, max(_KV_BYTES_CPU, self._least_bytes()))
        free, _ = torch.cuda.mem_get_info(self.device)
        return min(enough, int(self.settings.kv_share * free))
