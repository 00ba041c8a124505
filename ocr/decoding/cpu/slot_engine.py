"""Reads pages continuously: a fixed number of slots, each taken by the next page as soon as one is finished."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, groupby

import torch

from ocr.decoding.cpu.draft_length import Pace
from ocr.decoding.cpu.row import Row, verify_rows
from ocr.decoding.cpu.slots import Slots
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import Loaded, start_reading
from ocr.model.prompt import encode_prompt, splice

# A drafted token's share of what a row's step costs without drafts (ocr.decoding.cpu.draft_length). Milliseconds of
# one CPU core for a step of the small model, fp32, one thread, by the number of tokens fed to each row:
#   rows  context     1     2     4     8    16    32     a further token, in shares of the step of one
#      1      900    11    12    16    18    21    27     0.05 to 0.13
#      1     1900    16    17    20    25    28    39     0.05 to 0.09
#      8      900    33    38    49    59    83   130     0.10 to 0.17
#      8     1900    50    54    74    83   117   178     0.08 to 0.16
# Two threads take less wall time (8 rows at 900: 32 to 94 ms, at 1900: 43 to 129) in the same proportion. The GPU's
# share is an assumption.
_TOKEN_COST = {"cpu": 0.1, "cuda": 0.02}


class Engine:
    """Decodes pages in the slots of one model.

    kv_bytes: the most that keys and values may take. A page is admitted only if all rows together fit when each is as
    long as the longest may become (its max_tokens); a single page is always admitted.
    """

    def __init__(self, loaded: Loaded, *, prompt: str, num_slots: int, kv_bytes: int | None = None) -> None:
        """Encodes the prompt and starts with empty slots. Raises: ocr.model.prompt.PromptError."""
        assert num_slots >= 1
        self._loaded = loaded
        self._ids = encode_prompt(loaded.tokenizer, prompt, bos_id=loaded.bos_id)
        self._embed_tokens = loaded.model.language_model.get_input_embeddings()
        self._token_cost = _TOKEN_COST.get(self._embed_tokens.weight.device.type, 0.1)
        self._num_slots = num_slots
        self._kv_bytes = kv_bytes
        self._slots = Slots(loaded.model)
        self._rows: list[Row] = []
        self._new: list[Row] = []

    @property
    def num_reading(self) -> int:
        """The number of pages being read, including those that have just been given a slot."""
        return len(self._rows) + len(self._new)

    @torch.inference_mode()
    def read(
        self, requests: Iterable[PageRequest | None], check: Callable[[], None] | None = None
    ) -> Iterator[PageRead]:
        """Yields each page as it is finished; pages are pulled from requests when slots are free.

        A None among the requests says that no further page is ready yet: the engine goes on and asks again after its
        next
        step. When it is reading no page (num_reading) it asks again at once, so a source should block before it says
        None.
        A page without room for any output ends as "length" with an empty transcript. check: called before each step;
        it may raise to break off.

        Raises: ocr.decoding.sequence.page_reading.DecodeError when logits are not numbers.
        """
        self._slots, self._rows, self._new = Slots(self._loaded.model), [], []
        waiting = _Waiting(self._start_all(requests))
        while not waiting.is_over or self._rows:
            self._take(waiting)
            yield from self._let_in()
            if check is not None:
                check()
            if self._rows:
                yield from self._step()

    def _take(self, waiting: "_Waiting") -> None:
        """Moves waiting pages into free slots."""
        while self.num_reading < self._num_slots and (row := waiting.look()):
            if not self._fits([*self._rows, *self._new, row]):
                break
            waiting.take()
            self._new.append(row)

    def _start_all(self, requests: Iterable[PageRequest | None]) -> Iterator[Row | None]:
        indices = count()
        for request in requests:
            yield None if request is None else self._start(next(indices), request)

    def _start(self, index: int, request: PageRequest) -> Row:
        tokens_TD = request.vision.tokens_TD
        if tokens_TD.is_cuda:  # another stream's memory, which that may use again once nothing holds it
            tokens_TD.record_stream(torch.cuda.current_stream(tokens_TD.device))
        (prompt_LD,) = splice(self._embed_tokens, self._ids, [tokens_TD])
        page = start_reading(self._loaded, len(prompt_LD), request.settings)
        return Row(
            index=index,
            page=page,
            prompt_LD=prompt_LD,
            draft=request.draft,
            pace=Pace(self._token_cost),
            most_tokens=len(prompt_LD) + max(page.budget, 0),
        )

    def _fits(self, rows: Sequence[Row]) -> bool:
        if self._kv_bytes is None or len(rows) == 1:
            return True
        return self._slots.num_bytes(len(rows), max(row.most_tokens for row in rows)) <= self._kv_bytes

    def _let_in(self) -> Iterator[PageRead]:
        """Prefills new pages, those with prompts of one length together; yields those that are finished by it."""
        new, self._new = self._new, []
        for row in (row for row in new if row.page.budget <= 0):
            yield row.read(self._loaded.tokenizer)
        readable = sorted((row for row in new if row.page.budget > 0), key=lambda row: len(row.prompt_LD))
        for _, group in groupby(readable, key=lambda row: len(row.prompt_LD)):
            rows = list(group)
            started = time.perf_counter()
            logits_BV = self._slots.prefill(torch.stack([row.prompt_LD for row in rows]))
            verify_rows(rows, logits_BV, self._loaded.eos_id)
            seconds = (time.perf_counter() - started) / len(rows)
            for row in rows:
                row.prefill_s, row.prompt_LD = seconds, torch.empty(0)
            self._rows += rows
        yield from self._finished()

    def _step(self) -> Iterator[PageRead]:
        started = time.perf_counter()
        fed = [row.feed(self._embed_tokens.num_embeddings) for row in self._rows]
        used = verify_rows(self._rows, self._slots.step(fed), self._loaded.eos_id)
        self._slots.accept(used)
        seconds = (time.perf_counter() - started) / sum(map(len, fed))
        for row, tokens in zip(self._rows, fed, strict=True):
            row.num_steps += 1
            row.generate_s += seconds * len(tokens)
        yield from self._finished()

    def _finished(self) -> Iterator[PageRead]:
        """Yields finished rows and frees their slots.

        As in Slots, the last row moves into the slot that became free.
        """
        for slot in reversed(range(len(self._rows))):
            if (row := self._rows[slot]).next_token is None:
                self._slots.release(slot)
                self._rows[slot] = self._rows[-1]
                self._rows.pop()
                yield row.read(self._loaded.tokenizer)


class _Waiting:
    """The pages that have no slot yet; at most one is pulled before it can be taken."""

    def __init__(self, rows: Iterator[Row | None]) -> None:
        self._rows = rows
        self._next: Row | None = None
        self.is_over = False

    def look(self) -> Row | None:
        """Returns the next page without taking it; None where none is ready."""
        if self._next is None and not self.is_over:
            try:
                self._next = next(self._rows)
            except StopIteration:
                self.is_over = True
        return self._next

    def take(self) -> None:
        """Drops the page that look() returned."""
        self._next = None
