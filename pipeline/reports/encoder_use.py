"""How the encoder's graphs were used in a run, from the run's row in the database: figures of each path, and a line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_UNITS = {"global": "view", "local": "tile"}
# Faults that were caught: of graphs, whose batches were computed eagerly instead, and of batches.
_FAULTS = {
    "graphs": {
        "parity_failures": "unlike eager",
        "nan_traps": "not finite",
        "dropped_graphs": "dropped",
        "left_out": "left out",
        "skipped_checks": "not compared for lack of memory",
    },
    "batches": {"split_batches": "halved for lack of memory", "nonfinite_batches": "not finite"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderUse:
    """One path of the encoder. hits, misses, eager: of the views or tiles that it encoded, how.

    padding: share of what the graphs computed that was padding, None where none was replayed. graph_mib: the graphs'
    memory, captured in capture_s; None without graphs. faults: of graphs and of batches, what was caught, how often.
    """

    name: str
    hits: int
    misses: int
    eager: int
    padding: float | None
    graph_mib: float | None
    capture_s: float
    faults: Mapping[str, Mapping[str, int]]

    @property
    def total(self) -> int:
        """All that it encoded."""
        return self.hits + self.misses + self.eager

    def line(self) -> str:
        """Returns the line that `status` prints."""
        units = _UNITS.get(self.name, "unit") + ("s" if self.total > 1 else "")
        counts = {"replayed": self.hits, "missed": self.misses, "eager": self.eager}
        used = {word: count for word, count in counts.items() if count}
        shares = ", ".join(f"{_percent(count, self.total)} {word}" for word, count in used.items())
        parts = [f"{self.total:,} {units}: " + (shares if len(used) > 1 else f"all {next(iter(used))}")]
        if self.padding is not None:
            parts.append(f"padding {self.padding:.1%}")
        if self.graph_mib is not None:
            mib = self.graph_mib
            size = f"{mib / 1024:.1f} GiB" if mib >= 1024 else f"{mib:.1f} MiB"
            parts.append(f"graphs {size}, captured in {self.capture_s:.1f} s")
        for what, faults in self.faults.items():
            parts.append(f"{what} " + ", ".join(f"{count} {words}" for words, count in faults.items()))
        return f"encoder {self.name}: " + "; ".join(parts)


def encoder_uses(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[EncoderUse]:
    """Yields the use of each path that had anything to encode. paths: RunStatus.encoder."""
    for name, stats in paths.items():
        faults = {
            what: {words: _count(stats[key]) for key, words in kinds.items() if stats.get(key)}
            for what, kinds in _FAULTS.items()
        }
        use = EncoderUse(
            name=name,
            hits=int(stats.get("hits", 0)),
            misses=int(stats.get("misses", 0)),
            eager=int(stats.get("eager", 0)),
            padding=float(stats.get("padding_share", 0.0)) if stats.get("replays") else None,
            graph_mib=float(stats["graph_mib"]) if stats.get("graph_mib") else None,
            capture_s=float(stats.get("capture_seconds", 0.0)),
            faults={what: found for what, found in faults.items() if found},
        )
        if use.total:
            yield use


def _percent(count: int, total: int) -> str:
    """Returns a rounded percentage, but "<1%" and ">99%" instead of a false 0% or 100%."""
    rounded = round(100 * count / total)
    return "<1%" if rounded == 0 else ">99%" if rounded == 100 else f"{rounded}%"


def _count(found: Any) -> int:
    """Returns a fault's count; faults of single graphs are lists of their sizes by axis."""
    return sum(map(len, found.values())) if isinstance(found, Mapping) else int(found)
