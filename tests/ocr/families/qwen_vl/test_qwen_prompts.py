"""Compared with transformers' processors, whose text part works without torchvision."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.models.qwen2_5_vl.processing_qwen2_5_vl import Qwen2_5_VLProcessor
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
from transformers.processing_utils import ProcessorMixin
from transformers.video_utils import VideoMetadata

from encoders.native.vision_grid import VisionGrid
from encoders.video_timing import VideoTiming
from ocr.families.qwen_vl.qwen_reader import (
    CHATS,
    ChatFormat,
    chat_text,
    vision_prompt,
)
from ocr.families.qwen_vl.qwen_resizing import sampled
from ocr.model.prompt import PromptError
from tests.ocr.families.qwen_vl.tiny_models import tiny_tokenizer, token_id

PROMPT = "Read <image> aloud.\nAll of it."
IMAGE = VisionGrid(kind="image", frames=1, rows=6, columns=10, merge=2)
VIDEO = VisionGrid(kind="video", frames=3, rows=4, columns=6, merge=2)
# The part of the published chat templates that one user turn with an image or a video goes through, in jinja.
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and system and message['role'] != 'system' %}"
    "<|im_start|>system\n{{ system }}<|im_end|>\n{% endif %}<|im_start|>{{ message['role'] }}\n"
    "{% for content in message['content'] %}{% if content['type'] == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% elif content['type'] == 'video' %}"
    "<|vision_start|><|video_pad|><|vision_end|>{% else %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def text_of(chat: ChatFormat, kind: str, pieces: list[str]) -> str:
    """The chat template's text, with one pad. pieces: of the prompt, before and after the image."""
    return content_text(
        chat, {"type": "text", "text": pieces[0]}, {"type": kind}, {"type": "text", "text": pieces[1]}
    )


def content_text(chat: ChatFormat, *content: dict[str, str]) -> str:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tiny_tokenizer())
    rendered: str = tokenizer.apply_chat_template(
        [{"role": "user", "content": content}],
        chat_template=TEMPLATE,
        tokenize=False,
        add_generation_prompt=True,
        system=chat.system,
    )
    return rendered


def processors_ids(
    kind: type[ProcessorMixin], text: str, grid: VisionGrid, timing: VideoTiming | None
) -> tuple[int, ...]:
    return processors_ids_of(kind, text, replace(grid, timing=timing))


def processors_ids_of(kind: type[ProcessorMixin], text: str, *grids: VisionGrid) -> tuple[int, ...]:
    """The ids that a processor makes of the text. Its tokenizer and its knowledge of shapes are all it needs."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tiny_tokenizer())
    sizes = SimpleNamespace(merge_size=2, temporal_patch_size=2)
    processor: Any = object.__new__(kind)
    markers = {
        name: f"<|{name.removesuffix('_token')}|>" for name in ("vision_start_token", "vision_end_token")
    }
    pads = {"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"}
    ids = {f"{name}_id": token_id(pad) for name, pad in pads.items()}
    vars(processor).update(markers | pads | ids, image_processor=sizes, video_processor=sizes)
    by_kind = {its: [grid for grid in grids if grid.kind == its] for its in ("image", "video")}
    inputs: dict[str, Any] = {
        f"{its}_grid_thw": torch.tensor([grid.thw for grid in found]) for its, found in by_kind.items()
    }
    inputs["video_metadata"] = [
        VideoMetadata(total_num_frames=timing.total, fps=timing.rate, frames_indices=list(timing.indices))
        for grid in by_kind["video"]
        if (timing := grid.timing) is not None
    ]
    replacements = {
        f"{its}s_replacements": [
            getattr(processor, f"replace_{its}_token")(inputs, number) for number in range(len(found))
        ]
        for its, found in by_kind.items()
    }
    expanded, _ = processor.get_text_with_replacements([text], **replacements)
    encoded = tokenizer(expanded, add_special_tokens=False)["input_ids"]
    return tuple(encoded[0])


@pytest.mark.parametrize(
    ("chat", "processor"), [(CHATS["qwen3_vl"], Qwen3VLProcessor), (CHATS["qwen2_5_vl"], Qwen2_5_VLProcessor)]
)
@pytest.mark.parametrize("prompt", [PROMPT, "<image>Read it.", "Read it: <image>"])
def test_images_as_the_processor_writes_them(
    chat: ChatFormat, processor: type[ProcessorMixin], prompt: str
) -> None:
    ours = vision_prompt(tiny_tokenizer(), chat, prompt, IMAGE)
    expected = processors_ids(processor, text_of(chat, "image", prompt.split("<image>")), IMAGE, None)
    assert ours == expected
    assert ours.count(token_id("<|image_pad|>")) == IMAGE.num_tokens == 15


@pytest.mark.parametrize(
    ("chat", "processor"), [(CHATS["qwen3_vl"], Qwen3VLProcessor), (CHATS["qwen2_5_vl"], Qwen2_5_VLProcessor)]
)
@pytest.mark.parametrize("timing", [VideoTiming.of_every_frame(5), sampled(70, 29.97, least=6)])
def test_videos_as_the_processor_writes_them(
    chat: ChatFormat, processor: type[ProcessorMixin], timing: VideoTiming
) -> None:
    """Ids of 5 or 6 frames, of which an odd last one is repeated."""
    ours = vision_prompt(tiny_tokenizer(), chat, PROMPT, replace(VIDEO, timing=timing))
    expected = processors_ids(processor, text_of(chat, "video", PROMPT.split("<image>")), VIDEO, timing)
    assert ours == expected
    assert ours.count(token_id("<|video_pad|>")) == VIDEO.num_tokens == 18


@pytest.mark.parametrize(
    ("chat", "processor"), [(CHATS["qwen3_vl"], Qwen3VLProcessor), (CHATS["qwen2_5_vl"], Qwen2_5_VLProcessor)]
)
@pytest.mark.parametrize("places", ["<image>", "<image> then <image>, and <image>"])
def test_images_and_a_video_in_one_prompt_as_the_processor_writes_them(
    chat: ChatFormat, processor: type[ProcessorMixin], places: str
) -> None:
    """All in one place, or each in its own; their order is the prompt's."""
    small = replace(IMAGE, rows=2, columns=4)
    video = replace(VIDEO, timing=sampled(70, 29.97, least=6))
    ours = vision_prompt(tiny_tokenizer(), chat, f"See {places}?", IMAGE, video, small)
    words = places.split("<image>")[1:]
    between = words if len(words) == 3 else ["", "", *words]
    kinds = ("image", "video", "image")
    parts = [
        ({"type": kind}, {"type": "text", "text": text}) for kind, text in zip(kinds, between, strict=True)
    ]
    content = [{"type": "text", "text": "See "}, *(one for part in parts for one in part)]
    text = content_text(chat, *content, {"type": "text", "text": "?"})
    assert ours == processors_ids_of(processor, text, IMAGE, video, small)
    assert ours.count(token_id("<|image_pad|>")) == 15 + 2


def test_stamps_of_a_video() -> None:
    timing = VideoTiming(rate=2.0, total=9, indices=(0, 2, 4, 6, 8))
    ids = vision_prompt(tiny_tokenizer(), CHATS["qwen3_vl"], "<image>?", replace(VIDEO, timing=timing))
    text = tiny_tokenizer().decode(list(ids), skip_special_tokens=False).replace(" ", "")
    frame = "<|vision_start|>" + "<|video_pad|>" * 6 + "<|vision_end|>"
    stamps = ["<0.5seconds>", "<2.5seconds>", "<4.0seconds>"]
    inner = "".join(stamp + frame for stamp in stamps)
    assert f"<|vision_start|>{inner}<|vision_end|>?<|im_end|>" in text


def test_without_a_tag_the_image_comes_first() -> None:
    tokenizer = tiny_tokenizer()
    assert vision_prompt(tokenizer, CHATS["qwen3_vl"], "Read.", IMAGE) == vision_prompt(
        tokenizer, CHATS["qwen3_vl"], "<image>Read.", IMAGE
    )
    assert chat_text(CHATS["qwen2_5_vl"], "Read.", "X") == (
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nXRead.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_prompts_that_cannot_be_used() -> None:
    tokenizer, other = tiny_tokenizer(), Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    with pytest.raises(PromptError, match="2 times"):
        vision_prompt(tokenizer, CHATS["qwen3_vl"], "<image> and <image>", IMAGE)
    with pytest.raises(PromptError, match=r"2 times.*of which there are 3"):
        vision_prompt(tokenizer, CHATS["qwen3_vl"], "<image> and <image>", IMAGE, VIDEO, IMAGE)
    with pytest.raises(PromptError, match=r"has 1 tokens <\|video_pad\|>, expected 0"):
        vision_prompt(tokenizer, CHATS["qwen3_vl"], "What is <|video_pad|>?", IMAGE)
    with pytest.raises(PromptError, match=r"has 2 tokens <\|image_pad\|>, expected 1"):
        vision_prompt(tokenizer, CHATS["qwen3_vl"], "What is <|image_pad|>?", IMAGE)
    with pytest.raises(PromptError, match=r"has 0 tokens <\|image_pad\|>"):
        vision_prompt(other, CHATS["qwen3_vl"], "a", IMAGE)
    with pytest.raises(PromptError, match="3 patches in time with the times of 8 frames"):
        vision_prompt(tokenizer, CHATS["qwen3_vl"], "a", replace(VIDEO, timing=VideoTiming.of_every_frame(8)))
