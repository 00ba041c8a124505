"""Qwen-VL as a run uses it: transformers' classes hold the weights, our encoder runs over them.

Positions, cache and sampling remain transformers': it is handed vision tokens where it would have run its encoder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import CONFIG_MAPPING
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.models.qwen3_vl.modeling_qwen3_vl import BaseModelOutputWithDeepstackFeatures

from encoders.native.native_encoder import NativeEncoder
from encoders.native.towers import QwenVision
from encoders.native.vision_grid import Kind, VisionGrid
from encoders.types import VisionTokens
from encoders.views import PageViews
from ocr.decoding.requests import PageRequest
from ocr.families.catalogue.known_model import known_model
from ocr.families.family import Loading
from ocr.families.generation.generate_engine import PromptedPage, TransformersReader, padded
from ocr.families.generation.transformers_loading import load_class, reader_fields, refusals
from ocr.families.qwen_vl.qwen_prompts import CHATS, ChatFormat, vision_prompt
from ocr.families.qwen_vl.qwen_reference import features
from ocr.families.qwen_vl.qwen_resizing import QwenResizing, read_resizing
from ocr.imaging.tiling import Mode
from ocr.model_files.locate import read_tokenizer

_KINDS: tuple[Kind, ...] = ("image", "video")


def load(asked: Loading) -> "QwenReader":
    """Returns the model: Qwen3-VL, Qwen2.5-VL, olmOCR-2, Nanonets-OCR2. Raises: CheckpointError."""
    facts = asked.facts()
    kind = facts.config["model_type"]
    known = known_model(facts).model
    with refusals(asked.directory, kind):
        # It maps the published names of weights, old and new, to its own.
        model = load_class(asked, CONFIG_MAPPING[kind].from_dict(facts.config))
    tokenizer = read_tokenizer(asked.directory / "tokenizer.json")
    return QwenReader(
        **reader_fields(asked, known, model, tokenizer, pad_id=model.generation_config.pad_token_id),
        resizing=read_resizing(asked.directory, kind),
        chat=CHATS[kind],
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QwenReader(TransformersReader):
    resizing: QwenResizing
    chat: ChatFormat

    def vision_encoder(self, mode: Mode) -> NativeEncoder:
        vision = QwenVision(self.model.model.visual, mean=self.resizing.mean, std=self.resizing.std)
        return NativeEncoder(vision, videos=True)

    def reference_features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' or videos' vision tokens as transformers' own class computes them."""
        return features(self.model.model.visual, pages, mean=self.resizing.mean, std=self.resizing.std)

    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns a page with its token ids. Raises: PromptError."""
        grids, temporal = map(grid_of, request.items), self.resizing.temporal
        prompt = vision_prompt(
            self.tokenizer, self.chat, request.prompt or self.prompt, *grids, temporal=temporal
        )
        return PromptedPage(request=request, prompt=prompt, num_tokens=len(prompt))

    def inputs(self, pages: Sequence[PromptedPage]) -> dict[str, Any]:
        return generation_inputs(self.model, pages, self.pad_id)


def generation_inputs(model: Any, pages: Sequence[PromptedPage], pad_id: int) -> dict[str, Any]:
    """Returns what generate() needs besides options: prompts padded on the left, shapes, and vision tokens."""

    def rows(values: Sequence[Sequence[int]], filler: int = 0) -> Tensor:
        return padded([torch.tensor(row, device=model.device) for row in values], filler)

    ids_BL = rows([page.prompt for page in pages], pad_id)
    marks = model.config.image_token_id, model.config.video_token_id
    inputs: dict[str, Any] = {
        "input_ids": ids_BL,
        "attention_mask": rows([[1] * page.num_tokens for page in pages]),
        "mm_token_type_ids": sum(kind * (ids_BL == mark) for kind, mark in enumerate(marks, 1)),
        "mm_encoder_outputs": {},
    }
    items = [item for page in pages for item in page.request.items]
    for kind in _KINDS:
        chosen = [vision for vision in items if grid_of(vision).kind == kind]
        if not chosen:
            continue
        grids = [grid_of(vision) for vision in chosen]
        inputs[f"{kind}_grid_thw"] = torch.tensor([grid.thw for grid in grids], device=model.device)
        inputs["mm_encoder_outputs"][kind] = encoder_output(model, chosen)
        if kind == "video" and model.config.model_type == "qwen2_5_vl":
            temporal = model.config.vision_config.temporal_patch_size
            seconds = [1.0 if its.timing is None else its.timing.seconds_per_patch(temporal) for its in grids]
            inputs["second_per_grid_ts"] = torch.tensor(seconds, device=model.device)
    return inputs


def encoder_output(model: Any, vision: Sequence[VisionTokens]) -> Any:
    """Returns what the model's get_image_features() would return, made of tokens [N, D * (1 + deepstack features)]."""
    width = model.config.text_config.hidden_size
    levels = [torch.split(its.tokens_TD, width, dim=-1) for its in vision]
    tokens, *deepstack = (list(level) for level in zip(*levels, strict=True))
    if model.config.model_type == "qwen2_5_vl":
        return BaseModelOutputWithPooling(pooler_output=tokens)
    return BaseModelOutputWithDeepstackFeatures(pooler_output=tokens, deepstack_features=deepstack)


def grid_of(vision: VisionTokens) -> VisionGrid:
    """Returns the grid that this family's encoder notes with a page's tokens."""
    assert isinstance(vision.note, VisionGrid), "vision tokens of another family"
    return vision.note
