"""Checks the tokens that the device chose against each page's own limits, which PageReading holds."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ocr.decoding.gpu.schedule.entries import EngineStats, Entry, Page, Record

Numbers = npt.NDArray[np.float32]


class Control:
    """Gives pages their tokens and finds those that must be chosen again.

    finished: called with a page that ended.

    A page is checked only where its text may end or a token may be banned: when it has as many tokens as
    Page.calm says, or where the device chose the end. Other tokens, by far the most, are only appended.
    """

    def __init__(self, eos_id: int, stats: EngineStats, finished: Callable[[Page], None]) -> None:
        self._eos_id = eos_id
        self._stats = stats
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
            entry.page.num_steps += 1
            if (found := self._look_at_one(entry, token, logprob)) is not None:
                refused.append(found)
        return refused

    def _look_at_step(self, record: Record, numbers: Numbers) -> list[Entry]:
        """Does look() for a step. With hundreds of pages this loop is most of the host's time."""
        eos_id, refused, calm = self._eos_id, [], 0
        assert record.rows is not None
        tokens, logprobs = _columns(numbers[record.rows])
        damaged = _has_nan(logprobs)
        for place, (page, generation, token, logprob) in enumerate(
            zip(record.pages, record.generations, tokens, logprobs, strict=True)
        ):
            if page.generation != generation:
                continue
            page.num_steps += 1
            fed = page.fed
            if len(fed) < page.calm and token != eos_id and not damaged:
                fed.append(token)
                reading = page.reading
                reading.tokens.append(token)
                reading.logprobs.append(logprob)
                calm += 1
                continue
            # Its token will be fed at the end of its text.
            entry = Entry(page, generation, source=int(record.rows[place]), position=page.num_tokens)
            if (found := self._look_at_one(entry, token, logprob)) is not None:
                refused.append(found)
        self._stats.tokens += calm
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
        self._stats.tokens += 1
        if not page.reading.take(token, logprob, self._eos_id):
            self._finished(page)


def _columns(numbers: Numbers) -> tuple[list[int], list[float]]:
    tokens: list[int] = numbers[:, 0].astype(np.int64).tolist()
    logprobs: list[float] = numbers[:, 1].tolist()
    return tokens, logprobs


def _has_nan(logprobs: Sequence[float]) -> bool:
    total = sum(logprobs)  # never of opposite infinities: a log probability is not above 0
    return total != total
