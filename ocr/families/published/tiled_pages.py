"""DeepSeek-OCR-2's vision encoder: a page's global view and tiles on two paths for graphs, any pages in a batch.

Its processor makes the views, of 1024 and 768 px, and the prompt; pixels are normalised on the device.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling

from encoders.deepseek2.transformers_weights import encoder_of
from encoders.deepseek2.view_paths import DeepSeek2VisionEncoder
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import Use
from encoders.types import VisionTokens
from encoders.views import PageViews, UInt8Array
from encoders.vision_encoder import PageOutputs
from ocr.families.published.page_inputs import PageInputs
from ocr.families.published.processed_pages import AS_THEY_ARE, OwnEncoderPages

MODEL_TYPE = "deepseek_ocr2"


def tiled_encoder(model: Any, processor: Any) -> DeepSeek2VisionEncoder | None:
    """Returns our encoder over the weights of a model of transformers; None where it would not do what that does."""
    pictures = processor.image_processor
    if model.config.model_type != MODEL_TYPE or not (pictures.do_rescale and pictures.do_normalize):
        return None
    halves = {*pictures.image_mean, *pictures.image_std} == {0.5}
    if not halves or abs(pictures.rescale_factor * 255 - 1) > 1e-6:
        return None
    return DeepSeek2VisionEncoder(encoder_of(model.base_model))


class TiledPages(OwnEncoderPages):
    """Encodes pages with our encoder, and hands over what generate takes. Both paths make one timed step."""

    def encode(
        self, manager: EncoderGraphManager, path: str, pages: Sequence[PageViews]
    ) -> tuple[PageOutputs, list[list[Use]]]:
        """Returns each page's inputs, views and the outputs of both paths; the uses of all of its views."""
        made = [self._prompting(page, **AS_THEY_ARE) for page in pages]
        views = [_views(inputs) for inputs in made]
        encoded = {name: self._encoder.encode(manager, name, views) for name in self._encoder.path_names}
        found = [
            [
                {
                    "inputs": self._kept(inputs),
                    "views": its,
                    "units": {name: outputs[number] for name, (outputs, _) in encoded.items()},
                }
            ]
            for number, (inputs, its) in enumerate(zip(made, views, strict=True))
        ]
        uses = [[use for _, its in encoded.values() for use in its[number]] for number in range(len(pages))]
        return found, uses

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        made = [page[0] for page in outputs["image"]]
        units = {name: [page["units"][name] for page in made] for name in self._encoder.path_names}
        encoded = self._encoder.assemble([page["views"] for page in made], units)
        return [
            replace(tokens, note=PageInputs(inputs=page["inputs"], features=_features(tokens.tokens_TD)))
            for tokens, page in zip(encoded, made, strict=True)
        ]


def _views(inputs: Mapping[str, Tensor]) -> PageViews:
    """Returns the views that the processor made. The order of its tiles is the model's own."""
    tiles = _pixels(inputs["pixel_values_local"]) if "pixel_values_local" in inputs else None
    return PageViews(
        global_view=_pixels(inputs["pixel_values"])[0],
        local_views=PageViews.none().local_views if tiles is None else tiles,
        grid=(1 if tiles is None else len(tiles), 1),
    )


def _pixels(values: Tensor) -> UInt8Array:
    pixels: UInt8Array = values.round().byte().numpy()
    return pixels


def _features(tokens_TD: Tensor) -> Any:
    """Returns what get_image_features would of one page."""
    return BaseModelOutputWithPooling(pooler_output=[tokens_TD])
