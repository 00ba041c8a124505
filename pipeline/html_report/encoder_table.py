"""Turns the statistics of the encoder's graphs into the rows of a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRow:
    """One path of the encoder. total: views or tiles that it encoded; hits, misses, eager: how.

    padding: share of what the graphs computed that was padding, None where none was replayed. graph_mib: the graphs'
    memory, captured in capture_s; None without graphs. faults: what was caught, and how often.
    """

    name: str
    hits: int
    misses: int
    eager: int
    padding: float | None
    graph_mib: float | None
    capture_s: float
    faults: Mapping[str, int]

    @property
    def total(self) -> int:
        """All that it encoded."""
        return self.hits + self.misses + self.eager


_FAULTS = {
    "parity_failures": "graphs unlike eager",
    "nan_traps": "graphs not finite",
    "dropped_graphs": "graphs dropped",
    "left_out": "graphs left out",
    "skipped_checks": "graphs not compared for lack of memory",
    "split_batches": "batches halved for lack of memory",
    "nonfinite_batches": "batches not finite",
}


def encoder_rows(paths: Mapping[str, Mapping[str, Any]]) -> list[EncoderRow]:
    """Returns a row for each path that encoded anything. paths: RunStatus.encoder."""
    rows = (_row(name, stats) for name, stats in paths.items())
    return [row for row in rows if row.total]


def _row(name: str, stats: Mapping[str, Any]) -> EncoderRow:
    return EncoderRow(
        name=name,
        hits=int(stats.get("hits", 0)),
        misses=int(stats.get("misses", 0)),
        eager=int(stats.get("eager", 0)),
        padding=float(stats.get("padding_share", 0.0)) if stats.get("replays") else None,
        graph_mib=float(stats["graph_mib"]) if stats.get("graph_mib") else None,
        capture_s=float(stats.get("capture_seconds", 0.0)),
        faults={words: _count(stats[key]) for key, words in _FAULTS.items() if stats.get(key)},
    )


def _count(value: Any) -> int:
    """Returns a count, or the number of sizes that are listed by axis."""
    return sum(map(len, value.values())) if isinstance(value, Mapping) else int(value)
