"""The vision encoder of published models that take pages at their own size: our path for graphs, any pages in a batch.

Their processor resizes a page and makes its prompt; what else it does to pixels happens on the device.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import Use
from encoders.native.grid_plans import PatchGeometry
from encoders.native.native_encoder import NativeEncoder
from encoders.native.towers import GlmVision, HunyuanVision, LightOnVision, PaddleVision
from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageOutputs
from ocr.families.published.page_inputs import PageInputs, Prompting
from ocr.families.published.processed_pages import AS_THEY_ARE, OwnEncoderPages


def navit_encoder(model: Any, processor: Any) -> NativeEncoder | None:
    """Returns our encoder over the weights of a model of transformers; None where it would not do what that does."""
    known = _MODELS.get(model.config.model_type)
    if known is None:
        return None
    pictures = processor.image_processor
    if not (pictures.do_rescale and pictures.do_normalize) or abs(pictures.rescale_factor * 255 - 1) > 1e-6:
        return None
    try:
        vision = known.vision(model.base_model, mean=pictures.image_mean, std=pictures.image_std)
    except ValueError:  # a setting of its config.json that ours does not know
        return None
    return NativeEncoder(vision)


class NavitPages(OwnEncoderPages):
    """Encodes pages with our encoder, as far as graphs and batches go, and hands over what generate takes."""

    def __init__(self, model: Any, prompting: Prompting, encoder: NativeEncoder) -> None:
        super().__init__(model, prompting, encoder)
        self._geometry = encoder.geometry
        self._picture = _MODELS[model.config.model_type].picture

    def encode(
        self, manager: EncoderGraphManager, path: str, pages: Sequence[PageViews]
    ) -> tuple[PageOutputs, list[list[Use]]]:
        """Returns each page's inputs, resized view and the encoder's outputs."""
        made = [dict(self._prompting(page, **AS_THEY_ARE)) for page in pages]
        resized = [
            replace(page, global_view=self._picture(inputs, self._geometry).numpy())
            for page, inputs in zip(pages, made, strict=True)
        ]
        outputs, uses = self._encoder.encode(manager, path, resized)
        found = [
            [{"inputs": self._kept(inputs), "views": views, "units": units}]
            for inputs, views, units in zip(made, resized, outputs, strict=True)
        ]
        return found, uses

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        made = [page[0] for page in outputs["image"]]
        encoded = self._encoder.assemble(
            [page["views"] for page in made], {"image": [page["units"] for page in made]}
        )
        return [
            replace(tokens, note=PageInputs(inputs=page["inputs"], features=_features(tokens.tokens_TD)))
            for tokens, page in zip(encoded, made, strict=True)
        ]


def _features(tokens_TD: Tensor) -> Any:
    """Returns what get_image_features would of one page."""
    return BaseModelOutputWithPooling(pooler_output=(tokens_TD,))


def _patches(inputs: Mapping[str, Tensor], geometry: PatchGeometry, *, merge: int) -> Tensor:
    """Returns the image, [3, H, W], whose patches lie in squares of merge x merge. A patch repeats it in time."""
    _, rows, columns = inputs["image_grid_thw"][0].tolist()
    high, wide, side = rows // merge, columns // merge, geometry.patch_px
    frames = inputs["pixel_values"].view(high, wide, merge, merge, 3, -1, side, side)[..., 0, :, :]
    return frames.permute(4, 0, 2, 5, 1, 3, 6).reshape(3, rows * side, columns * side).to(torch.uint8)


def _row_by_row(inputs: Mapping[str, Tensor], geometry: PatchGeometry) -> Tensor:
    return _patches(inputs, geometry, merge=1)


def _token_by_token(inputs: Mapping[str, Tensor], geometry: PatchGeometry) -> Tensor:
    return _patches(inputs, geometry, merge=geometry.merge)


def _whole(inputs: Mapping[str, Tensor], geometry: PatchGeometry) -> Tensor:
    return inputs["pixel_values"][0].to(torch.uint8)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """vision: our encoder. picture: returns a page's pixels of its processor's output, uint8 [3, H, W]."""

    vision: type[Any]
    picture: Callable[[Mapping[str, Tensor], PatchGeometry], Tensor]


_MODELS = {
    "paddleocr_vl": _Model(vision=PaddleVision, picture=_row_by_row),
    "hunyuan_vl": _Model(vision=HunyuanVision, picture=_row_by_row),
    "glm_ocr": _Model(vision=GlmVision, picture=_token_by_token),
    "lighton_ocr": _Model(vision=LightOnVision, picture=_whole),
}
