"""Defines a run's plan and prints it, for people and for programs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipeline.ingest.selection import InputCounts
from pipeline.reports.listing import counted, cut, in_words, passed_over, refusal
from pipeline.types import PageKind
from storage.queries.statistics import Pace

_WORDS: Mapping[PageKind, str] = {
    "embedded": "with a text layer, pictures apart",
    "digital": "digital (with a text layer)",
    "scanned": "scanned",
    "empty": "empty",
    "unknown": "of an unknown kind",
}
# Of these the run makes rows all the same: text layers, and blank pages.
_UNREAD: tuple[PageKind, ...] = ("embedded", "empty")


@dataclass(slots=True, kw_only=True)
class Plan(InputCounts):
    """The counts of what a run would do. Mutable: the planner adds to it. num_to_read includes num_unread.

    skipped_types: suffixes of the files that are not PDFs or images. refused: path, status and reason of each file that
    a run could not read, in the order of the files. kinds: of the pages to read. pace: of earlier runs; None without
    any. model_to_fetch: the model if it is not on this machine, so that no page counts as read before.
    """

    database: str
    is_new: bool
    skipped_types: Counter[str] = field(default_factory=Counter)
    refused: list[dict[str, str]] = field(default_factory=list)
    kinds: Counter[PageKind] = field(default_factory=Counter)
    pace: Pace | None = None
    model_to_fetch: str | None = None

    @property
    def num_unread(self) -> int:
        """The number of pages that need no reading: their layers are taken, pictures apart, or they are empty."""
        return sum(self.kinds[kind] for kind in _UNREAD)

    @property
    def estimated_s(self) -> float | None:
        """The estimated seconds of reading, None without an earlier run. Taking a text layer costs next to nothing."""
        return (
            None if self.pace is None else (self.num_to_read - self.num_unread) * self.pace.seconds_per_page
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the plan as values that json.dumps accepts."""
        return {
            "database": self.database,
            "is_new": self.is_new,
            "documents": dict(self.documents),
            "skipped_types": dict(self.skipped_types),
            "refused": self.refused,
            "num_copies": self.num_copies,
            "num_pages": self.num_found,
            "num_done": self.num_done_before,
            "num_given_up": self.num_given_up,
            "num_kept": self.num_kept,
            "num_left_out": self.num_left_out,
            "num_to_read": self.num_to_read - self.num_unread,
            "kinds": dict(self.kinds),
            "pace": None if self.pace is None else asdict(self.pace),
            "model_to_fetch": self.model_to_fetch,
            "num_unread": self.num_unread,
            "num_files": self.documents.total(),
            "estimated_s": self.estimated_s,
        }

    def lines(self) -> list[str]:
        """Returns the lines that `ocrbatch run --plan` prints."""
        new = " (not there yet)" if self.is_new else ""
        lines = [f"database: {self.database}{new}; nothing was read or written"]
        if self.model_to_fetch is not None:
            lines.append(f"model: {self.model_to_fetch} is not on this machine; a run downloads it first")
        lines.append(f"files: {self.documents.total()}{_in_brackets(self.documents)}")
        if self.num_copies:
            lines.append(f"files with the content of another: {self.num_copies}")
        if self.skipped_types:
            lines.append(f"skipped, by ending: {_listed(self.skipped_types)}")
        lines.append(f"pages: {self.num_found}")
        lines += passed_over(self)
        lines.append(f"pages to read: {self.num_to_read - self.num_unread}{self._kinds(are_read=True)}")
        if self.num_unread:
            lines.append(f"pages that need no reading: {self.num_unread}{self._kinds(are_read=False)}")
        lines.append(f"time: {self._time()}")
        refused, more = cut(self.refused)
        lines += [refusal(**one) for one in refused]
        if more:
            lines.append(f"{more} that cannot be read; --json has all")
        return lines

    def _kinds(self, *, are_read: bool) -> str:
        kinds = {_WORDS[kind]: count for kind, count in self.kinds.items() if (kind in _UNREAD) != are_read}
        return _in_brackets(kinds)

    def _time(self) -> str:
        if self.num_to_read == self.num_unread:
            return "a fraction of a second a page, without a model" if self.num_to_read else "nothing to read"
        if self.pace is None or self.estimated_s is None:
            return "no estimate: no finished run in this database has read pages with this model"
        each = f"{self.pace.seconds_per_page:.2g} s a page, as the last {self.pace.num_pages} pages took"
        return f"about {in_words(self.estimated_s)} ({each})"


def _in_brackets(counts: Mapping[Any, int]) -> str:
    return f" ({_listed(counts)})" if counts else ""


def _listed(counts: Mapping[Any, int]) -> str:
    return counted(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))
