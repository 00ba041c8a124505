import pickle
import random

import numpy as np
import pytest
from PIL import Image

from encoders.views import PageViews, UInt8Array
from ocr.errors import CheckpointError
from ocr.families.minicpm.slicing import SlicingRule
from tests.ocr.families.minicpm.plain_slicing import best_grid, best_size, cut

TINY = SlicingRule(max_slices=6, slice_px=24, patch_px=4)


def sizes(num: int, most_px: int, seed: int = 0) -> list[tuple[int, int]]:
    """Returns (width, height) of all aspects: pages, lines, columns, single pixels."""
    draw = random.Random(seed)
    drawn = [(draw.randint(1, most_px), draw.randint(1, most_px)) for _ in range(num // 2)]
    thin = [(draw.randint(1, most_px), draw.randint(1, 1 + most_px // 20)) for _ in range(num // 4)]
    return [*drawn, *thin, *((height, width) for width, height in thin)]


def noise(size: tuple[int, int], seed: int) -> UInt8Array:
    shape = size[1], size[0], 3
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def assert_same(views: PageViews, image: Image.Image, rule: SlicingRule) -> None:
    source, slices, grid = cut(image, rule.max_slices, rule.slice_px, rule.patch_px)
    assert np.array_equal(views.global_view, np.asarray(source).transpose(2, 0, 1))
    assert views.grid == (grid or (1, 1))
    assert views.num_tiles == len(slices)
    for ours, theirs in zip(views.local_views, slices, strict=True):
        assert np.array_equal(ours, np.asarray(theirs).transpose(2, 0, 1))


def test_views_of_200_sizes_equal_the_published_rules() -> None:
    for seed, size in enumerate(sizes(200, 120)):
        pixels = noise(size, seed)
        assert_same(TINY(pixels), Image.fromarray(pixels), TINY)


def test_sizes_and_grids_of_pages_equal_the_published_rules() -> None:
    """As the models are published: slices of 448 px, of which 9 at most, or another number."""
    for size in [*sizes(2000, 4000, seed=1), (1654, 2339), (448, 448), (449, 448), (60000, 2), (2, 60000)]:
        for most in (1, 2, 9, 36):
            rule = SlicingRule(max_slices=most)
            grid = rule.grid(size)
            assert grid == best_grid(size, most, 448)
            assert rule.fitted(size, enlarge=grid is None) == best_size(size, 448, 14, upscale=grid is None)
    assert SlicingRule().grid((1654, 2339)) == (3, 3), "an A4 page of 200 dpi"
    assert SlicingRule().refined((1654, 2339), (3, 3)) == (1134, 1596)


def test_a_page_as_published_and_a_grey_one() -> None:
    rule, pixels = SlicingRule(), noise((900, 700), 3)
    assert_same(rule(pixels), Image.fromarray(pixels), rule)
    grey = np.repeat(pixels[..., :1], 3, axis=2)
    assert_same(TINY(grey), Image.fromarray(grey), TINY)


def test_frames_are_resized_and_never_cut() -> None:
    frames = np.stack([noise((90, 50), seed) for seed in range(3)])
    views = TINY.frames(frames, [[1, 2], [5]])
    assert views.groups == ((1, 2), (5,))
    assert (views.global_view.shape, views.grid) == ((3, 0, 0), (1, 1))
    for ours, frame in zip(views.local_views, frames, strict=True):
        source, slices, _ = cut(Image.fromarray(frame), 1, 24, 4)
        assert not slices
        assert np.array_equal(ours, np.asarray(source).transpose(2, 0, 1))


def test_the_rule_of_a_config() -> None:
    published = {"slice_config": {"max_slice_nums": 9, "patch_size": 14, "model_type": "minicpmv"}}
    assert SlicingRule.from_json(published) == SlicingRule()
    assert SlicingRule.from_json({}) == SlicingRule(max_slices=1), "without a section a page has no slices"
    assert pickle.loads(pickle.dumps(TINY)) == TINY
    assert SlicingRule().most_px == 9 * 448**2
    with pytest.raises(CheckpointError, match="max_slice_nums"):
        SlicingRule.from_json({"slice_config": {"max_slice_nums": 0}})
    with pytest.raises(CheckpointError, match="slice_config"):
        SlicingRule.from_json({"slice_config": 9})
