"""Holds the launches in flight on the device, and checks the tokens that they chose against each page's own limits."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from torch import Tensor

from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.schedule.entries import Entry, Page, Record
from ocr.decoding.gpu.schedule.scheduler import rows_of

Numbers = npt.NDArray[np.float32]


class Control:
    """Gives pages their tokens and finds those that must be chosen again.

    finished: called with a page that ended.

    A page is checked only where its text may end or a token may be banned: when it has as many tokens as
    Page.calm says, or where the device chose the end. Other tokens, by far the most, are only appended.
    """

    def __init__(self, eos_id: int, finished: Callable[[Page], None]) -> None:
        self._eos_id = eos_id
        self._finished = finished

    def look(self, record: Record, numbers: Numbers) -> list[Entry]:
        """Gives the pages their tokens; returns the entries whose token is refused, with the tokens banned there.

        numbers: rows of token and log probability; for tokens chosen again, rows of choices.choose_allowed.
        """
        if record.rows is not None:
            return self._look_at_step(record, numbers)
        tokens, logprobs = _columns(numbers)
        refused = []
        for entry in record.entries:
            if not entry.counts:
                continue
            token, logprob = tokens[entry.source], logprobs[entry.source]
            if record.again:
                self._give(entry.page, token, logprob)
                continue
            if (found := self._look_at_one(entry, token, logprob)) is not None:
                refused.append(found)
        return refused

    def _look_at_step(self, record: Record, numbers: Numbers) -> list[Entry]:
        """Does look() for a step. With hundreds of pages this loop is most of the host's time."""
        eos_id, refused = self._eos_id, list[Entry]()
        assert record.rows is not None
        tokens, logprobs = _columns(numbers[record.rows])
        total = sum(logprobs)  # never of opposite infinities: a log probability is not above 0
        damaged = total != total
        for place, (page, generation, token, logprob) in enumerate(
            zip(record.pages, record.generations, tokens, logprobs, strict=True)
        ):
            if page.generation != generation:
                continue
            fed = page.fed
            if len(fed) < page.calm and token != eos_id and not damaged:
                fed.append(token)
                page.reading.logprobs.append(logprob)
                continue
            # Its token will be fed at the end of its text.
            entry = Entry(page, generation, source=int(record.rows[place]), position=page.num_tokens)
            if (found := self._look_at_one(entry, token, logprob)) is not None:
                refused.append(found)
        return refused

    def _look_at_one(self, entry: Entry, token: int, logprob: float) -> Entry | None:
        """Gives a page its likeliest token; returns the entry instead if it is banned or one is to be sampled."""
        page, reading = entry.page, entry.page.reading
        banned = reading.ban.banned()
        if token in banned or reading.sampler is not None:
            return replace(entry, banned=frozenset(banned))
        self._give(page, token, logprob)
        if page.row is not None:
            page.calm = reading.calm_until()
        return None

    def _give(self, page: Page, token: int, logprob: float) -> None:
        if not page.reading.take(token, logprob, self._eos_id):
            self._finished(page)


class InFlight:
    """The launches whose results the host has not checked, oldest first.

    prefilled: called with the pages of a prefill, before their first tokens are checked, and its seconds. launched:
    the steps so far.
    """

    def __init__(
        self,
        steps: DeviceSteps,
        control: Control,
        prefilled: Callable[[Sequence[Entry], float], None],
    ) -> None:
        self._steps = steps
        self._control = control
        self._prefilled = prefilled
        self._records: deque[Record] = deque()
        self.launched = 0

    def add(self, record: Record) -> None:
        """Adds the newest launch."""
        self._records.append(record)

    @property
    def has_prefills(self) -> bool:
        """Tells whether a prefill's launch has not been checked yet."""
        return any(record.seconds is not None for record in self._records)

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
        numbers = record.pending.numbers()
        if record.seconds is not None:
            self._prefilled(record.entries, record.seconds())
        if refused := self._control.look(record, numbers):
            self._choose_again(refused, *self._logits(record, refused))

    def _logits(self, record: Record, refused: list[Entry]) -> tuple[Tensor, list[int]]:
        """Returns the logits that the record's tokens were chosen from, and the rows of the refused ones."""
        sources = [entry.source for entry in refused]
        if record.logits_NV is not None:
            return record.logits_NV, sources
        assert record.step is not None
        age = self.launched - record.step
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


def _columns(numbers: Numbers) -> tuple[list[int], list[float]]:
    tokens: list[int] = numbers[:, 0].astype(np.int64).tolist()
    logprobs: list[float] = numbers[:, 1].tolist()
    return tokens, logprobs
