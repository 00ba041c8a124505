"""Prints how a run's stages shared its time, from the run's row in the database."""

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.reports.worker_use import worker_lines


def flow_lines(flow: Mapping[str, Any]) -> Iterator[str]:
    """Yields a table of the stages and a line about the language model and the GPU. flow: RunStatus.flow."""
    yield from worker_lines(flow.get("workers", []))
    stages = [stage for stage in flow.get("stages", []) if any(stage[key] for key in _SHARES)]
    if stages:
        yield f"{'stage':<10}" + "".join(f"{title:>20}" for title in _SHARES.values())
    for stage in stages:
        yield f"{stage['name']:<10}" + "".join(f"{stage[key]:>20.1%}" for key in _SHARES)
    parts = []
    if tokens := flow.get("num_tokens"):
        parts.append(f"{tokens:,} tokens, {tokens / max(flow.get('num_steps') or 0, 1):.1f} a step")
    if (busy := flow.get("gpu_busy")) is not None:
        parts.append(f"a kernel ran on the GPU for {busy:.1%} of the time since the model was loaded")
    if (median := flow.get("stored_after_median_s")) is not None:
        parts.append(
            f"a page is stored {median:.2f} s after its last token, at most {flow['stored_after_max_s']:.2f} s"
        )
    if parts:
        yield "; ".join(parts)


_SHARES = {"busy": "busy", "waiting_input": "waiting for input", "waiting_output": "waiting for room"}
