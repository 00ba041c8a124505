"""What each worker of a run does and has done, for progress, summary and status."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# With more workers only the slowest and the fastest are told in brief.
_FEW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerUse:
    """One worker. where: its machine, and its GPU if it has one. doing: what it does, or how it ended.

    num_pages: stored. pages_s: from its first page on, 0 before there are two. num_waiting: pages that it has and that
    are not stored.
    """

    number: int
    where: str
    doing: str
    num_pages: int
    pages_s: float
    num_waiting: int


def in_brief(workers: Sequence[WorkerUse]) -> str:
    """Returns what the workers do in a few words, "" for none."""
    if not workers:
        return ""
    speeds = sorted(its.pages_s for its in workers if its.doing == "reading")
    others = [its.doing for its in workers if its.doing != "reading"]
    parts = [f"{others.count(doing)} {doing}" for doing in dict.fromkeys(others)]
    if speeds and len(speeds) <= _FEW:
        parts.insert(0, " + ".join(f"{speed:.2f}" for speed in speeds) + " pages/s")
    elif speeds:
        parts.insert(0, f"{len(speeds)} reading, each {speeds[0]:.2f} to {speeds[-1]:.2f} pages/s")
    return f"{len(workers)} workers: {', '.join(parts)}"


def worker_lines(workers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields a line for each worker. workers: as `dataclasses.asdict` makes them of WorkerUse."""
    for its in workers:
        waiting = f", {its['num_waiting']} more to read" if its["num_waiting"] else ""
        speed = f", {its['pages_s']:.2f} pages/s" if its["pages_s"] else ""
        yield f"worker {its['number']} ({its['where']}): {its['doing']}, {its['num_pages']} pages{speed}{waiting}"
