"""Qwen-VL as a run uses it: transformers' classes hold the weights, our encoder runs over them.

Positions, cache and sampling remain transformers': it is handed vision tokens where it would have run its encoder. A
prompt is one user turn with images and videos, and the beginning of the answer.

Source: the models' chat templates; transformers, processing_qwen3_vl.py and processing_qwen2_5_vl.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import CONFIG_MAPPING
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.models.qwen3_vl.modeling_qwen3_vl import BaseModelOutputWithDeepstackFeatures

from encoders.native.native_encoder import NativeEncoder
from encoders.native.towers import QwenVision
from encoders.native.vision_grid import Kind, VisionGrid
from encoders.types import VisionTokens
from encoders.video_timing import VideoTiming
from encoders.views import PageViews
from ocr.decoding.requests import PageRequest
from ocr.families.catalogue.known_model import known_model
from ocr.families.family import Loading
from ocr.families.generation.generate_engine import PromptedPage, TransformersReader, padded
from ocr.families.generation.transformers_loading import load_class, reader_fields, refusals
from ocr.families.qwen_vl.qwen_reference import features
from ocr.families.qwen_vl.qwen_resizing import QwenResizing, read_resizing
from ocr.imaging.tiling import Mode
from ocr.model.prompt import PromptError, placed
from ocr.model_files.locate import read_tokenizer

_KINDS: tuple[Kind, ...] = ("image", "video")
PADS: dict[Kind, str] = {"image": "<|image_pad|>", "video": "<|video_pad|>"}
_START, _END = "<|vision_start|>", "<|vision_end|>"
_TURN_START, _TURN_END = "<|im_start|>", "<|im_end|>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFormat:
    """The chat template of a model.

    system: the text of a system turn, None for no such turn. stamps: whether each temporal patch of a video has its
    time before it and markers of its own, which others enclose once more.
    """

    system: str | None
    stamps: bool


# By type; olmOCR-2 and Nanonets-OCR2 are of the second.
CHATS = {
    "qwen3_vl": ChatFormat(system=None, stamps=True),
    "qwen2_5_vl": ChatFormat(system="You are a helpful assistant.", stamps=False),
}


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


def vision_prompt(
    tokenizer: Tokenizer, chat: ChatFormat, prompt: str, *grids: VisionGrid, temporal: int = 2
) -> tuple[int, ...]:
    """Returns the token ids of a prompt about images and videos, with as many pads as there are vision tokens.

    prompt: the user's text. They stand where it says `<image>`, see ocr.model.prompt.placed. grids: in their order;
    the temporal patches of a video without a timing are full and follow each other at the default rate. temporal:
    frames in a patch.

    Raises: PromptError for another number of places than of grids, or if the tokenizer is not of such a model.
    """
    texts = [_vision_text(chat, grid, temporal) for grid in grids]
    ids = tokenizer.encode(
        chat_text(chat, prompt, *(text for text, _ in texts)), add_special_tokens=False
    ).ids
    pads = {kind: tokenizer.token_to_id(pad) for kind, pad in PADS.items()}
    for kind, pad_id in pads.items():
        expected = sum(
            len(counts) for grid, (_, counts) in zip(grids, texts, strict=True) if grid.kind == kind
        )
        if (found := 0 if pad_id is None else ids.count(pad_id)) != expected:
            raise PromptError(
                f"the prompt has {found} tokens {PADS[kind]}, expected {expected}: leave that text out of it, and use "
                "the tokenizer.json of the model"
            )
    left = chain.from_iterable(counts for _, counts in texts)
    return tuple(
        chain.from_iterable([token] * (next(left) if token in pads.values() else 1) for token in ids)
    )


def chat_text(chat: ChatFormat, prompt: str, *vision: str) -> str:
    """Returns the turns as text. vision: stand for images and videos. Raises: PromptError, see placed()."""
    content = placed(prompt, vision)
    system = "" if chat.system is None else f"{_TURN_START}system\n{chat.system}{_TURN_END}\n"
    return f"{system}{_TURN_START}user\n{content}{_TURN_END}\n{_TURN_START}assistant\n"


def _vision_text(chat: ChatFormat, grid: VisionGrid, temporal: int) -> tuple[str, list[int]]:
    """Returns the text that stands for the image or video, and for how many tokens each of its pads stands.

    Raises: PromptError for a timing of another number of frames.
    """
    pad = PADS[grid.kind]
    if grid.kind == "image" or not chat.stamps:
        return f"{_START}{pad}{_END}", [grid.num_tokens]
    timing = grid.timing or VideoTiming.of_every_frame(grid.frames * temporal)
    stamps = timing.stamps(temporal)
    if len(stamps) != grid.frames:
        raise PromptError(
            f"a video of {grid.frames} patches in time with the times of {len(timing.indices)} frames"
        )
    patches = "".join(f"<{stamp:.1f} seconds>{_START}{pad}{_END}" for stamp in stamps)
    return f"{_START}{patches}{_END}", [grid.frame_tokens] * grid.frames
