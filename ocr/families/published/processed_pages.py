"""The vision encoder of a published model: its processor, and its own class's features, a page at a time."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import Use
from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder, PageOutputs
from ocr.families.published.page_inputs import PageInputs, Prompting

# Inputs of the vision encoder that the language model's positions are made of as well.
_POSITIONS = ("image_grid_thw", "target_sizes")


class ProcessedPages(PageEncoder):
    """Encodes pages eagerly, one by one, as their sizes differ. model: of transformers, with a `get_image_features`."""

    path_names = ("image",)

    def __init__(self, model: Any, prompting: Prompting) -> None:
        self._model, self._prompting = model, prompting
        self._features = getattr(model.base_model, "get_image_features", None)
        self._taken = () if self._features is None else tuple(inspect.signature(self._features).parameters)

    @property
    def device(self) -> torch.device:
        device: torch.device = self._model.device
        return device

    @property
    def num_bytes(self) -> int:
        return sum(weight.nbytes for weight in self._model.parameters())

    def encode(
        self, manager: EncoderGraphManager, path: str, pages: Sequence[PageViews]
    ) -> tuple[PageOutputs, list[list[Use]]]:
        """Returns each page's inputs and features, none of it replayed."""
        return [[{"page": self._page(page)}] for page in pages], [["eager"] for _ in pages]

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        """Returns each page's features as tokens; its inputs, which they go with, are the note."""
        made: list[PageInputs] = [page[0]["page"] for page in outputs["image"]]
        return [VisionTokens(tokens_TD=_tokens(page), num_local=0, grid=(1, 1), note=page) for page in made]

    def _page(self, views: PageViews) -> PageInputs:
        inputs = {key: self._there(value) for key, value in self._prompting(views).items()}
        if self._features is None:
            return PageInputs(inputs=inputs, features=None)
        own = {key: inputs[key] for key in self._taken if key in inputs}
        return PageInputs(inputs=self._kept(inputs), features=self._features(**own, return_dict=True))

    def _kept(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns the inputs that are not the vision encoder's alone, on the model's device."""
        return {
            key: self._there(value)
            for key, value in inputs.items()
            if key not in self._taken or key in _POSITIONS
        }

    def _there(self, value: Tensor) -> Tensor:
        dtype = self._model.dtype if value.is_floating_point() else None
        return value.to(device=self.device, dtype=dtype)


def _tokens(page: PageInputs) -> Tensor:
    """Returns a page's features, [T, D], where they are one tensor; else an empty one of their device."""
    pooled = page.inputs["input_ids"] if page.features is None else page.features["pooler_output"]
    if not isinstance(pooled, Tensor):
        pooled = pooled[0] if len(pooled) == 1 else torch.cat(list(pooled))
    return pooled.reshape(-1, pooled.shape[-1])
