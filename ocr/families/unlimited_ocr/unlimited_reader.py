"""Unlimited-OCR as a run uses it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling

from encoders.deepseek.deep_encoder import DeepEncoder
from encoders.deepseek.graph_paths import DeepSeekEncoder
from encoders.views import PageViews
from ocr.decoding.requests import PageRequest
from ocr.families.generation.generate_engine import GeneratingModel, PromptedPage, padded
from ocr.families.published.published_models import PublishedModel
from ocr.families.unlimited_ocr.unlimited_views import UnlimitedViews
from ocr.imaging.tiling import Mode
from ocr.model.prompt import PromptIds
from ocr.types import OutputFormat


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnlimitedReader(GeneratingModel):
    """Implements ocr.families.page_model.PageModel.

    model: transformers' UnlimitedOcrForConditionalGeneration. encoder: over its weights. views: what its pages are cut
    into. prompt_ids: of the prompt around a page.
    """

    name: str
    known: PublishedModel
    model: Any
    encoder: DeepEncoder
    views: UnlimitedViews
    tokenizer: Tokenizer
    prompt: str
    prompt_ids: PromptIds

    @property
    def output_format(self) -> OutputFormat:
        return self.known.format_for(self.prompt)

    @property
    def writer(self) -> Any:
        return self.model

    def vision_encoder(self, mode: Mode) -> DeepSeekEncoder:
        """Returns the encoder. The mode is its processor's, not the configured one."""
        return DeepSeekEncoder(self.encoder, self.views.side_px, has_tiles=self.views.has_tiles)

    @torch.inference_mode()
    def reference_features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' vision tokens as transformers' own class computes them, one page at a time."""
        return [self.model.get_image_features(**self._pixels(page)).pooler_output[0] for page in pages]

    def _pixels(self, page: PageViews) -> dict[str, Any]:
        """Returns a page as transformers' processor hands it over."""
        whole = {"pixel_values": self._normalised(page.global_view[None])}
        if not page.num_tiles:
            return whole
        return whole | {
            "pixel_values_local": self._normalised(page.local_views),
            "num_local_patches": [page.num_tiles],
            "patches_grid": [list(page.grid)],
        }

    def _normalised(self, views: Any) -> Tensor:
        return (torch.from_numpy(views).to(self.device) / 127.5 - 1).to(self.model.dtype)

    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns a page with its prompt's tokens: the page's place is as long as it has vision tokens."""
        image = [self.model.config.image_token_id] * len(request.vision.tokens_TD)
        ids = [*self.prompt_ids.before, *image, *self.prompt_ids.after]
        return PromptedPage(
            request=request, prompt=torch.tensor(ids, device=self.device), num_tokens=len(ids)
        )

    def inputs(self, pages: Sequence[PromptedPage]) -> dict[str, Any]:
        """Returns generate's arguments for pages together, padded on the left.

        Padding is kept with the prompt, which attention never forgets, and is masked there.
        """
        rows = [page.prompt for page in pages]
        features = [page.request.vision.tokens_TD for page in pages]
        return {
            "input_ids": padded(rows, self.pad_id),
            "attention_mask": padded([torch.ones_like(row) for row in rows]),
            "mm_encoder_outputs": {"image": BaseModelOutputWithPooling(pooler_output=features)},
        }
