"""The host's word on what the device chose: each page's own limits, through ocr.reading.PageReading."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ocr.paged.types import EngineStats, Entry, Page, Record


class Control:
    """finished: called with a page that ended. set_token: with a page and the token it is to be fed next instead."""

    def __init__(
        self,
        eos_id: int,
        stats: EngineStats,
        finished: Callable[[Page], None],
        set_token: Callable[[Page, int], None],
    ) -> None:
        self._eos_id = eos_id
        self._stats = stats
        self._finished = finished
        self._set_token = set_token

    def look(self, record: Record, numbers: Sequence[Sequence[float]]) -> list[Entry]:
        """Gives the pages their tokens; returns those whose token is forbidden, with what is banned there.

        numbers: rows of token and log probability; of tokens chosen again as choices.choose_allowed has them.
        """
        refused = []
        for entry in record.entries:
            if not entry.counts:
                continue
            if record.again:
                self._take_again(entry, numbers[entry.source])
            elif (banned := self._take(entry, *numbers[entry.source])) is not None:
                first = (int(numbers[entry.source][0]), numbers[entry.source][1])
                refused.append(replace(entry, banned=frozenset(banned), first=first))
        return refused

    def _take(self, entry: Entry, number: float, logprob: float) -> set[int] | None:
        """Gives a page its likeliest token, or returns what is banned if that is."""
        reading, token = entry.page.reading, int(number)
        banned = reading.ban.banned()
        if token in banned:
            return banned
        if self._refuses_end(entry.page, token):
            return {*banned, self._eos_id}
        self._give(entry.page, token, logprob)
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
        page.fed.append(token)
        if not page.reading.take(token, logprob, self._eos_id, written):
            self._finished(page)
