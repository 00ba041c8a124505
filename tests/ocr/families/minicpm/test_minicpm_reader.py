"""MiniCPM-V behind the interface of a run: a batch of pages gives the plain implementation's tokens."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.families.minicpm.minicpm_model import PROMPT
from ocr.families.registry import family_of
from tests.ocr.families.minicpm.plain_prompts import plain_prompt_of_several
from tests.ocr.families.minicpm.plain_slicing import cut
from tests.ocr.families.minicpm.test_minicpm_model import QUESTION, pictures, plain_embeds, plain_tokens
from tests.ocr.families.minicpm.tiny_minicpm import (
    VERSIONS,
    config_json,
    greedy,
    plain_model,
    save,
    tokenizer,
)
from tests.ocr.families.opening import encoded_by, opened, read_by

NEW = 6
PAGES = [(30, 44), (90, 60), (17, 80)]


@torch.inference_mode()
@pytest.mark.parametrize("version", VERSIONS)
def test_a_batch_of_pages_reads_as_the_plain_model_does(version: str, tmp_path: Path) -> None:
    config = config_json(version)
    plain = plain_model(version, config)
    save(plain, config, tmp_path)
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    family = family_of(tmp_path)
    reader: Any = opened(tmp_path, QUESTION)
    images, rule = pictures(PAGES), family.view_maker(tmp_path)
    assert rule is not None
    views = [rule(pixels) for pixels in images]
    tokens, _ = encoded_by(reader.vision_encoder("gundam"), views)
    for slots in (1, 3):
        found = read_by(reader, tokens, slots, NEW)
        for page, pixels in zip(found, images, strict=True):
            source, slices, grid = cut(Image.fromarray(pixels), 6, scale=20, patch=4)
            expected = greedy(plain.llm, plain_embeds(plain, version, [source, *slices], grid), NEW)
            ends = [place for place, token in enumerate(expected) if token in reader.eos_ids]
            assert list(page.transcript.token_ids) == expected[: ends[0] if ends else NEW]


@torch.inference_mode()
def test_pages_of_one_prompt_read_as_the_plain_model_does(tmp_path: Path) -> None:
    """Beside a page of its own in the same batch."""
    config = config_json("2.6")
    plain = plain_model("2.6", config)
    save(plain, config, tmp_path)
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    reader: Any = opened(tmp_path, QUESTION)
    images, rule = pictures(PAGES), family_of(tmp_path).view_maker(tmp_path)
    assert rule is not None
    tokens, _ = encoded_by(reader.vision_encoder("gundam"), [rule(pixels) for pixels in images])
    settings = DecodeSettings(ngram_size=0, loop_tokens=0)
    several = PageRequest(vision=tokens[0], beside=tuple(tokens[1:]), settings=settings)
    several = replace(
        several, settings=replace(settings, max_tokens=reader.prompted(several).num_tokens + NEW)
    )
    found = {page.index: page for page in reader.engine(prompt="", num_slots=2).read(
        [several, PageRequest(vision=tokens[1], settings=replace(settings, max_tokens=300))]
    )}  # fmt: skip

    cuts = [cut(Image.fromarray(pixels), 6, scale=20, patch=4) for pixels in images]
    ids, places = plain_prompt_of_several(tokenizer(), "2.6", QUESTION, 4, [grid for *_, grid in cuts])
    embeds = plain.llm.get_input_embeddings()(torch.tensor(ids)).clone()
    seen = [plain_tokens(plain, [source, *slices]) for source, slices, _ in cuts]
    embeds[places] = torch.cat(seen)
    expected = greedy(plain.llm, embeds, NEW)
    ends = [place for place, token in enumerate(expected) if token in reader.eos_ids]
    assert list(found[0].transcript.token_ids) == expected[: ends[0] if ends else NEW]
    source, slices, grid = cuts[1]
    alone = greedy(plain.llm, plain_embeds(plain, "2.6", [source, *slices], grid), NEW)
    assert list(found[1].transcript.token_ids)[:2] == alone[:2] != expected[:2]


@torch.inference_mode()
def test_an_image_beside_a_video_reads_as_the_plain_model_does(tmp_path: Path) -> None:
    config, groups = config_json("4.5"), [[0, 3, 7], [9, 12, 15], [20]]
    plain = plain_model("4.5", config)
    save(plain, config, tmp_path)
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    reader: Any = opened(tmp_path, QUESTION)
    (image,), frames = pictures(PAGES[1:2]), np.stack(pictures([(40, 25)] * 7))
    rule: Any = family_of(tmp_path).view_maker(tmp_path)
    (first, video), _ = encoded_by(
        reader.vision_encoder("gundam"), [rule(image), rule.frames(frames, groups)]
    )
    settings = DecodeSettings(ngram_size=0, loop_tokens=0)
    both = PageRequest(vision=first, beside=(video,), prompt="<image> or <image>?", settings=settings)
    asked = reader.prompted(both)
    (found,) = reader.engine(prompt="", num_slots=1).read(
        [replace(both, settings=replace(settings, max_tokens=asked.num_tokens + NEW))]
    )
    source, slices, _ = cut(Image.fromarray(image), 6, scale=20, patch=4)
    shown = [cut(Image.fromarray(frame), 1, scale=20, patch=4)[0] for frame in frames]
    embeds = plain.llm.get_input_embeddings()(torch.tensor(asked.prompt.ids)).clone()
    embeds[list(asked.prompt.places)] = torch.cat(
        [plain_tokens(plain, [source, *slices]), plain_tokens(plain, shown, groups)]
    )
    expected = greedy(plain.llm, embeds, NEW)
    ends = [place for place, token in enumerate(expected) if token in reader.eos_ids]
    assert list(found.transcript.token_ids) == expected[: ends[0] if ends else NEW]


def test_the_prompt_is_the_users_if_there_is_one(tmp_path: Path) -> None:
    config = config_json("2.6")
    save(plain_model("2.6", config), config, tmp_path)
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    prompts = []
    for prompt in (None, "Read <image>"):
        reader: Any = opened(tmp_path, prompt)
        prompts.append(reader.prompt)
        assert reader.output_format.name == "markdown"
    assert prompts == [PROMPT, "Read <image>"]
