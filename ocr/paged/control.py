"""The host's word on what the device chose: each page's own limits, through ocr.reading.PageReading."""

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from ocr.paged.drafting import Drafting
from ocr.paged.types import EngineStats, Entry, Page, Record


class Control:
    """finished: called with a page that ended. set_token: with a page and the token it is to be fed next instead.

    drafting: is told what became of drafts.
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

    def look(self, record: Record, numbers: Sequence[Sequence[float]]) -> list[Entry]:
        """Gives the pages their tokens; returns those whose token is forbidden, with what is banned there.

        numbers: rows of token and log probability; of tokens chosen again as choices.choose_allowed has them.
        """
        if not (record.again or record.with_drafts):
            return self._look_at_one_each(record.entries, numbers)
        refused = []
        for entry in record.entries:
            if not entry.counts:
                continue
            if record.again:
                self._take_again(entry, numbers[entry.source])
                continue
            entry.page.num_steps += 1
            if (found := self._verify(entry, numbers)) is not None:
                refused.append(found)
        return refused

    def _look_at_one_each(self, entries: Sequence[Entry], numbers: Sequence[Sequence[float]]) -> list[Entry]:
        """look() for a token each. Hundreds of them a step: what passes through here is the interpreter's time."""
        refused = []
        for entry in entries:
            page = entry.page
            if page.row is None or page.generation != entry.generation:
                continue
            page.num_steps += 1
            number, logprob = numbers[entry.source]
            banned = self._take(page, number, logprob)
            if banned is not None:
                refused.append(_refused(entry, 0, banned, numbers))
            elif page.draft is not None and page.row is not None:
                self._drafting.follow(page)
        return refused

    def _verify(self, entry: Entry, numbers: Sequence[Sequence[float]]) -> Entry | None:
        """Tokens as far as the drafted ones are what is chosen, and the one after them, as ocr.engine.verify.

        Position 0 follows the page's last token, position i the i-th drafted one. Returns the entry of the position
        whose token is forbidden.
        """
        page, drafted, banned = entry.page, entry.drafted, None
        for place in range(len(drafted) + 1):
            page.length = entry.position + place
            banned = self._take(page, *numbers[entry.source + place])
            if banned is not None or page.row is None or place == len(drafted):
                break
            if page.fed[-1] != drafted[place]:
                break
        if drafted:
            # A token chosen in place of a forbidden one may be the drafted one; it is not known yet.
            self._stats.accepted += place
            self._drafting.learn(page, len(drafted), place)
        return None if banned is None else _refused(entry, place, banned, numbers)

    def _take(self, page: Page, number: float, logprob: float) -> Set[int] | None:
        """Gives a page its likeliest token, or returns what is banned if that is, or if another is to be drawn."""
        reading, token = page.reading, int(number)
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
        page.fed.append(token)
        if not page.reading.take(token, logprob, self._eos_id, written):
            self._finished(page)


def _refused(entry: Entry, place: int, banned: Set[int], numbers: Sequence[Sequence[float]]) -> Entry:
    number, logprob = numbers[entry.source + place]
    return replace(
        entry,
        source=entry.source + place,
        position=entry.position + place,
        drafted=(),
        banned=frozenset(banned),
        first=(int(number), logprob),
    )
