"""Defines the encoders to compare: transformers' classes, ours, and ours through graphs."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from encoders.deepseek.graph_paths import TILE_PX, DeepSeekEncoder
from encoders.graphs.capturing.capture import Capture
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.graphs.stats import PathStats
from encoders.views import PageViews
from ocr.checkpoints import checkpoint
from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig, OcrModel
from ocr.model.random_weights import redraw
from pipeline.bench.model_names import RANDOM
from pipeline.bench.reference import load_reference, page_tokens
from pipeline.device.run_encoder import PathsEncoder
from pipeline.stages.encode import encode_views

ARMS = ("reference", "eager", "graph")

# The statistics that are counted over the measured requests; the others are of the manager as a whole.
_COUNTED = ("hits", "misses", "eager", "replays", "eager_batches", "replayed_tokens", "padding_tokens")


class Arm:
    """The base of the encoders that are compared."""

    name: str
    _calls: int = 0

    @property
    def calls(self) -> int:
        """The number of forwards or replays of the vision model since start()."""
        return self._calls

    def encode(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' vision tokens, [T, D] each, in order."""
        raise NotImplementedError

    def prepare(self, batches: Sequence[Sequence[PageViews]]) -> None:
        """Does whatever must be done once before batches like these are encoded."""

    def start(self) -> None:
        """Starts counting calls and statistics from zero."""
        self._calls = 0

    def statistics(self) -> dict[str, dict[str, Any]]:
        """Returns the statistics of each path since start(); empty for an arm without graphs."""
        return {}

    def close(self) -> None:
        """Frees the arm's memory."""


class ReferenceArm(Arm):
    """Runs transformers' classes with the same weights: one forward for the global views and one for any tiles."""

    name = "reference"

    def __init__(self, model: OcrModel) -> None:
        self.model = load_reference(model)

    def encode(self, pages: Sequence[PageViews]) -> list[Tensor]:
        self._calls += 1 + any(page.num_tiles for page in pages)
        return page_tokens(self.model, pages)

    def close(self) -> None:
        self.model = None


class EagerArm(Arm):
    """Runs our own forward, with the views of all pages pooled in batches as large as the largest graph's."""

    name = "eager"

    def __init__(self, model: OcrModel, settings: GraphSettings) -> None:
        self._encoder = model.encoder
        self._max_items = settings.max_items

    def encode(self, pages: Sequence[PageViews]) -> list[Tensor]:
        self._calls += sum(-(-count // self._max_items) for count in views_by_axis(pages).values())
        return [page.tokens_TD for page in self._encoder.encode(pages, max_views=self._max_items)]


class GraphArm(Arm):
    """Runs our forward through the graph manager, as a run does (pipeline.stages.encode.encode_views).

    capture: how graphs are captured; by default CUDA graphs on a CUDA device, else none.
    """

    name = "graph"

    def __init__(self, model: OcrModel, settings: GraphSettings, capture: Capture | None = None) -> None:
        self._settings = settings
        encoder = DeepSeekEncoder(model.encoder)
        self.paths = encoder.paths
        self.manager = EncoderGraphManager(encoder.paths, settings, encoder.device, capture)
        self._steps = PathsEncoder(encoder, self.manager)
        self._before: dict[str, dict[str, int]] = {}

    def prepare(self, batches: Sequence[Sequence[PageViews]]) -> None:
        """Captures the graphs of all sizes of views that occur, tiles included."""
        sizes = {page.global_view.shape[-1] for batch in batches for page in batch}
        histogram = self._histogram(batches) if self._settings.budgets == "auto" else None
        self.manager.warm_up({"global": sorted(sizes), "local": [TILE_PX]}, histogram)

    def encode(self, pages: Sequence[PageViews]) -> list[Tensor]:
        return [page.tokens_TD for page in encode_views(self._steps, pages).tokens]

    def start(self) -> None:
        self._before = {
            name: {key: getattr(stats, key) for key in _COUNTED}
            for name, stats in self.manager.stats().items()
        }

    @property
    def calls(self) -> int:
        counted = self.statistics().values()
        return sum(stats["replays"] + stats["eager_batches"] for stats in counted)

    def statistics(self) -> dict[str, dict[str, Any]]:
        return {
            name: path_statistics(stats, self._before.get(name, {}))
            for name, stats in self.manager.stats().items()
        }

    def close(self) -> None:
        self.manager.close()

    def _histogram(
        self, batches: Sequence[Sequence[PageViews]]
    ) -> dict[tuple[str, Hashable], Mapping[int, int]]:
        """Returns how often batches of each number of tokens will be encoded, by path and axis."""
        by_name = {path.name: path for path in self.paths}
        most = self._settings.max_items
        seen: dict[tuple[str, Hashable], Counter[int]] = {}
        for batch in batches:
            for (name, axis), count in views_by_axis(batch).items():
                unit = by_name[name].unit_tokens(axis)
                full, rest = divmod(count, most)
                seen.setdefault((name, axis), Counter()).update({most * unit: full, rest * unit: 1})
        return {
            key: {tokens: n for tokens, n in found.items() if tokens and n} for key, found in seen.items()
        }


def path_statistics(stats: PathStats, before: Mapping[str, int]) -> dict[str, Any]:
    """Returns one path's statistics since `before`, with the shares that follow from them."""
    counted = {key: getattr(stats, key) - before.get(key, 0) for key in _COUNTED}
    since = PathStats(**counted)
    return stats.as_dict() | counted | {"hit_rate": since.hit_rate, "padding_share": since.padding_share}


def views_by_axis(pages: Sequence[PageViews]) -> dict[tuple[str, int], int]:
    """Returns how many views the pages have on each path and axis, without entries of zero."""
    counts = Counter(("global", int(page.global_view.shape[-1])) for page in pages)
    if tiles := sum(page.num_tiles for page in pages):
        counts["local", TILE_PX] = tiles
    return dict(counts)


def load_model(name: str, device: torch.device, dtype: torch.dtype) -> OcrModel:
    """Returns the model; "random" is DeepSeek-OCR's encoder at full size with random weights.

    The language model of "random" is a stub, as it is not measured here.
    """
    random = name == RANDOM
    model = _random(device, dtype) if random else checkpoint.load(name, device=device, dtype=dtype).model
    if device.type == "cuda":
        model.encoder.store_channels_last()
    return model


def build(name: str, model: OcrModel, settings: GraphSettings, capture: Capture | None = None) -> Arm:
    """Returns the arm with this name, one of ARMS."""
    if name == "eager":
        return EagerArm(model, settings)
    return GraphArm(model, settings, capture) if name == "graph" else ReferenceArm(model)


def _random(device: torch.device, dtype: torch.dtype) -> OcrModel:
    stub = LanguageConfig(
        vocab_size=96, intermediate_size=64, num_hidden_layers=1, num_attention_heads=10, n_routed_experts=2,
        num_experts_per_tok=1, moe_intermediate_size=64,
    )  # fmt: skip
    with torch.device("meta"):
        model = OcrModel.from_config(OcrConfig(language=stub))
    model = model.to_empty(device=device).to(dtype).eval().requires_grad_(False)
    redraw(model)
    return model
