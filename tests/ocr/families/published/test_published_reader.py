"""Published models behind the interface of a run: what they read is what transformers' own generate writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from encoders.types import VisionTokens
from encoders.views import PageViews
from ocr.decoding.requests import PageRead
from ocr.errors import CheckpointError
from ocr.families.published import published_reader
from ocr.families.published.published_reader import PublishedReader
from ocr.families.registry import family_of
from ocr.families.view_makers import WholePage
from tests.ocr.families.opening import encoded_by, loading, read_by
from tests.ocr.families.published.tiny_published import TYPES, save

NEW = 10
SIZES = ((280, 200), (150, 260), (90, 90))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {}


@pytest.fixture
def checkpoint(request: pytest.FixtureRequest, folders: dict[str, Path], tmp_path_factory: Any) -> Path:
    name = request.param
    if name not in folders:
        folders[name] = save(name, tmp_path_factory.mktemp(name))
    return folders[name]


def load(folder: Path, prompt: str | None = None) -> PublishedReader:
    return published_reader.load(loading(folder, prompt))


def pages() -> list[PageViews]:
    random = np.random.default_rng(0)
    return [
        WholePage(most_px=10**6)(random.integers(0, 256, (height, width, 3), np.uint8))
        for height, width in SIZES
    ]


def encoded(reader: PublishedReader, views: list[PageViews]) -> list[VisionTokens]:
    return encoded_by(reader.vision_encoder("gundam"), views)[0]


def read(reader: PublishedReader, tokens: list[VisionTokens], slots: int, **limits: Any) -> list[PageRead]:
    return read_by(reader, tokens, slots, NEW, **limits)


def generated(reader: PublishedReader, views: PageViews) -> list[int]:
    """What transformers writes of a page alone, pixels and all, in one call."""
    inputs = reader.prompting(views)
    ends = sorted(reader.eos_ids)
    output = reader.model.generate(**inputs, max_new_tokens=NEW, do_sample=False, eos_token_id=ends)
    tokens: list[int] = output[0, inputs["input_ids"].shape[1] :].tolist()
    return tokens[:-1] if tokens[-1] in ends else tokens


@pytest.mark.parametrize(
    "checkpoint",
    [name if name == "qwen3_vl" else pytest.param(name, marks=pytest.mark.slow) for name in TYPES],
    indirect=True,
)
def test_tokens_are_those_of_transformers_own_generate(checkpoint: Path) -> None:
    reader = load(checkpoint)
    views = pages()
    expected = [generated(reader, page) for page in views]
    if (
        checkpoint.name.rstrip("0123456789") != "granite_docling"
    ):  # this tiny one writes the same whatever it sees
        assert len({tuple(tokens) for tokens in expected}) > 1, "else the pages would make no difference"
    tokens = encoded(reader, views)
    for slots in (1, 3):
        found = read(reader, tokens, slots)
        assert [list(page.transcript.token_ids) for page in found] == expected
        assert all(page.prefill_s > 0 for page in found)


@pytest.mark.parametrize("checkpoint", ["lighton_ocr"], indirect=True)
def test_limits_of_a_page_hold_within_generate(checkpoint: Path) -> None:
    reader = load(checkpoint)
    tokens = encoded(reader, pages())
    free, banned = (read(reader, tokens, 3, ngram_size=size, ngram_window=99) for size in (0, 2))
    for page in banned:
        pairs = list(zip(page.transcript.token_ids, page.transcript.token_ids[1:], strict=False))
        assert len(set(pairs)) == len(pairs), "no pair of tokens occurs twice"
    assert [page.transcript.token_ids for page in free] != [page.transcript.token_ids for page in banned]
    drawn = [read(reader, tokens, 3, temperature=5.0, seed=seed) for seed in (1, 1, 2)]
    texts = [[page.transcript.token_ids for page in its] for its in drawn]
    assert texts[0] == texts[1] != texts[2]
    (page,) = read_by(reader, tokens[:1], 1, -1)
    assert (page.transcript.finish, page.transcript.token_ids) == ("length", ())


@pytest.mark.parametrize("checkpoint", ["qwen3_vl"], indirect=True)
def test_a_users_prompt_stands_where_the_user_puts_the_page(checkpoint: Path) -> None:
    reader = load(checkpoint, "Look:\n<image>")
    views = pages()[0]
    text = reader.tokenizer.decode(
        reader.prompting(views)["input_ids"][0].tolist(),
        skip_special_tokens=False,
    )
    assert "user\nLook:<|vision_start|><|image_pad|>" in text
    own = encoded(load(checkpoint), [views])[0].note
    assert own.inputs["input_ids"].shape != encoded(reader, [views])[0].note.inputs["input_ids"].shape  # type: ignore[attr-defined]


@pytest.mark.parametrize("checkpoint", ["lighton_ocr"], indirect=True)
def test_the_type_that_is_published_is_not_the_class_that_holds_the_weights(
    checkpoint: Path, tmp_path: Path
) -> None:
    """LightOnOCR's config.json says mistral3, whose class would leave the vision encoder at random."""
    for path in checkpoint.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "mistral3"}))
    one, other = (encoded(load(folder), pages()[:1])[0].tokens_TD for folder in (checkpoint, tmp_path))
    assert torch.equal(one, other)


def test_an_unknown_type_is_told_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(CheckpointError, match=r"model_type is 'gpt2'.*DeepSeek-OCR.*models\.yaml"):
        family_of(tmp_path)
