import random
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from ocr.training.sampling_pages.samples import Sample, Sampler, View
from ocr.transcript.grounding import parse


@pytest.fixture(scope="module")
def sampler(corpus: Path, tokenizer: Tokenizer, characters: str) -> Sampler:
    return Sampler(corpus, tokenizer, characters, split="train", font_split="train")


def draw(sampler: Sampler, view: View, seed: int) -> Sample:
    rng = random.Random(seed)
    return next(s for s in (sampler.draw(rng, view) for _ in range(50)) if s is not None)


@pytest.mark.parametrize("view", ["tile", "page", "whole"])
def test_a_sample_is_consistent(sampler: Sampler, tokenizer: Tokenizer, view: View) -> None:
    for seed in range(4):
        sample = draw(sampler, view, seed)
        height, width = sample.pixels.shape
        columns, rows = sample.grid
        assert (width, height) == {
            "tile": (640, 640), "page": (640 * columns, 640 * rows), "whole": (1024, 1024)
        }[view]  # fmt: skip
        assert sample.cells.shape == (height // 16, width // 4)
        assert tokenizer.decode(sample.ids.tolist()) == sample.text
        assert len(sample.token_index) == len(sample.ids)
        assert sample.token_index.max() < (height // 64) * (width // 64 + 1)


@pytest.mark.parametrize("view", ["tile", "page"])
def test_every_token_points_at_ink(sampler: Sampler, view: View) -> None:
    sample = draw(sampler, view, 7)
    per_row = sample.pixels.shape[1] // 64 + 1
    known = sample.token_index[sample.token_index >= 0]
    assert len(known) > 5
    for index in known:
        row, column = divmod(int(index), per_row)
        cell = sample.pixels[row * 64 : row * 64 + 64, column * 64 : column * 64 + 64]
        assert cell.min() < 200, f"token points at empty paper ({row}, {column})"


def test_character_cells_lie_on_ink(sampler: Sampler) -> None:
    sample = draw(sampler, "tile", 3)
    ink = (sample.pixels < 160).reshape(40, 16, 160, 4).any((1, 3))
    marked = sample.cells > 0
    assert marked.any()
    assert (ink & marked).sum() > 0.6 * marked.sum()


def test_draws_repeat_with_the_seed(sampler: Sampler) -> None:
    first, second = draw(sampler, "page", 5), draw(sampler, "page", 5)
    assert first.text == second.text
    assert np.array_equal(first.pixels, second.pixels)


@pytest.mark.parametrize("view", ["tile", "page", "whole"])
def test_a_page_without_text_has_nothing_to_say(sampler: Sampler, view: View) -> None:
    rng = random.Random(4)
    samples = [s for s in (sampler.draw(rng, view, empty=1.0) for _ in range(8)) if s is not None]
    assert len({s.pixels.tobytes() for s in samples}) == len(samples) > 4
    for sample in samples:
        assert (len(sample.ids), len(sample.token_index), sample.text) == (0, 0, "")
        assert not sample.cells.any()
        height, width = sample.pixels.shape
        assert (width, height) == {
            "tile": (640, 640), "page": (640 * sample.grid[0], 640 * sample.grid[1]), "whole": (1024, 1024)
        }[view]  # fmt: skip


def test_a_grounded_sample_points_at_ink_wherever_text_stands(sampler: Sampler, tokenizer: Tokenizer) -> None:
    rng = random.Random(3)
    samples = [s for s in (sampler.draw(rng, "page", prompt="grounded") for _ in range(6)) if s is not None]
    for sample in samples:
        assert tokenizer.decode(sample.ids.tolist(), skip_special_tokens=False) == sample.text
        parsed = parse(sample.text, width_px=sample.pixels.shape[1], height_px=sample.pixels.shape[0])
        assert len(parsed.blocks) == sample.text.count("<|det|>") > 0
        per_row = sample.pixels.shape[1] // 64 + 1
        pieces = [tokenizer.decode([int(i)], skip_special_tokens=False) for i in sample.ids]
        for piece, index in zip(pieces, sample.token_index, strict=True):
            assert index < 0 or "<|" not in piece
            if index >= 0:
                row, column = divmod(int(index), per_row)
                # The full stop of large type stands below the middle of its line, perhaps in the next token.
                height = 96 if piece.strip() in (".", ",") else 64
                cell = sample.pixels[row * 64 : row * 64 + height, column * 64 : column * 64 + 64]
                assert np.ptp(cell) > 20, f"{piece!r} points at empty paper"
