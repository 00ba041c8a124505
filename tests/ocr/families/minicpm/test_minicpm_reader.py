"""MiniCPM-V behind the interface of a run: a batch of pages gives the plain implementation's tokens."""

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
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
from tests.ocr.families.opening import opened

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
    encoder = reader.vision_encoder("gundam")
    manager = EncoderGraphManager(encoder.paths, GraphSettings(), encoder.device)
    outputs = {name: encoder.encode(manager, name, views)[0] for name in encoder.path_names}
    requests = [
        PageRequest(vision=tokens, settings=DecodeSettings(ngram_size=0, loop_tokens=0))
        for tokens in encoder.assemble(views, outputs)
    ]
    limited = [
        PageRequest(
            vision=request.vision,
            settings=DecodeSettings(ngram_size=0, max_tokens=reader.prompted(request).num_tokens + NEW),
        )
        for request in requests
    ]
    for slots in (1, 3):
        found = {page.index: page for page in reader.engine(prompt="", num_slots=slots).read(limited)}
        for index, pixels in enumerate(images):
            source, slices, grid = cut(Image.fromarray(pixels), 6, scale=20, patch=4)
            expected = greedy(plain.llm, plain_embeds(plain, version, [source, *slices], grid), NEW)
            ends = [place for place, token in enumerate(expected) if token in reader.eos_ids]
            assert list(found[index].transcript.token_ids) == expected[: ends[0] if ends else NEW]


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
