"""Prints how the encoder's graphs were used in a run, one line per path, from the run's row in the database."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_UNITS = {"global": "view", "local": "tile"}
_USES = {"hits": "replayed", "misses": "missed", "eager": "eager"}
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


def encoder_lines(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yields a line for each path that had anything to encode. paths: RunStatus.encoder."""
    for name, stats in paths.items():
        counts = {word: int(stats.get(key, 0)) for key, word in _USES.items()}
        if total := sum(counts.values()):
            units = _UNITS.get(name, "unit") + ("s" if total > 1 else "")
            parts = [f"{total:,} {units}: {_shares(counts, total)}"]
            yield f"encoder {name}: " + "; ".join([*parts, *_graphs(stats)])


def _shares(counts: Mapping[str, int], total: int) -> str:
    found = {word: count for word, count in counts.items() if count}
    if len(found) == 1:
        return f"all {next(iter(found))}"
    return ", ".join(f"{_percent(count, total)} {word}" for word, count in found.items())


def _percent(count: int, total: int) -> str:
    """Returns a rounded percentage, but "<1%" and ">99%" instead of a false 0% or 100%."""
    rounded = round(100 * count / total)
    return "<1%" if rounded == 0 else ">99%" if rounded == 100 else f"{rounded}%"


def _graphs(stats: Mapping[str, Any]) -> Iterator[str]:
    if stats.get("replays"):
        yield f"padding {stats.get('padding_share', 0.0):.1%}"
    if mib := stats.get("graph_mib"):
        size = f"{mib / 1024:.1f} GiB" if mib >= 1024 else f"{mib:.1f} MiB"
        yield f"graphs {size}, captured in {stats.get('capture_seconds', 0.0):.1f} s"
    for what, kinds in _FAULTS.items():
        faults = [f"{_count(stats[key])} {words}" for key, words in kinds.items() if stats.get(key)]
        if faults:
            yield f"{what} " + ", ".join(faults)


def _count(found: int | Mapping[str, Sequence[int]]) -> int:
    """Returns a fault's count; faults of single graphs are lists of their sizes by axis."""
    return found if isinstance(found, int) else sum(map(len, found.values()))
