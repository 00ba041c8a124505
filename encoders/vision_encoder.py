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


class VisionEncoder(ABC):
    """A model's vision encoder. paths: in the order in which they run; a stage `encode_<name>` is timed for each.

    usual_axes: those of each path that a run's pages mostly have, which graphs may be captured for ahead.
    """

    paths: tuple[GraphPath, ...]

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """The device of its weights, which outputs lie on."""

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        return {}

    @property
    def num_bytes(self) -> int:
        """The size of its weights."""
        return sum(weight.nbytes for path in self.paths for weight in path.watched(None))

    @abstractmethod
    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        """Returns each page's units on a path, in order; none for a page that the path has nothing to do for.

        Units may share the views' memory, which does not change until they are encoded.
        """

    @abstractmethod
    def assemble(
        self, pages: Sequence[PageViews], outputs: Mapping[str, Sequence[Sequence[Tensors]]]
    ) -> list[VisionTokens]:
        """Returns each page's tokens in prompt order. outputs: of each path, those of each page's units."""


def encode_path(
    encoder: VisionEncoder, manager: EncoderGraphManager, path: str, pages: Sequence[PageViews]
) -> tuple[list[list[Tensors]], list[list[Use]]]:
    """Returns the outputs of each page's units on a path, and "hit", "miss" or "eager" for each of them.

    The units of all pages are batched together, so that few batches are not full.
    """
    units = encoder.units(path, pages)
    encoded = iter(manager.encode({path: [unit for page in units for unit in page]})[path])
    grouped = [list(islice(encoded, len(page))) for page in units]
    return (
        [[unit.outputs for unit in page] for page in grouped],
        [[unit.use for unit in page] for page in grouped],
    )
