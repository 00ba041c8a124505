"""Defines a run's plan and prints it, for people and for programs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pipeline.types import DocumentStatus, PageKind
from storage.queries.pace import Pace

_LISTED = 20
_WORDS: Mapping[PageKind, str] = {
    "embedded": "with a text layer that is taken",
    "digital": "digital (with a text layer)",
    "scanned": "scanned",
    "empty": "empty",
    "unknown": "of an unknown kind",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A file that a run could not read, and why."""

    path: str
    status: DocumentStatus
    reason: str


@dataclass(slots=True, kw_only=True)
class Plan:
    """The counts of what a run would do. Mutable: the planner adds to it.

    documents: files by status. skipped_types: suffixes of the files that are not PDFs or images. num_copies: files with
    the same content as another. num_pages: of all readable documents, without copies. num_done: pages read before with
    the same settings. num_given_up: pages not read in as many runs as are allowed. num_kept: those of them that have a
    text read with other settings. num_left_out: pages over the limit per document. kinds: of the pages to read. pace:
    of earlier runs; None without any. model_to_fetch: the model if it is not on this machine, so that no page counts as
    read before.
    """

    database: str
    is_new: bool
    documents: Counter[DocumentStatus] = field(default_factory=Counter)
    skipped_types: Counter[str] = field(default_factory=Counter)
    refused: list[Refused] = field(default_factory=list)
    num_copies: int = 0
    num_pages: int = 0
    num_done: int = 0
    num_given_up: int = 0
    num_kept: int = 0
    num_left_out: int = 0
    num_to_read: int = 0
    kinds: Counter[PageKind] = field(default_factory=Counter)
    pace: Pace | None = None
    model_to_fetch: str | None = None

    @property
    def num_unread(self) -> int:
        """The number of pages whose text layers are taken without reading."""
        return self.kinds["embedded"]

    @property
    def estimated_s(self) -> float | None:
        """The estimated seconds of reading, None without an earlier run. Taking a text layer costs next to nothing."""
        return (
            None if self.pace is None else (self.num_to_read - self.num_unread) * self.pace.seconds_per_page
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the plan as values that json.dumps accepts."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        values |= {name: dict(value) for name, value in values.items() if isinstance(value, Counter)}
        values |= {
            "refused": [asdict(one) for one in self.refused],
            "pace": None if self.pace is None else asdict(self.pace),
        }
        return {
            **values,
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
        lines.append(f"pages: {self.num_pages}")
        notes = {
            "read before": self.num_done,
            "given up after repeated attempts": self.num_given_up,
            "kept as read with other settings": self.num_kept,
            "left out": self.num_left_out,
        }
        lines += [f"pages {what}: {count}" for what, count in notes.items() if count]
        kinds = Counter({_WORDS[kind]: count for kind, count in self.kinds.items()})
        lines.append(f"pages to read: {self.num_to_read}{_in_brackets(kinds)}")
        if self.num_unread:
            lines.append(f"pages that need no reading, as their text layers are taken: {self.num_unread}")
        lines.append(f"time: {self._time()}")
        lines += [
            f"{document.path}: {document.status}: {document.reason}" for document in self.refused[:_LISTED]
        ]
        if len(self.refused) > _LISTED:
            lines.append(f"and {len(self.refused) - _LISTED} more that cannot be read; --json has all")
        return lines

    def _time(self) -> str:
        if self.num_to_read == self.num_unread:
            return "a fraction of a second a page, without a model" if self.num_to_read else "nothing to read"
        if self.pace is None or self.estimated_s is None:
            return "no estimate: no finished run in this database has read pages with this model"
        each = f"{self.pace.seconds_per_page:.2g} s a page, as the last {self.pace.num_pages} pages took"
        return f"about {in_words(self.estimated_s)} ({each})"


def in_words(seconds: float) -> str:
    """Returns a duration in words: "40 s", "12 min" or "3 h 05 min"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def _in_brackets(counts: Mapping[Any, int]) -> str:
    return f" ({_listed(counts)})" if counts else ""


def _listed(counts: Mapping[Any, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {name}" for name, count in ordered)
