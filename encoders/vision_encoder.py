"""The interface that a model family implements for its vision encoder: pages in, tokens for the language model out.

What a path must say to be batched, budgeted, captured and checked is in encoders.graphs.path; this puts pages' views
onto paths as units, and units' outputs together as a page's tokens.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from itertools import islice

import torch

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import GraphPath, Tensors, Unit, Use
from encoders.types import VisionTokens
from encoders.views import PageViews

# Of each page on one path, those of its units, in order.
PageOutputs = Sequence[Sequence[Tensors]]


class VisionEncoder(ABC):
    """A model's vision encoder. paths: in the order in which they run; a stage `encode_<name>` is timed for each."""

    paths: tuple[GraphPath, ...]

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """The device of its weights, which outputs lie on."""

    @property
    @abstractmethod
    def num_bytes(self) -> int:
        """The size of its weights."""

    @property
    def path_names(self) -> tuple[str, ...]:
        return tuple(path.name for path in self.paths)

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        """The axes that pages mostly have, by path, for graphs that the user lists to be captured ahead."""
        return {}

    @abstractmethod
    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        """Returns each page's units on a path, in order; none for a page that the path has nothing to do for.

        Units may share the views' memory, which does not change until they are encoded.
        """

    @abstractmethod
    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        """Returns each page's tokens in prompt order. outputs: of each path."""

    def encode(
        self, manager: EncoderGraphManager, path: str, pages: Sequence[PageViews]
    ) -> tuple[PageOutputs, list[list[Use]]]:
        """Returns the outputs of each page's units on a path, and "hit", "miss" or "eager" for each of them.

        The units of all pages are batched together, so that few batches are not full. manager: of these paths.
        """
        units = self.units(path, pages)
        encoded = iter(manager.encode({path: [unit for page in units for unit in page]})[path])
        grouped = [list(islice(encoded, len(page))) for page in units]
        return (
            [[unit.outputs for unit in page] for page in grouped],
            [[unit.use for unit in page] for page in grouped],
        )
