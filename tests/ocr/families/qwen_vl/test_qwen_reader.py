"""Qwen-VL behind the interface of a run: our encoder and prompts, and the tokens that transformers writes by itself."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from ocr.families.published.processors import load_processor
from ocr.families.registry import family_of
from tests.ocr.families.opening import encoded_by, opened, read_by
from tests.ocr.families.published.tiny_published import save

NEW = 8
QUESTION = "Read this."
SYSTEM = {"role": "system", "content": [{"type": "text", "text": "You are a helpful assistant."}]}


@torch.inference_mode()
@pytest.mark.parametrize("model_type", ["qwen3_vl", "qwen2_5_vl"])
def test_a_batch_of_pages_reads_as_transformers_does(model_type: str, tmp_path: Path) -> None:
    save(model_type, tmp_path)
    family = family_of(tmp_path)
    assert family.name == "Qwen3-VL and Qwen2.5-VL"
    reader: Any = opened(tmp_path, QUESTION)
    assert reader.output_format.name == "markdown"
    random = np.random.default_rng(0)
    images = [random.integers(0, 256, (*size, 3), np.uint8) for size in ((280, 200), (150, 260), (99, 70))]
    maker = family.view_maker(tmp_path)
    assert maker is not None
    views = [maker(pixels) for pixels in images]
    tokens, _ = encoded_by(reader.vision_encoder("gundam"), views)
    expected = [
        _generated(reader, tmp_path, pixels, with_system=model_type == "qwen2_5_vl") for pixels in images
    ]
    assert len({tuple(tokens) for tokens in expected}) > 1, "else the pages would make no difference"
    for slots in (1, 3):
        found = read_by(reader, tokens, slots, NEW)
        assert [list(page.transcript.token_ids) for page in found] == expected


def _generated(reader: Any, folder: Path, pixels: np.ndarray[Any, Any], *, with_system: bool) -> list[int]:
    """What transformers writes of a page alone, with its own processor and vision encoder."""
    processor = load_processor(folder)
    content = [{"type": "image"}, {"type": "text", "text": QUESTION}]
    turns = [*([SYSTEM] if with_system else []), {"role": "user", "content": content}]
    text = processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    inputs = processor(text=[text], images=[[Image.fromarray(pixels)]], return_tensors="pt")
    output = reader.model.generate(**inputs, max_new_tokens=NEW, do_sample=False)
    tokens: list[int] = output[0, inputs["input_ids"].shape[1] :].tolist()
    ends = [place for place, token in enumerate(tokens) if token in reader.eos_ids]
    return tokens[: ends[0]] if ends else tokens
