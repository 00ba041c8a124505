"""Counters of what the graphs did, for each path."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass(slots=True)
class PathStats:
    """Counts of one path. hits: units replayed; misses: no graph fitted; eager: not to be replayed, or not worth it.

    replays, eager_batches: how often the device ran. split_batches: eager batches halved because they did not fit into
    memory. replayed_tokens, padding_tokens: real and padded tokens of all replays. parity_checks, parity_failures:
    replays compared with eager; skipped_checks: comparisons that did not fit into memory. nan_traps: replays that were
    not finite where eager was; nonfinite_batches: where eager was not either. stale_graphs: replays refused because
    memory had moved; recaptures: graphs captured again for that reason. dropped_graphs: given up at run time.
    losing_graphs: captured, but slower than eager. capture_seconds: warm-up, capture and timing, recaptures included.
    graph_bytes: static buffers, and what graphs added to the memory they all share. budgets: captured sizes in tokens,
    by axis; left_out: sizes ruled out by memory_limit or an error.
    """

    hits: int = 0
    misses: int = 0
    eager: int = 0
    replays: int = 0
    eager_batches: int = 0
    split_batches: int = 0
    replayed_tokens: int = 0
    padding_tokens: int = 0
    parity_checks: int = 0
    parity_failures: int = 0
    skipped_checks: int = 0
    nan_traps: int = 0
    nonfinite_batches: int = 0
    stale_graphs: int = 0
    recaptures: int = 0
    dropped_graphs: int = 0
    losing_graphs: int = 0
    capture_seconds: float = 0.0
    graph_bytes: int = 0
    budgets: dict[str, list[int]] = field(default_factory=dict)
    left_out: dict[str, list[int]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.hits} hits, {self.misses} misses, {self.eager} eager, padding {self.padding_share:.1%}"

    @property
    def units(self) -> int:
        return self.hits + self.misses + self.eager

    @property
    def hit_rate(self) -> float:
        """Returns the hits' share of the units; 0 without any."""
        return self.hits / self.units if self.units else 0.0

    @property
    def padding_share(self) -> float:
        """Returns the padding's share of all tokens replayed; 0 without any."""
        total = self.replayed_tokens + self.padding_tokens
        return self.padding_tokens / total if total else 0.0

    def merge(self, other: "PathStats") -> "PathStats":
        """Returns the sum of both, as of two ranks or two runs. Sizes of an axis are united."""
        merged = PathStats()
        for entry in fields(self):
            mine, theirs = getattr(self, entry.name), getattr(other, entry.name)
            if isinstance(mine, dict):
                both = {axis: sorted({*mine.get(axis, []), *theirs.get(axis, [])}) for axis in mine | theirs}
            else:
                both = mine + theirs
            setattr(merged, entry.name, both)
        return merged

    def as_dict(self) -> dict[str, Any]:
        """Returns all counts and the two shares, ready for JSON."""
        return asdict(self) | {"hit_rate": self.hit_rate, "padding_share": self.padding_share}

    def summary(self) -> dict[str, Any]:
        """Returns all of it as a run's record states it, ready for JSON.

        Shares to three decimals, seconds to two, memory in MiB to one, next to the bytes.
        """
        return self.as_dict() | {
            "units": self.units,
            "hit_rate": round(self.hit_rate, 3),
            "padding_share": round(self.padding_share, 3),
            "capture_seconds": round(self.capture_seconds, 2),
            "graph_mib": round(self.graph_bytes / 2**20, 1),
        }


def merged(runs: Iterable[Mapping[str, PathStats]]) -> dict[str, PathStats]:
    """Returns the sum of several runs' statistics, by path."""
    sums: dict[str, PathStats] = {}
    for run in runs:
        for path, stats in run.items():
            sums[path] = sums[path].merge(stats) if path in sums else stats
    return sums
