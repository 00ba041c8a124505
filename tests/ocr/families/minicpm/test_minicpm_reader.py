"""MiniCPM-V behind the interface of a run: a batch of pages gives the plain implementation's tokens."""

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from ocr.families.minicpm.minicpm_reader import PROMPT
from ocr.families.registry import family_of
from tests.ocr.families.minicpm.plain_slicing import cut
from tests.ocr.families.minicpm.test_minicpm_model import QUESTION, pictures, plain_embeds
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
