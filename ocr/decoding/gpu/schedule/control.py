"""The host's word on what the device chose: each page's own limits, through PageReading."""

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ocr.decoding.gpu.schedule.drafting import Drafting
from ocr.decoding.gpu.schedule.entries import EngineStats, Entry, Page, Record

Numbers = npt.NDArray[np.float32]


class Control:
    """finished: called with a page that ended. set_token: with a page and the token it is to be fed next instead.

    drafting: is told what became of drafts.

    A page is looked at only where its text may end or something may be banned: when it has as many tokens as
    Page.calm says, or where the device chose the end. Other tokens, most by far, are only noted.
    """

    def __init__(
        self,
        eos_id: int,
        stats: EngineStats,
        drafting: Drafting,
        finished: Callable[[Page], None],
        set_token: Callable[[Page, int], None],
    ) -> None:
        self._eos_id = eos_id
        self._stats = stats
        self._drafting = drafting
        self._finished = finished
        self._set_token = set_token

    def look(self, record: Record, numbers: Numbers) -> list[Entry]:
        """Gives the pages their tokens; returns those whose token is forbidden, with what is banned there.

        numbers: rows of token and log probability; of tokens chosen again as choices.choose_allowed has them.
        """
        if record.rows is not None:
            return self._look_at_step(record, numbers)
        if record.again:
            rows = numbers.tolist()
            for entry in record.entries:
                if entry.counts:
                    self._take_again(entry, rows[entry.source])
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
        """look() for a token each. Hundreds of them a step: what passes through here is the interpreter's time."""
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
            # Where its token will be fed is where its text ends.
            entry = Entry(page, generation, source=place, position=page.num_tokens)
            if (found := self._look_at_one(entry, tokens, logprobs)) is not None:
                found.source = int(record.rows[place])
                refused.append(found)
        self._stats.tokens += calm
        return refused

    def _look_at_one(self, entry: Entry, tokens: Sequence[int], logprobs: Sequence[float]) -> Entry | None:
        page, token, logprob = entry.page, tokens[entry.source], logprobs[entry.source]
        if (banned := self._take(page, token, logprob)) is not None:
            return _refused(entry, 0, banned, token, logprob)
        if page.row is not None:
            self._foresee(page)
        return None

    def _foresee(self, page: Page) -> None:
        """Up to where the page need not be looked at."""
        page.calm = page.reading.calm_until()
        if page.draft is not None:
            page.calm = min(page.calm, self._drafting.follow(page) - 1)

    def _verify(self, entry: Entry, tokens: Sequence[int], logprobs: Sequence[float]) -> Entry | None:
        """Tokens as far as the drafted ones are what is chosen, and the one after them, as ocr.decoding.cpu.verify.

        Position 0 follows the page's last token, position i the i-th drafted one. Returns the entry of the position
        whose token is forbidden.
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
            # A token chosen in place of a forbidden one may be the drafted one; it is not known yet.
            self._stats.accepted += place
            self._drafting.learn(page, len(drafted), place)
        if banned is None:
            if page.row is not None and len(page.fed) >= page.calm:
                page.calm = page.reading.calm_until()
            return None
        return _refused(entry, place, banned, tokens[source + place], logprobs[source + place])

    def _take_calm(
        self,
        page: Page,
        drafted: Sequence[int],
        chosen: Sequence[int],
        logprobs: Sequence[float],
        source: int,
    ) -> int:
        """Gives the page the drafted tokens that were chosen, as far as none needs a look; how many."""
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
        """Gives a page its likeliest token, or returns what is banned if that is, or if another is to be drawn."""
        reading = page.reading
        banned = reading.ban.banned()
        if token in banned or reading.sampler is not None:
            return banned
        if self._refuses_end(page, token):
            return {*banned, self._eos_id}
        self._give(page, token, logprob)
        return None

    def _take_again(self, entry: Entry, numbers: Sequence[float]) -> None:
        """Gives a page the likeliest token that is allowed; another if that is the end, too early."""
        page, banned = entry.page, set(entry.banned)
        number, logprob, other, other_logprob = numbers
        token = int(number)
        if self._eos_id not in banned and self._refuses_end(page, token):
            banned.add(self._eos_id)
            token, logprob = int(other), other_logprob
            page.generation += 1
            page.length = entry.position
            self._set_token(page, token)
        leader = entry.first[0] in page.reading.leaders & banned
        self._give(page, token, logprob, entry.first if leader else None)

    def _refuses_end(self, page: Page, token: int) -> bool:
        return token == self._eos_id and page.reading.length.refuses_end(page.reading.tokens)

    def _give(self, page: Page, token: int, logprob: float, written: tuple[int, float] | None = None) -> None:
        self._stats.tokens += 1
        if not page.reading.take(token, logprob, self._eos_id, written):
            self._finished(page)


def _columns(numbers: Numbers) -> tuple[list[int], list[float]]:
    tokens: list[int] = numbers[:, 0].astype(np.int64).tolist()
    logprobs: list[float] = numbers[:, 1].tolist()
    return tokens, logprobs


def _has_nan(logprobs: Sequence[float]) -> bool:
    total = sum(logprobs)  # never of opposite infinities: a log probability is not above 0
    return total != total


def _refused(entry: Entry, place: int, banned: Set[int], token: int, logprob: float) -> Entry:
    return replace(
        entry,
        source=entry.source + place,
        position=entry.position + place,
        drafted=(),
        banned=frozenset(banned),
        first=(token, logprob),
    )
