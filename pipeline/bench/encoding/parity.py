"""Compares the vision tokens of the arms with each other."""

from collections.abc import Mapping, Sequence

from torch import Tensor

Outputs = Sequence[Tensor]


def relative_errors(outputs: Mapping[str, Outputs]) -> dict[str, float]:
    """Returns each arm's largest difference from the first one's tokens of a page, relative to these (L2)."""
    first, *others = outputs
    return {name: _largest(outputs[name], outputs[first]) for name in others}


def parity(outputs: Mapping[str, Outputs]) -> dict[str, float]:
    """Returns the largest relative difference of graphs from our eager forward, and of ours from transformers'.

    Pairs are left out of which an arm was not measured.
    """
    found = {}
    if "graph" in outputs and "eager" in outputs:
        found["graph to eager"] = _largest(outputs["graph"], outputs["eager"])
    ours = [outputs[name] for name in ("eager", "graph") if name in outputs]
    if "reference" in outputs and ours:
        found["ours to reference"] = max(_largest(own, outputs["reference"]) for own in ours)
    return found


def _largest(found: Outputs, expected: Outputs) -> float:
    return max(_error(mine, its) for mine, its in zip(found, expected, strict=True))


def _error(found: Tensor, expected: Tensor) -> float:
    exact = expected.float()
    return float((found.float() - exact).norm() / exact.norm())
