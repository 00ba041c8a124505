"""Qwen-VL as a run uses it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from encoders.patches.vision_grid import VisionGrid
from encoders.qwen_vl.qwen_encoder import QwenEncoder
from encoders.views import PageViews
from ocr.decoding.requests import PageRequest
from ocr.families.family import ModelFacts, NumberFormat
from ocr.families.generation.generate_engine import GeneratingModel, PromptedPage
from ocr.families.published.known_model import known_model
from ocr.families.qwen_vl.qwen_generate import VisionRequest, generation_inputs
from ocr.families.qwen_vl.qwen_model import LoadedQwen, load_qwen
from ocr.families.qwen_vl.qwen_prompts import vision_prompt
from ocr.families.qwen_vl.qwen_reference import features
from ocr.imaging.tiling import Mode
from ocr.model_files.locate import read_json
from ocr.types import OutputFormat


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
    """Returns the model; see ocr.families.family.Family.load. encoder_dtype is dtype for these models.

    Raises: CheckpointError.
    """
    loaded = load_qwen(directory, device=torch.device(device), dtype=getattr(torch, dtype))
    known = known_model(ModelFacts(name=name, config=read_json(directory / "config.json"), entry=entry)).model
    asked = known.prompts["page"] if prompt is None else prompt
    return QwenReader(name=name, loaded=loaded, prompt=asked, output_format=known.format_for(asked))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QwenReader(GeneratingModel):
    """Implements ocr.families.page_model.PageModel."""

    name: str
    loaded: LoadedQwen
    prompt: str
    output_format: OutputFormat

    @property
    def tokenizer(self) -> Tokenizer:
        return self.loaded.tokenizer

    @property
    def eos_ids(self) -> frozenset[int]:
        return frozenset(self.loaded.end_ids)

    @property
    def device(self) -> torch.device:
        device: torch.device = self.loaded.model.device
        return device

    @property
    def num_positions(self) -> int:
        return int(self.loaded.model.config.text_config.max_position_embeddings)

    def vision_encoder(self, mode: Mode) -> QwenEncoder:
        return self.loaded.encoder()

    def reference_features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' or videos' vision tokens as transformers' own class computes them."""
        resizing = self.loaded.resizing
        return features(self.loaded.model.model.visual, pages, mean=resizing.mean, std=resizing.std)

    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns a page with its VisionPrompt. Raises: PromptError."""
        grid, temporal = _grid(request), self.loaded.resizing.temporal
        prompt = vision_prompt(
            self.tokenizer, self.loaded.chat, self.prompt, grid, timing=grid.timing, temporal=temporal
        )
        return PromptedPage(request=request, prompt=prompt, num_tokens=len(prompt.token_ids))

    def generate(self, pages: Sequence[PromptedPage], **controls: Any) -> None:
        """Runs transformers' generate on pages together. controls: its arguments besides the inputs."""
        asked = [self._asked(page) for page in pages]
        inputs = generation_inputs(self.loaded.model, asked, self.loaded.pad_id)
        self.loaded.model.generate(
            **inputs,
            **controls,
            pad_token_id=self.loaded.pad_id,
            eos_token_id=sorted(self.eos_ids),
        )

    def _asked(self, page: PromptedPage) -> VisionRequest:
        timing, temporal = _grid(page.request).timing, self.loaded.resizing.temporal
        return VisionRequest(
            prompt=page.prompt,
            vision=page.request.vision,
            seconds_per_patch=None if timing is None else timing.seconds_per_patch(temporal),
        )


def _grid(request: PageRequest) -> VisionGrid:
    note = request.vision.note
    assert isinstance(note, VisionGrid), "pages of this model were encoded by it"
    return note
