"""Tells how a run's workers, stages, model and encoder graphs do and did: values for the HTML report, and lines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Values = Mapping[str, Any]
# With more workers only the slowest and the fastest are told in brief.
_FEW = 4
SHARES = {"busy": "busy", "waiting_input": "waiting for input", "waiting_output": "waiting for room"}
_UNCOUNTED = dict.fromkeys(
    ("hits", "misses", "eager", "replays", "padding_share", "graph_mib", "capture_seconds"), 0
)
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


def used_stages(flow: Values | None) -> list[Values]:
    """Returns the stages that began. flow: RunStatus.flow."""
    return [stage for stage in (flow or {}).get("stages", []) if any(stage[key] for key in SHARES)]


def used_paths(encoder: Values | None) -> dict[str, Values]:
    """Returns the statistics of each path that had anything to encode, by its name. encoder: RunStatus.encoder.

    Runs of earlier versions did not count all of them.
    """
    found = {name: _UNCOUNTED | dict(stats) for name, stats in (encoder or {}).items()}
    return {
        name: {**stats, "units": units}
        for name, stats in found.items()
        if (units := stats["hits"] + stats["misses"] + stats["eager"])
    }


def faults(stats: Values) -> Iterator[str]:
    """Yields what was caught on a path: of its graphs and of its batches, how often."""
    for what, kinds in _FAULTS.items():
        found = {words: _count(stats[key]) for key, words in kinds.items() if stats.get(key)}
        if found:
            yield f"{what} " + ", ".join(f"{count} {words}" for words, count in found.items())


def run_lines(flow: Values | None, encoder: Values | None = None) -> Iterator[str]:
    """Yields a line for each worker, a table of the stages, and lines about the model, the GPU and each path's graphs.

    flow, encoder: of a RunStatus.
    """
    flow = flow or {}
    yield from worker_lines(flow.get("workers", []))
    stages = used_stages(flow)
    if stages:
        yield f"{'stage':<10}" + "".join(f"{title:>20}" for title in SHARES.values())
    for stage in stages:
        yield f"{stage['name']:<10}" + "".join(f"{stage[key]:>20.1%}" for key in SHARES)
    parts = []
    if tokens := flow.get("num_tokens"):
        parts.append(f"{tokens:,} tokens")
    if (busy := flow.get("gpu_busy")) is not None:
        parts.append(f"a kernel ran on the GPU for {busy:.1%} of the time since the model was loaded")
    if parts:
        yield "; ".join(parts)
    yield from encoder_lines(encoder)


def encoder_lines(encoder: Values | None) -> Iterator[str]:
    """Yields a line for each path that had anything to encode. encoder: RunStatus.encoder."""
    for name, stats in used_paths(encoder).items():
        yield f"encoder {name}: " + "; ".join(_path(name, stats))


def _path(name: str, stats: Values) -> Iterator[str]:
    total = stats["units"]
    counts = {"replayed": stats["hits"], "missed": stats["misses"], "eager": stats["eager"]}
    used = {word: count for word, count in counts.items() if count}
    shares = ", ".join(f"{_percent(count, total)} {word}" for word, count in used.items())
    units = _UNITS.get(name, "unit") + ("s" if total > 1 else "")
    yield f"{total:,} {units}: " + (shares if len(used) > 1 else f"all {next(iter(used))}")
    if stats["replays"]:
        yield f"padding {stats['padding_share']:.1%}"
    if mib := stats["graph_mib"]:
        size = f"{mib / 1024:.1f} GiB" if mib >= 1024 else f"{mib:.1f} MiB"
        yield f"graphs {size}, captured in {stats['capture_seconds']:.1f} s"
    yield from faults(stats)


def _percent(count: int, total: int) -> str:
    """Returns a rounded percentage, but "<1%" and ">99%" instead of a false 0% or 100%."""
    rounded = round(100 * count / total)
    return "<1%" if rounded == 0 else ">99%" if rounded == 100 else f"{rounded}%"


def _count(found: Any) -> int:
    """Returns a fault's count; faults of single graphs are lists of their sizes by axis."""
    return sum(map(len, found.values())) if isinstance(found, Mapping) else int(found)
