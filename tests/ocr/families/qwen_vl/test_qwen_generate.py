"""Token by token: generate() from our vision tokens, and transformers' own from pixels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.native.native_encoder import NativeEncoder
from encoders.native.towers import QwenVision
from encoders.video_timing import VideoTiming
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.families.generation.generate_engine import PromptedPage
from ocr.families.qwen_vl.qwen_reader import CHATS, encoder_output, generation_inputs, grid_of, vision_prompt
from tests.encoders.graphs.eager_capture import Winning
from tests.encoders.native.test_qwen_encoder import image_page, video_page
from tests.encoders.native.tiny_qwen import MEAN, MODELS, STD, draw, patchified
from tests.ocr.families.qwen_vl.tiny_models import PAD, TURN_END, tiny_model, tiny_tokenizer, token_id

PROMPTS = ["Read it.", "<image>\nAll the text, please, from top to bottom.", "What does <image> say?"]
STEPS = 16
KINDS = {token_id("<|image_pad|>"): 1, token_id("<|video_pad|>"): 2}
TIMING = {
    frames: VideoTiming(rate=6.0, total=4 * frames, indices=tuple(range(0, 4 * frames, 4)))
    for frames in (3, 4, 5)
}


def requests_of(model: str, frames: Sequence[Tensor]) -> list[PromptedPage]:
    """Encoded through graphs, all in one call. One frame is an image."""
    vision = QwenVision(tiny_model(model).model.visual, mean=MEAN, std=STD)
    encoder = NativeEncoder(vision, videos=True, least_tokens=4)
    settings = GraphSettings(budgets={"image": [64], "video": [64]}, repeats=1)
    manager = EncoderGraphManager(encoder.paths, settings, encoder.device, Winning())
    manager.warm_up({"image": ["any"], "video": ["any"]})
    pages = [image_page(its) if len(its) == 1 else video_page(its) for its in frames]
    outputs = {path.name: encoder.encode(manager, path.name, pages)[0] for path in encoder.paths}
    assert sum(stats.hits for stats in manager.stats().values()) == len(pages)
    requests = []
    for index, vision in enumerate(encoder.assemble(pages, outputs)):
        timing = TIMING.get(len(frames[index]))
        timed = replace(vision, note=replace(grid_of(vision), timing=timing))
        prompt = vision_prompt(
            tiny_tokenizer(),
            CHATS[f"{model}_vl"],
            PROMPTS[index % len(PROMPTS)],
            grid_of(timed),
        )
        request = PageRequest(vision=timed, settings=DecodeSettings())
        requests.append(PromptedPage(request=request, prompt=prompt, num_tokens=len(prompt)))
    return requests


def transformers_own(
    model: str, requests: Sequence[PromptedPage], frames: Sequence[Tensor], **options: Any
) -> list[list[int]]:
    """The tokens of its own generate(), from pixels, in one batch."""
    whole = tiny_model(model)
    longest = max(len(request.prompt) for request in requests)
    rows = [(request.prompt, longest - len(request.prompt)) for request in requests]
    inputs: dict[str, Any] = {
        "input_ids": torch.tensor([[PAD] * short + list(prompt) for prompt, short in rows]),
        "attention_mask": torch.tensor([[0] * short + [1] * (longest - short) for _, short in rows]),
        "mm_token_type_ids": torch.tensor(
            [[0] * short + [KINDS.get(token, 0) for token in prompt] for prompt, short in rows]
        ),
    }
    for kind, pixels in (("image", "pixel_values"), ("video", "pixel_values_videos")):
        chosen = [its for its in frames if (len(its) == 1) == (kind == "image")]
        if chosen:
            inputs[pixels] = torch.cat([patchified(its)[0] for its in chosen])
            inputs[f"{kind}_grid_thw"] = torch.tensor([patchified(its)[1] for its in chosen])
    if "video_grid_thw" in inputs and model == "qwen2_5":
        timings = [grid_of(item).timing for page in requests for item in page.request.items]
        seconds = [timing.seconds_per_patch(2) for timing in timings if timing is not None]
        inputs["second_per_grid_ts"] = torch.tensor(seconds)
    return answers(whole, inputs, **options)


def generate(model: Any, requests: Sequence[PromptedPage], **options: Any) -> list[list[int]]:
    """The tokens from our vision tokens, in one batch."""
    return answers(model, generation_inputs(model, requests, PAD), **options)


def answers(model: Any, inputs: dict[str, Any], **options: Any) -> list[list[int]]:
    with torch.no_grad():
        rows = model.generate(**inputs, pad_token_id=PAD, **options)[
            :, inputs["input_ids"].shape[1] :
        ].tolist()
    return [row[: row.index(TURN_END) + 1] if TURN_END in row else row for row in rows]


BATCHES = {
    "an image": [draw(1, 4, 5)],
    "a video": [draw(4, 3, 3)],
    "a video of an odd number of frames": [draw(5, 2, 4)],
    "images": [draw(1, 4, 5), draw(1, 2, 3), draw(1, 6, 2)],
    "videos": [draw(4, 2, 3), draw(3, 4, 2), draw(5, 2, 2)],
    "images and videos": [draw(1, 4, 5, 1), draw(5, 2, 3), draw(1, 2, 3, 1)],
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("batch", BATCHES)
def test_greedy_tokens_equal_transformers(model: str, batch: str) -> None:
    frames = BATCHES[batch]
    requests = requests_of(model, frames)
    options = {"max_new_tokens": STEPS, "do_sample": False}
    ours = generate(tiny_model(model), requests, **options)
    assert ours == transformers_own(model, requests, frames, **options)
    assert max(map(len, ours)) > STEPS // 2, "an answer that ends at once shows little"


@pytest.mark.parametrize("model", MODELS)
def test_images_and_videos_of_one_prompt_as_transformers_reads_them(model: str) -> None:
    """Three items in one prompt, beside a page alone; all were encoded together, through graphs."""
    frames = BATCHES["images and videos"]
    alone = requests_of(model, frames)
    visions = [page.request.vision for page in alone]
    request = PageRequest(vision=visions[0], beside=tuple(visions[1:]), settings=DecodeSettings())
    grids = map(grid_of, visions)
    prompt = vision_prompt(
        tiny_tokenizer(), CHATS[f"{model}_vl"], "See <image>, <image> and <image>.", *grids
    )
    several = PromptedPage(request=request, prompt=prompt, num_tokens=len(prompt))
    options = {"max_new_tokens": STEPS, "do_sample": False}
    ours = generate(tiny_model(model), [several, alone[1]], **options)
    assert ours == transformers_own(model, [several, alone[1]], [*frames, frames[1]], **options)
    assert len(ours[0]) > STEPS // 2, "an answer that ends at once shows little"
    swapped = replace(several, request=replace(request, vision=visions[2], beside=(visions[1], visions[0])))
    assert generate(tiny_model(model), [swapped], **options) != ours[:1], "their order matters"


@pytest.mark.parametrize("model", MODELS)
def test_one_by_one_as_in_a_batch(model: str) -> None:
    """Left padding changes nothing; and the pixels matter."""
    frames = BATCHES["images and videos"]
    requests = requests_of(model, frames)
    together = generate(tiny_model(model), requests, max_new_tokens=STEPS, do_sample=False)
    for request, expected in zip(requests, together, strict=True):
        alone = generate(tiny_model(model), [request], max_new_tokens=STEPS, do_sample=False)
        assert alone == [expected]
    others = requests_of(model, [255 - its for its in frames])
    assert generate(tiny_model(model), others, max_new_tokens=STEPS, do_sample=False) != together


@pytest.mark.parametrize("model", MODELS)
def test_features_are_those_of_the_model(model: str) -> None:
    """Each of transformers' own features, by name: tokens a unit, and the levels of deepstack."""
    frames = [draw(3, 3, 3), draw(4, 2, 5)]
    requests = requests_of(model, frames)
    whole = tiny_model(model)
    grids = torch.tensor([patchified(its)[1] for its in frames])
    with torch.no_grad():
        expected = whole.get_video_features(torch.cat([patchified(its)[0] for its in frames]), grids)
    ours = encoder_output(whole, [page.request.vision for page in requests])
    for mine, its in zip(ours.pooler_output, expected.pooler_output, strict=True):
        assert torch.allclose(mine, its, atol=1e-5, rtol=1e-5)
    levels = expected.get("deepstack_features", [])
    assert len(levels) == (2 if model == "qwen3" else 0)
    for mine, its in zip(ours.get("deepstack_features", []), levels, strict=True):
        assert len(mine) == 2
        for one, other in zip(mine, its, strict=True):
            assert torch.allclose(one, other, atol=1e-5, rtol=1e-5)
    assert ("second_per_grid_ts" in generation_inputs(whole, requests, PAD)) == (model == "qwen2_5")
