"""Qwen-VL as a run uses it: transformers' classes hold the weights, our encoder runs over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import CONFIG_MAPPING

from encoders.native.native_encoder import NativeEncoder
from encoders.native.towers import QwenVision
from encoders.native.vision_grid import VisionGrid
from encoders.views import PageViews
from ocr.decoding.requests import PageRequest
from ocr.families.family import ModelFacts, NumberFormat
from ocr.families.generation.generate_engine import GeneratingModel, PromptedPage
from ocr.families.generation.transformers_loading import load_class, refusals
from ocr.families.published.known_model import known_model
from ocr.families.qwen_vl.qwen_generate import VisionRequest, generation_inputs
from ocr.families.qwen_vl.qwen_prompts import QWEN2_5_VL, QWEN3_VL, ChatFormat, vision_prompt
from ocr.families.qwen_vl.qwen_reference import features
from ocr.families.qwen_vl.qwen_resizing import QwenResizing, read_resizing
from ocr.imaging.tiling import Mode
from ocr.model_files.locate import read_json, read_tokenizer
from ocr.types import OutputFormat

_CHATS = {"qwen3_vl": QWEN3_VL, "qwen2_5_vl": QWEN2_5_VL}


def load(
    directory: Path,
    *,
    name: str,
    device: str,
    dtype: NumberFormat,
    encoder_dtype: NumberFormat,
    prompt: str | None,
    entry: str | None = None,
) -> "QwenReader":
    """Returns the model: Qwen3-VL, Qwen2.5-VL, olmOCR-2, Nanonets-OCR2; see ocr.families.family.Family.load.

    encoder_dtype is dtype for these models. Raises: CheckpointError.
    """
    raw = read_json(directory / "config.json")
    kind = raw["model_type"]
    known = known_model(ModelFacts(name=name, config=raw, entry=entry)).model
    with refusals(directory, kind):
        # It maps the published names of weights, old and new, to its own.
        model = load_class(directory, CONFIG_MAPPING[kind].from_dict(raw), getattr(torch, dtype))
    asked = known.prompts["page"] if prompt is None else prompt
    return QwenReader(
        name=name,
        model=model.to(device),
        tokenizer=read_tokenizer(directory / "tokenizer.json"),
        resizing=read_resizing(directory, kind),
        chat=_CHATS[kind],
        prompt=asked,
        output_format=known.format_for(asked),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QwenReader(GeneratingModel):
    """Implements ocr.families.page_model.PageModel. model: transformers'."""

    name: str
    model: Any
    tokenizer: Tokenizer
    resizing: QwenResizing
    chat: ChatFormat
    prompt: str
    output_format: OutputFormat

    @property
    def writer(self) -> Any:
        return self.model

    @property
    def pad_id(self) -> int:
        own: int | None = self.model.generation_config.pad_token_id
        return min(self.eos_ids, default=0) if own is None else own

    def vision_encoder(self, mode: Mode) -> NativeEncoder:
        return NativeEncoder(
            QwenVision(self.model.model.visual, mean=self.resizing.mean, std=self.resizing.std), videos=True
        )

    def reference_features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' or videos' vision tokens as transformers' own class computes them."""
        return features(self.model.model.visual, pages, mean=self.resizing.mean, std=self.resizing.std)

    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns a page with its VisionPrompt. Raises: PromptError."""
        grid, temporal = _grid(request), self.resizing.temporal
        prompt = vision_prompt(
            self.tokenizer, self.chat, self.prompt, grid, timing=grid.timing, temporal=temporal
        )
        return PromptedPage(request=request, prompt=prompt, num_tokens=len(prompt.token_ids))

    def inputs(self, pages: Sequence[PromptedPage]) -> dict[str, Any]:
        """Returns generate's arguments for pages together, padded on the left."""
        return generation_inputs(self.model, [self._asked(page) for page in pages], self.pad_id)

    def _asked(self, page: PromptedPage) -> VisionRequest:
        timing, temporal = _grid(page.request).timing, self.resizing.temporal
        return VisionRequest(
            prompt=page.prompt,
            vision=page.request.vision,
            seconds_per_patch=None if timing is None else timing.seconds_per_patch(temporal),
        )


def _grid(request: PageRequest) -> VisionGrid:
    note = request.vision.note
    assert isinstance(note, VisionGrid), "pages of this model were encoded by it"
    return note
