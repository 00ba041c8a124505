import random
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from encoders.deepseek.deep_encoder import DeepEncoder
from ocr.model.prompt import encode_prompt
from ocr.training.sampling_pages.loader import Batch, collate
from ocr.training.sampling_pages.samples import Sampler, View
from ocr.training.trainer.batch_inputs import PROMPTS, make_rows, make_views, prompt_ids
from tests.ocr.tiny import TINY

BOS, EOS, PROMPT = 0, 1, [7, 8, 9]


def batch(
    corpus: Path, tokenizer: Tokenizer, characters: str, view: View, count: int = 2, *, empty: float = 0.0
) -> Batch:
    sampler, rng = Sampler(corpus, tokenizer, characters, split="train", font_split="train"), random.Random(2)
    samples = []
    while len(samples) < count:
        sample = sampler.draw(rng, view, empty=empty)
        samples += [sample] if sample is not None else []
    return collate(samples)


def test_rows_hold_prompt_text_and_end(corpus: Path, tokenizer: Tokenizer, characters: str) -> None:
    made = batch(corpus, tokenizer, characters, "page")
    rows = make_rows(made, PROMPT, BOS, EOS)
    for i in range(2):
        text = made.ids[i][made.ids[i] >= 0].tolist()
        assert rows.label[i][rows.label[i] >= 0].tolist() == [*text, EOS]
        num_vision = int((rows.feature[i] >= 0).sum())
        start = 1 + num_vision + len(PROMPT)
        assert rows.token[i, 0] == BOS
        assert rows.token[i, 1 + num_vision : start].tolist() == PROMPT
        assert rows.token[i, start : start + len(text)].tolist() == text
        # What is predicted at a position is what stands at the next one.
        at = torch.nonzero(rows.label[i] >= 0)[:-1, 0]
        assert torch.equal(rows.label[i, at], rows.token[i, at + 1])


def test_vision_rows_are_in_the_order_of_production(
    corpus: Path, tokenizer: Tokenizer, characters: str
) -> None:
    """The training row of a page = what DeepEncoder.assemble makes of the same features."""
    made = batch(corpus, tokenizer, characters, "page")
    rows = make_rows(made, PROMPT, BOS, EOS)
    encoder = DeepEncoder(TINY.encoder)
    width = encoder.config.embed_dim
    counts = [c * r for c, r in made.grids]
    local, whole = torch.randn(sum(counts), 100, width), torch.randn(len(counts), 256, width)
    ends = torch.stack([encoder.image_newline, encoder.view_seperator]).detach()
    table = torch.cat([local.flatten(0, 1), whole.flatten(0, 1), ends])
    for i, tiles in enumerate(local.split(counts)):
        feature = rows.feature[i]
        expected = encoder.assemble(whole[i], tiles, made.grids[i])
        assert torch.equal(table[feature[feature >= 0]], expected.detach())


def test_clean_tiles_are_the_page_cut_row_by_row(corpus: Path, tokenizer: Tokenizer, characters: str) -> None:
    made = batch(corpus, tokenizer, characters, "page", count=1)
    views = make_views(made, torch.device("cpu"), strength=0.0)
    columns, rows = made.grids[0]
    page = made.canvas.view(640 * rows, 640 * columns).numpy()
    expected = np.stack(
        [
            np.repeat(page[None, 640 * y : 640 * y + 640, 640 * x : 640 * x + 640], 3, 0)
            for y in range(rows)
            for x in range(columns)
        ]
    )
    assert views.tiles is not None
    assert np.array_equal(views.tiles.numpy(), expected)
    assert views.globals_ is not None
    assert views.globals_.shape == (1, 3, 1024, 1024)
    assert views.cells.shape == (columns * rows, 40, 40, 4)


@pytest.mark.parametrize("view", ["tile", "page", "whole"])
def test_a_batch_without_text_is_answered_by_the_end(
    corpus: Path, tokenizer: Tokenizer, characters: str, view: View
) -> None:
    made = batch(corpus, tokenizer, characters, view, empty=1.0)
    rows = make_rows(made, PROMPT, BOS, EOS)
    for i in range(2):
        assert rows.label[i][rows.label[i] >= 0].tolist() == [EOS]
        assert rows.token[i, rows.label[i] >= 0].tolist() == PROMPT[-1:]
    assert (rows.focus == -1).all()


def test_prompts_are_what_production_asks(tokenizer: Tokenizer) -> None:
    ids = prompt_ids(tokenizer)
    for name, text in PROMPTS.items():
        assert tuple(ids[name]) == encode_prompt(tokenizer, text, bos_id=BOS).after
    assert tokenizer.token_to_id("<|grounding|>") in ids["grounded"]
