"""What transformers' own generate() needs to read pages and videos from vision tokens computed beforehand.

Positions, cache and sampling remain transformers': it is handed the tokens where it would have run its vision encoder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from encoders.native.vision_grid import Kind, VisionGrid
from encoders.types import VisionTokens
from ocr.families.generation.generate_engine import padded
from ocr.families.qwen_vl.qwen_prompts import VisionPrompt

_KINDS: tuple[Kind, ...] = ("image", "video")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VisionRequest:
    """One image or video to be read. vision: its tokens, with its VisionGrid as their note.

    seconds_per_patch: VideoTiming's, of a video read by Qwen2.5-VL; None for one second.
    """

    prompt: VisionPrompt
    vision: VisionTokens
    seconds_per_patch: float | None = None

    @property
    def grid(self) -> VisionGrid:
        assert isinstance(self.vision.note, VisionGrid), "vision tokens of another family"
        return self.vision.note


def generation_inputs(model: Any, requests: Sequence[VisionRequest], pad_id: int) -> dict[str, Any]:
    """Returns what generate() needs besides options: prompts padded on the left, shapes, and vision tokens."""
    device = model.device
    inputs: dict[str, Any] = {
        "input_ids": _padded([request.prompt.token_ids for request in requests], pad_id, device),
        "attention_mask": _padded([[1] * len(request.prompt.token_ids) for request in requests], 0, device),
        "mm_token_type_ids": _padded([request.prompt.kinds for request in requests], 0, device),
        "mm_encoder_outputs": {},
    }
    for kind in _KINDS:
        chosen = [request for request in requests if request.grid.kind == kind]
        if not chosen:
            continue
        inputs[f"{kind}_grid_thw"] = torch.tensor([request.grid.thw for request in chosen], device=device)
        inputs["mm_encoder_outputs"][kind] = encoder_output(model, [request.vision for request in chosen])
        if kind == "video" and model.config.model_type == "qwen2_5_vl":
            seconds = [1.0 if (its := request.seconds_per_patch) is None else its for request in chosen]
            inputs["second_per_grid_ts"] = torch.tensor(seconds, device=device)
    return inputs


def encoder_output(model: Any, vision: Sequence[VisionTokens]) -> Any:
    """Returns what the model's get_image_features() would return, made of tokens [N, D * (1 + deepstack features)]."""
    width = model.config.text_config.hidden_size
    levels = [torch.split(its.tokens_TD, width, dim=-1) for its in vision]
    tokens, *deepstack = (list(level) for level in zip(*levels, strict=True))
    if model.config.model_type == "qwen2_5_vl":
        from transformers.modeling_outputs import BaseModelOutputWithPooling

        return BaseModelOutputWithPooling(pooler_output=tokens)
    from transformers.models.qwen3_vl.modeling_qwen3_vl import BaseModelOutputWithDeepstackFeatures

    return BaseModelOutputWithDeepstackFeatures(pooler_output=tokens, deepstack_features=deepstack)


def _padded(rows: Sequence[Sequence[int]], filler: int, device: torch.device) -> Tensor:
    return padded([torch.tensor(row, device=device) for row in rows], filler)
