"""Defines the encoders to compare: transformers' classes, ours, and ours through graphs."""

from collections.abc import Hashable, Mapping, Sequence
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
    """Runs transformers' classes with the same weights."""

    name = "reference"

    def __init__(self, subject: EncoderSubject) -> None:
        assert subject.open_reference is not None, "the caller asks for arms that there are"
        # As it comes; our own arms switch it off, see PathsEncoder.
        torch.backends.cuda.enable_cudnn_sdp(True)
        self.features: Features | None = subject.open_reference()

    def encode(self, pages: Sequence[PageViews]) -> list[Tensor]:
        assert self.features is not None, "it is open"
        self._calls += 1 + any(page.num_tiles and page.global_view.size for page in pages)
        return self.features(pages)

    def close(self) -> None:
        self.features = None


class ManagedArm(Arm):
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
        encoder = subject.encoder
        self.paths = encoder.paths
        self.has_graphs = settings.graphs != "off"
        self.name = "graph" if self.has_graphs else "eager"
        if others:
            self.name += f", {1 + len(others)} ranks"
        self.manager = RankedManager(encoder.paths, settings, encoder.device, others, capture)
        self._encoder, self.settings = encoder, settings
        self._steps = PathsEncoder(encoder, self.manager)
        self._before: dict[str, dict[str, int]] = {}

    def encode(self, pages: Sequence[PageViews]) -> list[Tensor]:
        self._calls += len(pages)
        return [page.tokens_TD for page in encode_views(self._steps, pages).tokens]

    def prepare(self, batches: Sequence[Sequence[PageViews]]) -> None:
        """Captures the graphs of all axes that occur. Budgets that are "auto" are chosen for just these batches."""
        if not self.has_graphs:
            return
        seen = batch_sizes(self._encoder, batches, self.settings)
        axes: dict[str, list[Hashable]] = {}
        for name, axis in sorted(seen, key=str):
            axes.setdefault(name, []).append(axis)
        if not seen:  # an encoder that forms its units as it encodes: the manager counts them
            axes = {name: list(usual) for name, usual in self._encoder.usual_axes.items()}
            for pages in batches:
                self.encode(pages)
        self.manager.warm_up(axes, seen if seen and self.settings.budgets == "auto" else None)

    def start(self) -> None:
        super().start()
        self._before = {
            name: {key: getattr(stats, key) for key in _COUNTED}
            for name, stats in self.manager.stats().items()
        }

    @property
    def calls(self) -> int:
        """The number of batches; of pages for an encoder that takes them one by one, without a manager."""
        counted = self._counted().values()
        return sum(its["replays"] + its["eager_batches"] for its in counted) if self.paths else self._calls

    def statistics(self) -> dict[str, dict[str, Any]]:
        return self._counted() if self.has_graphs else {}

    def close(self) -> None:
        self.manager.close()

    def _counted(self) -> dict[str, dict[str, Any]]:
        return {
            name: path_statistics(stats, self._before.get(name, {}))
            for name, stats in self.manager.stats().items()
        }


def path_statistics(stats: PathStats, before: Mapping[str, int]) -> dict[str, Any]:
    """Returns one path's statistics since `before`, with the shares that follow from them."""
    counted = {key: getattr(stats, key) - before.get(key, 0) for key in _COUNTED}
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
