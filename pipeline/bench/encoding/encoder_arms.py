"""Defines the encoders to compare: transformers' classes, ours, and ours through graphs."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from encoders.graphs.capturing.capture import Capture
from encoders.graphs.ranks import Rank, RankedManager
from encoders.graphs.settings import GraphSettings
from encoders.graphs.stats import PathStats
from encoders.views import PageViews
from pipeline.bench.encoding.batch_sizes import batch_sizes
from pipeline.bench.encoding.subjects import EncoderSubject, Features
from pipeline.device.run_encoder import PathsEncoder
from pipeline.stages.encode import encode_views

ARMS = ("reference", "eager", "graph")

# The statistics that are counted over the measured requests; the others are of the manager as a whole.
_COUNTED = ("hits", "misses", "eager", "replays", "eager_batches", "replayed_tokens", "padding_tokens")
Counts = dict[str, int]


class ReferenceArm:
    """Runs transformers' classes with the same weights. calls: forwards of the vision model since start()."""

    name = "reference"

    def __init__(self, subject: EncoderSubject) -> None:
        assert subject.open_reference is not None, "the caller asks for arms that there are"
        # As it comes; our own arms switch it off, see PathsEncoder.
        torch.backends.cuda.enable_cudnn_sdp(True)
        self._features: Features | None = subject.open_reference()
        self.calls = 0

    def prepare(self, batches: Sequence[Sequence[PageViews]]) -> None:
        """Does nothing: it needs no preparation."""

    def start(self) -> None:
        self.calls = 0

    def encode(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' vision tokens, [T, D] each, in order."""
        assert self._features is not None, "it is open"
        self.calls += 1 + any(page.num_tiles and page.global_view.size for page in pages)
        return self._features(pages)

    def statistics(self) -> dict[str, dict[str, Any]]:
        return {}

    def close(self) -> None:
        self._features = None


class ManagedArm:
    """Runs our forward through the graph manager, as a run does (pipeline.stages.encode.encode_views).

    Graphs that are off in the settings make it the arm "eager", whose batches are as large as the largest graph's.
    capture: how; by default CUDA graphs on a CUDA device, else none. others: devices that share the work.
    """

    def __init__(
        self,
        subject: EncoderSubject,
        settings: GraphSettings,
        capture: Capture | None = None,
        others: Sequence[Rank] = (),
    ) -> None:
        self._encoder, self._settings = subject.encoder, settings
        self._has_graphs = settings.graphs != "off"
        self.name = "graph" if self._has_graphs else "eager"
        if others:
            self.name += f", {1 + len(others)} ranks"
        self._manager = RankedManager(self._encoder.paths, settings, self._encoder.device, others, capture)
        self._steps = PathsEncoder(self._encoder, self._manager)
        self._num_pages = 0
        self._before: dict[str, Counts] = {}

    def prepare(self, batches: Sequence[Sequence[PageViews]]) -> None:
        """Captures the graphs of all axes that occur. Budgets that are "auto" are chosen for just these batches."""
        if not self._has_graphs:
            return
        seen = batch_sizes(self._encoder, batches, self._settings)
        axes: dict[str, list[Hashable]] = {}
        for name, axis in sorted(seen, key=str):
            axes.setdefault(name, []).append(axis)
        self._manager.warm_up(axes, seen if self._settings.budgets == "auto" else None)

    def start(self) -> None:
        """Starts counting calls and statistics from zero."""
        self._num_pages = 0
        self._before = {name: _counts(stats) for name, stats in self._manager.stats().items()}

    def encode(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' vision tokens, [T, D] each, in order."""
        self._num_pages += len(pages)
        return [page.tokens_TD for page in encode_views(self._steps, pages).tokens]

    @property
    def calls(self) -> int:
        """Batches since start(); pages for an encoder that takes them one by one, without a manager."""
        if not self._encoder.paths:
            return self._num_pages
        return sum(its["replays"] + its["eager_batches"] for its in self._counted().values())

    def statistics(self) -> dict[str, dict[str, Any]]:
        """Returns the statistics of each path since start(); empty without graphs."""
        return self._counted() if self._has_graphs else {}

    def close(self) -> None:
        """Frees the arm's memory."""
        self._manager.close()

    def _counted(self) -> dict[str, dict[str, Any]]:
        found = self._manager.stats().items()
        return {name: path_statistics(stats, self._before.get(name, {})) for name, stats in found}


Arm = ReferenceArm | ManagedArm


def _counts(stats: PathStats) -> Counts:
    return {key: getattr(stats, key) for key in _COUNTED}


def path_statistics(stats: PathStats, before: Counts) -> dict[str, Any]:
    """Returns one path's statistics since `before`, with the shares that follow from them."""
    counted: dict[str, Any] = {key: count - before.get(key, 0) for key, count in _counts(stats).items()}
    since = PathStats(**counted)
    return stats.as_dict() | counted | {"hit_rate": since.hit_rate, "padding_share": since.padding_share}


def build(
    name: str,
    subject: EncoderSubject,
    settings: GraphSettings,
    capture: Capture | None = None,
    others: Sequence[Rank] = (),
) -> Arm:
    """Returns the arm with this name, one of ARMS that the subject does not lack. others: as ManagedArm has them."""
    if name == "reference":
        return ReferenceArm(subject)
    settings = settings if name == "graph" else replace(settings, graphs="off")
    return ManagedArm(subject, settings, capture, others)
