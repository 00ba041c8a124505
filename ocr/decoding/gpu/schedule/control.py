"""Checks the tokens that the device chose against each page's own limits, which PageReading holds."""

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ocr.decoding.gpu.schedule.drafting import Drafting
from ocr.decoding.gpu.schedule.entries import EngineStats, Entry, Page, Record

Numbers = npt.NDArray[np.float32]


class Control:
    """Gives pages their tokens and finds those that must be chosen again.

    finished: called with a page that ended. drafting: is told how many drafted tokens were accepted.

    A page is checked only where its text may end or a token may be banned: when it has as many tokens as
    Page.calm says, or where the device chose the end. Other tokens, by far the most, are only appended.
    """

    def __init__(
        self,
        eos_id: int,
        stats: EngineStats,
        drafting: Drafting,
        finished: Callable[[Page], None],
    ) -> None:
        self._eos_id = eos_id
        self._stats = stats
        self._drafting = drafting
        self._finished = finished

    def look(self, record: Record, numbers: Numbers) -> list[Entry]:
        """Gives the pages their tokens; returns the entries whose token is refused, with the tokens banned there.

        numbers: rows of token and log probability; for tokens chosen again, rows of choices.choose_allowed.
        """
        if record.rows is not None:
            return self._look_at_step(record, numbers)
        if record.again:
            rows = numbers.tolist()
            for entry in record.entries:
                if entry.counts:
                    token, logprob = rows[entry.source]
                    self._give(entry.page, int(token), logprob)
            return []
        tokens, logprobs = _columns(numbers)
        refused = []
        for entry in record.entries:
            if not entry.counts:
                continue
            entry.page.num_steps += 1
            look = self._verify if record.with_drafts else self._look_at_one
            if (found := look(entry, tokens, logprobs)) is not None:
                refused.append(found)
        return refused

    def _look_at_step(self, record: Record, numbers: Numbers) -> list[Entry]:
        """Does look() for a step with one token a page. With hundreds of pages this loop is most of the host's time."""
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
            entry = Entry(page, generation, source=place, position=page.num_tokens)
            if (found := self._look_at_one(entry, tokens, logprobs)) is not None:
                found.source = int(record.rows[place])
                refused.append(found)
        self._stats.tokens += calm
        return refused

    def _look_at_one(self, entry: Entry, tokens: Sequence[int], logprobs: Sequence[float]) -> Entry | None:
        page, token, logprob = entry.page, tokens[entry.source], logprobs[entry.source]
        if (banned := self._take(page, token, logprob)) is not None:
            return _refused(entry, 0, banned)
        if page.row is not None:
            self._foresee(page)
        return None

    def _foresee(self, page: Page) -> None:
        """Sets the number of tokens up to which the page need not be checked."""
        page.calm = page.reading.calm_until()
        if page.draft is not None:
            page.calm = min(page.calm, self._drafting.follow(page) - 1)

    def _verify(self, entry: Entry, tokens: Sequence[int], logprobs: Sequence[float]) -> Entry | None:
        """Verifies drafted tokens as ocr.decoding.cpu.verify does: accepts them while they equal the chosen ones.

        The chosen token after them is accepted too. Position 0 follows the page's last token, position i the i-th
        drafted one. Returns the entry of the position whose token is refused, or None.
        """
        page, drafted, source, banned = entry.page, entry.drafted, entry.source, None
        place = 0
        if drafted:
            place = self._take_calm(page, drafted, tokens[source : source + len(drafted)], logprobs, source)
        while True:
            page.length = entry.position + place
            banned = self._take(page, tokens[source + place], logprobs[source + place])
            if banned is not None or page.row is None or place == len(drafted):
                break
            if page.fed[-1] != drafted[place]:
                break
            place += 1
        if drafted:
            # A token chosen in place of a refused one may turn out to be the drafted one; that is not known yet.
            self._stats.accepted += place
            self._drafting.learn(page, len(drafted), place)
        if banned is None:
            if page.row is not None and len(page.fed) >= page.calm:
                page.calm = page.reading.calm_until()
            return None
        return _refused(entry, place, banned)

    def _take_calm(
        self,
        page: Page,
        drafted: Sequence[int],
        chosen: Sequence[int],
        logprobs: Sequence[float],
        source: int,
    ) -> int:
        """Gives the page the accepted drafted tokens up to the first that needs a check; returns how many."""
        most, count = min(len(drafted), page.calm - len(page.fed)), 0
        eos_id = self._eos_id
        while count < most and drafted[count] == chosen[count] != eos_id:
            count += 1
        found = logprobs[source : source + count]
        if count <= 0 or _has_nan(found):
            return 0
        page.fed.extend(chosen[:count])
        page.reading.tokens.extend(chosen[:count])
        page.reading.logprobs.extend(found)
        self._stats.tokens += count
        return count

    def _take(self, page: Page, token: int, logprob: float) -> Set[int] | None:
        """Gives a page its likeliest token.

        Returns the banned ones instead if it is among them or one is to be sampled.
        """
        reading = page.reading
        banned = reading.ban.banned()
        if token in banned or reading.sampler is not None:
            return banned
        self._give(page, token, logprob)
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


def _refused(entry: Entry, place: int, banned: Set[int]) -> Entry:
    return replace(
        entry,
        source=entry.source + place,
        position=entry.position + place,
        drafted=(),
        banned=frozenset(banned),
    )
