"""The interface that a model family implements for its vision encoder: pages in, tokens for the language model out.

What a path must say to be batched, budgeted, captured and checked is in encoders.graphs.path; a VisionEncoder puts
pages' views onto paths as units, and units' outputs together as a page's tokens.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from itertools import islice
from typing import Any

import torch
from torch import nn

from encoders.graphs.path import GraphPath, Unit, Use
from encoders.graphs.ranks import Rank, UnitEncoder
from encoders.types import VisionTokens
from encoders.views import PageViews

# Of each page on one path, those of its units, in order: tensors by name.
PageOutputs = Sequence[Sequence[Mapping[str, Any]]]


class PageEncoder(ABC):
    """A model's vision encoder, as a run uses it. path_names: its steps; a stage `encode_<name>` is timed for each.

    paths: those of its steps that a graph manager runs. prepares: whether prepared() has something to do.
    """

    path_names: tuple[str, ...]
    paths: tuple[GraphPath, ...] = ()
    prepares = False

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """The device of its weights, which outputs lie on."""

    @property
    @abstractmethod
    def weights(self) -> Sequence[torch.Tensor]:
        """Its parameters and buffers."""

    @property
    def num_bytes(self) -> int:
        """The size of its weights."""
        return sum(weight.nbytes for weight in self.weights)

    def rank_on(self, device: torch.device) -> Rank:
        """Returns its paths with a copy of the weights on another device, for a RankedManager."""
        # Parameters stay such, as modules hold nothing else in their place.
        moved = {
            id(weight): nn.Parameter(weight.to(device), requires_grad=False)
            if isinstance(weight, nn.Parameter)
            else weight.to(device)
            for weight in self.weights
        }
        if self.device.type == "cuda":  # other streams would not wait for the copies
            torch.cuda.current_stream(self.device).synchronize()
        return copy.deepcopy(self.paths, moved), device

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        """The axes that pages mostly have, by path, for graphs that the user lists to be captured ahead."""
        return {}

    def prepared(self, page: PageViews) -> PageViews:
        """Returns what encode() takes for a page's views: they have been through the model's own processor, if any.

        It uses no device, and may be called while another thread encodes.
        """
        return page

    @abstractmethod
    def encode(
        self, manager: UnitEncoder, path: str, pages: Sequence[PageViews]
    ) -> tuple[PageOutputs, list[list[Use]]]:
        """Returns the outputs of each page's units on a path, and "hit", "miss" or "eager" for each of them.

        manager: of its paths. pages: prepared.
        """

    @abstractmethod
    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        """Returns each page's tokens in prompt order. outputs: of each path."""


class VisionEncoder(PageEncoder):
    """An encoder all of whose paths go through the graph manager, in the order of `paths`."""

    @property
    def path_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(path.name for path in self.paths)

    @abstractmethod
    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        """Returns each page's units on a path, in order; none for a page that the path has nothing to do for.

        Units may share the views' memory, which does not change until they are encoded.
        """

    def encode(
        self, manager: UnitEncoder, path: str, pages: Sequence[PageViews]
    ) -> tuple[PageOutputs, list[list[Use]]]:
        """Encodes the units of all pages together, so that few batches are not full."""
        units = self.units(path, pages)
        encoded = iter(manager.encode({path: [unit for page in units for unit in page]})[path])
        grouped = [list(islice(encoded, len(page))) for page in units]
        return (
            [[unit.outputs for unit in page] for page in grouped],
            [[unit.use for unit in page] for page in grouped],
        )
