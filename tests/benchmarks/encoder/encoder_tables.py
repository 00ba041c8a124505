"""Formats the encoder's figures as Markdown, one table or more per section."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Found = dict[str, Any]
Row = Sequence[object]
ARMS = ("reference", "eager", "graph")


def _table(head: Row, rows: Sequence[Row]) -> str:
    lines = ["| " + " | ".join(map(str, head)) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def _ms(times: Mapping[str, float], arms: Sequence[str] = ARMS) -> list[str]:
    return [f"{times[arm]:.3f}" if arm in times else "" for arm in arms]


def _machine_table(result: Found) -> str:
    return _table(["", ""], [[key, value] for key, value in result.items()])


def _batches_table(result: Found) -> str:
    rows = [
        [case, *_ms(entry["ms"]), *(f"{entry['share'].get(arm, 0):.1%}" for arm in ARMS)]
        for case, entry in result.items()
    ]
    return _table(["device ms", *ARMS, *(f"{arm}, of the matrix rate" for arm in ARMS)], rows)


def _numerics_table(result: Found) -> str:
    inputs = list(result["largest"]["graph"])
    rows = [[name, *(f"{result['largest'][arm][name]:.2e}" for arm in ARMS)] for name in inputs]
    table = _table(["largest error to float32", *ARMS], rows)
    return f"{table}\n\nhits: {result['hits']}; poisoned: {result['poisoned']}"


def _counts_table(result: Found) -> str:
    parts = []
    for path, counted in result["counts"].items():
        rows: list[Row] = [
            [
                size["views"],
                f"{size['eager_ms']:.3f}",
                f"{size['graph_ms']:.3f}",
                "yes" if size["in_use"] else "no",
            ]
            for size in result["sizes"].get(path, [])
        ]
        parts.append(_table([f"{path}, captured views", "eager ms", "graph ms", "in use"], rows))
        rows = [
            [
                row["views"],
                f"{row['eager_ms']:.3f}",
                f"{row['graph_ms']:.3f}",
                f"{row['ratio']:.3f}",
                f"{row['hit_rate']:.0%}",
                f"{row['padding']:.1%}",
            ]
            for row in counted
        ]
        parts.append(_table([f"{path}, views", "eager ms", "graph ms", "ratio", "hits", "padding"], rows))
    parts.append("slower than eager: " + ("; ".join(result["slower"]) or "none"))
    return "\n\n".join(parts)


def _profile_table(result: Found) -> str:
    rows = [[case, kind, f"{ms:.3f}"] for case, kinds in result.items() for kind, ms in kinds.items()]
    return _table(["forward", "kind", "ms"], rows)


TABLES: dict[str, Callable[[Found], str]] = {
    "machine": _machine_table,
    "batches": _batches_table,
    "numerics": _numerics_table,
    "counts": _counts_table,
    "profile": _profile_table,
}
