"""Whole models, from pixels to tokens, against plain ones with the same published checkpoint."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.types import VisionTokens
from encoders.views import PageViews, UInt8Array
from ocr.families.minicpm.minicpm_model import MiniCpmModel, load_minicpm
from ocr.families.minicpm.prompts import PagePrompt, page_prompt
from ocr.families.minicpm.slicing import SlicingRule
from tests.encoders.graphs.eager_capture import Winning
from tests.ocr.families.minicpm.plain_prompts import plain_prompt
from tests.ocr.families.minicpm.plain_slicing import cut
from tests.ocr.families.minicpm.tiny_minicpm import (
    VERSIONS,
    PlainModel,
    config_json,
    greedy,
    plain_model,
    save,
    tokenizer,
)

CPU = torch.device("cpu")
# (width, height): without slices, a few, many, and a line of text.
PAGES = [(18, 15), (40, 25), (70, 95), (200, 12)]
QUESTION = "Free OCR."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


def both(version: str, folder: Path) -> tuple[MiniCpmModel, PlainModel]:
    """Returns ours, loaded from the plain one's checkpoint, and the plain one."""
    config = config_json(version)
    plain = plain_model(version, config)
    save(plain, config, folder / version)
    ours = load_minicpm(folder / version, device=CPU, dtype=torch.float32, encoder_dtype=torch.float32)
    return ours, plain


def pictures(sizes: Sequence[tuple[int, int]]) -> list[UInt8Array]:
    return [
        np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
        for seed, (width, height) in enumerate(sizes)
    ]


def encoded(model: MiniCpmModel, pages: Sequence[PageViews], *, captured: bool) -> list[VisionTokens]:
    """Returns the pages' tokens: all units in one queue, through graphs or eagerly."""
    encoder = model.vision_encoder()
    units = encoder.units("slices", pages)
    manager = EncoderGraphManager(
        encoder.paths, GraphSettings(max_items=6, repeats=1), CPU, Winning() if captured else None
    )
    if captured:
        axes = {unit.axis for page in units for unit in page}
        manager.warm_up({"slices": sorted(axes, key=str)})
    outputs = iter(manager.encode({"slices": [unit for page in units for unit in page]})["slices"])
    results = [[next(outputs) for _ in page] for page in units]
    uses = [result.use for page in results for result in page]
    assert uses.count("hit") > len(uses) // 2 if captured else "hit" not in uses
    return encoder.assemble(pages, {"slices": [[result.outputs for result in page] for page in results]})


def plain_tokens(
    model: PlainModel, slices: Sequence[Image.Image], groups: Sequence[Sequence[int]] = ()
) -> Tensor:
    """Returns the tokens of each slice, or group of frames, one after the other."""
    pixels = [torch.from_numpy(np.array(view)).permute(2, 0, 1) for view in slices]
    grids = [(view.height // 4, view.width // 4) for view in slices]
    with torch.no_grad():
        features = [model.vpm(view) for view in pixels]
        return model.resampler(features, grids, groups or [[-1]] * len(slices)).flatten(0, 1)  # type: ignore[no-any-return]


def plain_embeds(
    model: PlainModel,
    version: str,
    slices: Sequence[Image.Image],
    grid: tuple[int, int] | None = None,
    groups: Sequence[Sequence[int]] = (),
) -> Tensor:
    """Returns a prompt's embeddings with the tokens of each slice, or group of frames, between its marks."""
    tokens = plain_tokens(model, slices, groups)
    lengths = [len(group) for group in groups]
    ids, places = plain_prompt(tokenizer(), version, QUESTION, model.resampler.query.shape[0], grid, lengths)
    embeds = model.llm.get_input_embeddings()(torch.tensor(ids)).clone()
    for place, token in zip(places, tokens, strict=True):
        embeds[place] = token
    return embeds


def our_embeds(model: MiniCpmModel, tokens: VisionTokens) -> Tensor:
    prompt = page_prompt(tokenizer(), model.config.version, QUESTION, tokens.note)  # type: ignore[arg-type]
    return model.inputs_embeds(prompt, tokens.tokens_TD)


def assert_same(
    ours: MiniCpmModel, plain: PlainModel, pages: Sequence[VisionTokens], expected: Tensor
) -> tuple[int, ...]:
    """Compares a page's inputs, each way that it was encoded, and what both models make of them; returns the answer."""
    for page in pages:
        embeds = our_embeds(ours, page)
        torch.testing.assert_close(embeds, expected, rtol=0, atol=1e-5)
    with torch.no_grad():
        logits, theirs = (
            model.llm(inputs_embeds=x[None]).logits for model, x in ((ours, embeds), (plain, expected))
        )
    torch.testing.assert_close(logits, theirs, rtol=0, atol=1e-4 * float(theirs.abs().max()))
    answer = greedy(ours.llm, embeds, 6)
    assert answer == greedy(plain.llm, expected, 6)
    return tuple(answer)


@pytest.mark.parametrize("version", VERSIONS)
def test_pages_equal_the_plain_model(version: str, folder: Path) -> None:
    ours, plain = both(version, folder)
    rule = SlicingRule.from_json(config_json(version))
    images = pictures(PAGES)
    views = [rule(pixels) for pixels in images]
    eager, replayed = (encoded(ours, views, captured=captured) for captured in (False, True))
    answers = set()
    for pixels, *pages in zip(images, eager, replayed, strict=True):
        source, slices, grid = cut(Image.fromarray(pixels), 6, scale=20, patch=4)
        expected = plain_embeds(plain, version, [source, *slices], grid)
        answers.add(assert_same(ours, plain, pages, expected))
    assert len(answers) > 1, "pages that all read alike would show nothing"


@pytest.mark.parametrize(
    ("version", "groups"),
    [
        ("2.6", []),
        ("4.0", []),
        ("4.5", []),
        ("4.5", [[0, 3, 7], [9, 12, 15], [20]]),
        ("4.5", [[0], [4, 5, 6, 8, 9, 11]]),
    ],
)
def test_videos_equal_the_plain_model(version: str, groups: list[list[int]], folder: Path) -> None:
    ours, plain = both(version, folder)
    rule = SlicingRule.from_json(config_json(version))
    frames = np.stack(pictures([(40, 25)] * 7))
    videos = [
        encoded(ours, [rule.frames(frames, groups)], captured=captured)[0] for captured in (False, True)
    ]
    for video in videos:
        assert len(video.tokens_TD) == 4 * (len(groups) or 7)
    shown = [cut(Image.fromarray(frame), 1, scale=20, patch=4)[0] for frame in frames]
    assert_same(ours, plain, videos, plain_embeds(plain, version, shown, groups=groups or [[-1]] * 7))


def test_pages_and_videos_share_a_queue(folder: Path) -> None:
    ours, _ = both("4.5", folder)
    rule = SlicingRule.from_json(config_json("4.5"))
    frames = np.stack(pictures([(40, 25)] * 5))
    pages = [*(rule(pixels) for pixels in pictures(PAGES)), rule.frames(frames, [[0, 1], [2, 3], [4]])]
    together = encoded(ours, pages, captured=True)
    for page, expected in zip(pages, together, strict=True):
        (alone,) = encoded(ours, [page], captured=False)
        torch.testing.assert_close(alone.tokens_TD, expected.tokens_TD, rtol=0, atol=1e-5)
        assert alone.note == expected.note


def test_text_embeddings_are_scaled_and_vision_tokens_are_not() -> None:
    model = MiniCpmModel.from_config(config_json("4.0") | {"scale_emb": 12})
    prompt = PagePrompt(ids=(1, 2, 3, 4), places=(1, 2))
    tokens = torch.randn(2, 256)
    embeds = model.inputs_embeds(prompt, tokens)
    table = model.llm.get_input_embeddings().weight
    torch.testing.assert_close(embeds, torch.stack([12 * table[1], tokens[0], tokens[1], 12 * table[4]]))
