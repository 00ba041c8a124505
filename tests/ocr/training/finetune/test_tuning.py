"""Fine-tuning's loss is production's own probability, and a step moves what it should and nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding import decode_pages
from ocr.decoding.sequence import page_reading
from ocr.imaging.tiling import layout, views
from ocr.training.finetune.pairs import MAX_TILES, MODE, PageImage
from ocr.training.finetune.tuning import (
    PageInput,
    TuneSettings,
    TuningError,
    degraded,
    page_input,
    page_loss,
    rate_factor,
    tune,
)
from ocr.training.small import PROMPT
from tests.ocr.training.own_pages import load, write_model

IDS = (5, 9, 7, 11, 6)


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedModel:
    return load(write_model(tmp_path))


def image(width: int, height: int, seed: int = 0) -> PageImage:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return PageImage(pixels=pixels, grid=layout(width, height, MODE, MAX_TILES).grid)


@pytest.mark.parametrize(("width", "height", "num_tiles"), [(300, 200, 0), (1200, 600, 2)])
def test_the_loss_is_what_decoding_says_of_its_own_words(
    loaded: LoadedModel, width: int, height: int, num_tiles: int
) -> None:
    page = image(width, height)
    with torch.inference_mode():
        (vision,) = loaded.model.encoder.encode([views(page.pixels, MODE, MAX_TILES, page.grid)])
    limits = page_reading.DecodeSettings(max_tokens=len(vision.tokens_TD) + 40)
    (transcript,) = decode_pages.decode_pages(loaded, [vision], prompt=PROMPT, settings=[limits]).transcripts
    *ids, last = transcript.token_ids
    assert len(ids) > 5
    # With the last token for the end, the labels are exactly what was written.
    found = page_loss(replace(loaded, eos_id=last), page_input(page, PROMPT, ids))
    assert len(page_input(page, PROMPT, ids).tiles) == num_tiles
    assert found.text.item() == pytest.approx(-np.mean(transcript.logprobs), rel=1e-3)


def test_wear_keeps_the_page_and_its_grid() -> None:
    page = image(3000, 1500)
    worn = degraded(page, 0.0)
    assert worn.grid == page.grid == (2, 1)
    height, width, _ = worn.pixels.shape
    # No more pixels than its tiles take.
    assert (width, height) == (1280, 640)
    grey = page.pixels.mean()
    assert worn.pixels.mean() == pytest.approx(grey, abs=2)
    assert np.array_equal(worn.pixels[..., 0], worn.pixels[..., 2])


def test_the_rate_rises_then_falls_to_nothing() -> None:
    factors = [rate_factor(share, 0.05) for share in np.linspace(0, 1, 201)]
    peak = int(np.argmax(factors))
    assert 0 < factors[0] < 0.5
    assert factors[peak] == pytest.approx(1.0)
    assert factors[:peak] == sorted(factors[:peak])
    assert factors[peak:] == sorted(factors[peak:], reverse=True)
    assert factors[-1] == pytest.approx(0.0)


def snapshot(loaded: LoadedModel) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in loaded.model.named_parameters()}


def moved(before: dict[str, torch.Tensor], loaded: LoadedModel) -> set[str]:
    return {name for name, p in loaded.model.named_parameters() if not torch.equal(before[name], p)}


@pytest.mark.parametrize("frozen", [True, False])
def test_what_a_step_moves(loaded: LoadedModel, frozen: bool) -> None:
    page = page_input(image(300, 200), PROMPT, IDS)
    before = snapshot(loaded)
    settings = TuneSettings(epochs=1, batch=1, freeze_encoder=frozen)
    (step,) = tune(loaded, 1, lambda _: page, settings)
    assert (step.number, step.num_pages, step.share) == (1, 1, 0.0)
    names = moved(before, loaded)
    assert any(name.startswith("language_model.layers.0") for name in names)
    assert any(name.startswith("encoder.sam_model.blocks.0") for name in names) is not frozen
    # It can read again.
    assert not loaded.model.training
    assert not any(p.requires_grad for p in loaded.model.parameters())


def test_replay_adds_a_page_to_every_page(tmp_path: Path) -> None:
    loaded = load(write_model(tmp_path))
    page = page_input(image(300, 200), PROMPT, IDS)
    drawn: list[int] = []

    def draw(index: int) -> PageInput:
        drawn.append(index)
        return page

    def others() -> Iterator[PageInput]:
        while True:
            drawn.append(-1)
            yield page

    steps = list(tune(loaded, 3, draw, TuneSettings(epochs=2, batch=2), others()))
    assert [step.num_pages for step in steps] == [4, 2, 4, 2]
    assert drawn[1::2] == [-1] * 6
    # Every page once an epoch.
    assert sorted(drawn[0:6:2]) == sorted(drawn[6::2]) == [0, 1, 2]


def test_a_run_ends_with_its_time(loaded: LoadedModel) -> None:
    page = page_input(image(300, 200), PROMPT, IDS)
    steps = list(tune(loaded, 1, lambda _: page, TuneSettings(minutes=0.02, batch=1)))
    assert steps
    assert all(0 <= a.share <= b.share < 1 for a, b in pairwise(steps))


def test_a_loss_that_is_no_number_raises(loaded: LoadedModel) -> None:
    with torch.no_grad():
        loaded.model.language_model.norm.weight.fill_(float("nan"))
    page = page_input(image(300, 200), PROMPT, IDS)
    with pytest.raises(TuningError, match="lower --rate"):
        list(tune(loaded, 1, lambda _: page, TuneSettings(epochs=1)))
