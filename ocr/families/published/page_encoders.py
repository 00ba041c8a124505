"""The vision encoders of published models: their own class's, a page at a time, or ours over the same weights.

Their processors resize or cut a page and make its prompt, ahead of the encoder and in a thread of their own; what else
they do to pixels happens on the device where the encoder is ours, on paths for graphs with any pages in a batch.
"""

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling

from encoders.deepseek2.deep_encoder_v2 import DeepEncoderV2
from encoders.graphs.path import Unit, Use
from encoders.graphs.ranks import UnitEncoder
from encoders.native.grid_plans import PatchGeometry
from encoders.native.native_encoder import NativeEncoder
from encoders.native.towers import GlmVision, HunyuanVision, LightOnVision, PaddleVision
from encoders.square_views import SquareViewsEncoder
from encoders.types import VisionTokens
from encoders.views import PageViews, UInt8Array
from encoders.vision_encoder import PageEncoder, PageOutputs, VisionEncoder
from ocr.families.published.processors import PageInputs, Prompting

# Inputs of the vision encoder that the language model's positions are made of as well.
_POSITIONS = ("image_grid_thw", "target_sizes")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProcessedViews(PageViews):
    """A page as its model's processor made it. inputs: the rest of what it made, in host memory."""

    inputs: Mapping[str, Tensor]

    @classmethod
    def of(cls, views: PageViews, inputs: Mapping[str, Tensor]) -> "ProcessedViews":
        """Returns the views with the inputs that go with them."""
        return cls(
            global_view=views.global_view, local_views=views.local_views, grid=views.grid, inputs=inputs
        )

    @property
    def num_bytes(self) -> int:
        pixels = self.global_view.nbytes + self.local_views.nbytes
        return int(pixels) + sum(value.nbytes for value in self.inputs.values())


class ProcessedPages(PageEncoder):
    """Encodes pages eagerly, one by one, as their sizes differ. model: of transformers, with a `get_image_features`."""

    path_names = ("image",)
    prepares = True

    def __init__(self, model: Any, prompting: Prompting) -> None:
        self._model, self.prompting = model, prompting
        self._features = getattr(model.base_model, "get_image_features", None)
        self._taken = () if self._features is None else tuple(inspect.signature(self._features).parameters)

    @property
    def device(self) -> torch.device:
        device: torch.device = self._model.device
        return device

    @property
    def weights(self) -> Sequence[Tensor]:
        return [*self._model.parameters(), *self._model.buffers()]

    def prepared(self, page: PageViews) -> PageViews:
        """Returns a page that its processor made all inputs of, pixels among them, and no views."""
        return ProcessedViews.of(PageViews(), self.prompting(page))

    def encode(
        self, manager: UnitEncoder, path: str, pages: Sequence[PageViews]
    ) -> tuple[PageOutputs, list[list[Use]]]:
        """Returns each page's inputs and features, none of it replayed."""
        return [[{"page": self._page(page)}] for page in pages], [["eager"] for _ in pages]

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        """Returns each page's features as tokens; its inputs, which they go with, are the note."""
        made: list[PageInputs] = [page[0]["page"] for page in outputs["image"]]
        return [VisionTokens(tokens_TD=_tokens(page), note=page) for page in made]

    def kept(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns the inputs that are not the vision encoder's alone."""
        return {key: value for key, value in inputs.items() if key not in self._taken or key in _POSITIONS}

    def placed(self, page: PageViews) -> dict[str, Tensor]:
        """Returns a prepared page's inputs on the model's device, in its dtype."""
        assert isinstance(page, ProcessedViews), "pages are prepared before they are encoded"
        return {
            key: value.to(device=self.device, dtype=self._model.dtype if value.is_floating_point() else None)
            for key, value in page.inputs.items()
        }

    def _page(self, page: PageViews) -> PageInputs:
        inputs = self.placed(page)
        if self._features is None:
            return PageInputs(inputs=inputs, features=None)
        own = {key: inputs[key] for key in self._taken if key in inputs}
        return PageInputs(inputs=self.kept(inputs), features=self._features(**own, return_dict=True))


def _tokens(page: PageInputs) -> Tensor:
    """Returns a page's features, [T, D], where they are one tensor; else an empty one of their device."""
    pooled = page.inputs["input_ids"] if page.features is None else page.features["pooler_output"]
    if not isinstance(pooled, Tensor):
        pooled = pooled[0] if len(pooled) == 1 else torch.cat(list(pooled))
    return pooled.reshape(-1, pooled.shape[-1])


# A processor's arguments for pixels as they came: our encoders normalise them.
_AS_THEY_ARE = {"do_rescale": False, "do_normalize": False}


# Our encoder, and what returns the views that the processor made of a page, by its output.
OwnEncoder = tuple[VisionEncoder, Callable[[Mapping[str, Tensor]], PageViews]]


def own_encoder(model: Any, processor: Any) -> OwnEncoder | None:
    """Returns our encoder over the weights of a model of transformers; None where it would not do what that does."""
    opened = _OPENED.get(model.config.model_type)
    pictures = processor.image_processor
    if opened is None or not (pictures.do_rescale and pictures.do_normalize):
        return None
    try:
        return opened(model.base_model, pictures) if abs(pictures.rescale_factor * 255 - 1) < 1e-6 else None
    except ValueError:  # a setting of its config.json that ours does not know
        return None


class OwnEncoderPages(VisionEncoder):
    """Encodes pages with our encoder, and hands over what generate takes. plain: of the same model."""

    prepares = True

    def __init__(self, plain: ProcessedPages, own: OwnEncoder) -> None:
        self._plain, (self._encoder, self._views) = plain, own
        self.paths = self._encoder.paths

    @property
    def device(self) -> torch.device:
        return self._encoder.device

    @property
    def weights(self) -> Sequence[Tensor]:
        return self._encoder.weights

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        return self._encoder.usual_axes

    def prepared(self, page: PageViews) -> PageViews:
        """Returns the views that the processor cut a page into, and what else generate takes of it."""
        inputs = self._plain.prompting(page, **_AS_THEY_ARE)
        return ProcessedViews.of(self._views(inputs), self._plain.kept(inputs))

    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        return self._encoder.units(path, pages)

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        """Returns each page's tokens; its inputs and they, as get_image_features has them, are the note."""
        return [
            replace(
                tokens,
                note=PageInputs(
                    inputs=self._plain.placed(page),
                    features=BaseModelOutputWithPooling(pooler_output=[tokens.tokens_TD]),
                ),
            )
            for page, tokens in zip(pages, self._encoder.assemble(pages, outputs), strict=True)
        ]


def _native(vision: type[Any], merge: int | None, model: Any, pictures: Any) -> OwnEncoder:
    """Returns an encoder of whole pages. merge: see _picture()."""
    encoder = NativeEncoder(vision(model, mean=pictures.image_mean, std=pictures.image_std))

    def views(inputs: Mapping[str, Tensor]) -> PageViews:
        picture: UInt8Array = _picture(inputs, encoder.geometry, merge).to(torch.uint8).numpy()
        return PageViews(global_view=picture)

    return encoder, views


def _picture(inputs: Mapping[str, Tensor], geometry: PatchGeometry, merge: int | None) -> Tensor:
    """Returns a page's pixels, [3, H, W], of its processor's output: patches that lie in squares of merge x merge.

    A patch repeats its pixels in time. merge: None where they are no patches but the picture.
    """
    if merge is None:
        return inputs["pixel_values"][0]
    _, rows, columns = inputs["image_grid_thw"][0].tolist()
    high, wide, side = rows // merge, columns // merge, geometry.patch_px
    frames = inputs["pixel_values"].view(high, wide, merge, merge, 3, -1, side, side)[..., 0, :, :]
    return frames.permute(4, 0, 2, 5, 1, 3, 6).reshape(3, rows * side, columns * side)


def _deepseek2(model: Any, pictures: Any) -> OwnEncoder | None:
    """Returns DeepSeek-OCR-2's encoder of global views and tiles, of 1024 and 768 px, whose levels are fixed."""
    halves = {*pictures.image_mean, *pictures.image_std} == {0.5}
    return (SquareViewsEncoder(DeepEncoderV2(model)), _tiles) if halves else None


def _tiles(inputs: Mapping[str, Tensor]) -> PageViews:
    """Returns the global view and the tiles. Their order is the model's own."""
    whole, tiles = inputs["pixel_values"], inputs.get("pixel_values_local")
    views = PageViews(global_view=whole[0].round().byte().numpy())
    if tiles is None:
        return views
    return replace(views, local_views=tiles.round().byte().numpy(), grid=(len(tiles), 1))


_OPENED: Mapping[str, Callable[[Any, Any], OwnEncoder | None]] = {
    "paddleocr_vl": partial(_native, PaddleVision, 1),
    "hunyuan_vl": partial(_native, HunyuanVision, 1),
    "glm_ocr": partial(_native, GlmVision, 2),
    "lighton_ocr": partial(_native, LightOnVision, None),
    "deepseek_ocr2": _deepseek2,
}
