"""Sizes of graphs for pages that were read before."""

from collections.abc import Mapping
from typing import Any

from encoders.graphs.path import GraphPath
from encoders.native.patch_path import PatchPath

# Budgets listed for a path: so many of its views, or of its largest page.
_VIEWS, _PAGES = (1, 2, 4, 8, 16, 32), (1, 2, 4)


def page_budgets(model: Any, most: int, mode: Any) -> Mapping[str, list[int]]:
    """Returns sizes of graphs, in tokens, for each path of a model. most: vision tokens of the largest page."""
    encoder = model.vision_encoder(mode)
    axes = encoder.usual_axes if encoder.paths else {}
    return {path.name: _sizes(path, axes[path.name], most) for path in encoder.paths if path.name in axes}


def _sizes(path: GraphPath, axes: Any, most: int) -> list[int]:
    unit = path.unit_tokens(axes[0])
    if not isinstance(path, PatchPath):
        return [unit * count for count in _VIEWS]
    return sorted({-(-most * count // unit) * unit for count in _PAGES})
