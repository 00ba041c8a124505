"""Slices and groups through the graph manager: graph = eager = the plain implementation, for every version."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from encoders.graphs.capturing.capture import Capture, CudaGraphCapture
from encoders.graphs.errors import UnitError
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import Unit
from encoders.graphs.settings import GraphSettings
from encoders.minicpm.slice_paths import SlicePath, Tier
from tests.encoders.graphs.eager_capture import Winning, poisoned
from tests.encoders.minicpm.tiny_vision import GRIDS, PATCH_PX, VERSIONS, noise, tiny_parts

CPU = torch.device("cpu")


def managed(
    path: SlicePath,
    capture: Capture | None,
    axes: Sequence[Tier] = (),
    device: torch.device = CPU,
    **settings: object,
) -> EncoderGraphManager:
    manager = EncoderGraphManager([path], GraphSettings(repeats=1, **settings), device, capture)  # type: ignore[arg-type]
    manager.warm_up({"slices": list(axes)})
    return manager


def encoded(manager: EncoderGraphManager, units: Sequence[Unit]) -> tuple[Tensor, list[str]]:
    results = manager.encode({"slices": units})["slices"]
    return torch.cat([result.outputs["tokens"] for result in results]), [result.use for result in results]


@pytest.mark.parametrize("version", VERSIONS)
def test_slices_of_many_shapes_equal_the_plain_implementation(version: str) -> None:
    encoder, _, _, plain = tiny_parts(version)
    (path,) = encoder.paths
    slices = [noise(grid, seed) for seed, grid in enumerate(GRIDS)]
    units = [path.slice_unit(pixels) for pixels in slices]
    expected = plain(slices)
    eager, uses = encoded(managed(path, None), units)
    assert "hit" not in uses
    torch.testing.assert_close(eager, expected, rtol=0, atol=1e-5)
    axes = sorted({unit.axis for unit in units}, key=str)
    manager = managed(path, Winning(), axes, max_items=4)
    graph, uses = encoded(manager, units)
    assert set(uses) == {"hit"}
    torch.testing.assert_close(graph, expected, rtol=0, atol=1e-5)
    assert (expected[0] - expected[6]).abs().max() > 0.1, "equality shows nothing where all look alike"


@pytest.mark.parametrize("version", ["2.5", "2.6"])
def test_a_slice_alone_equals_the_slice_in_a_batch_and_under_any_cap(version: str) -> None:
    """Padded tiers equal unpadded ones: the same slice under its own number of patches, and under several caps."""
    encoder, _, _, _ = tiny_parts(version)
    (path,) = encoder.paths
    pixels = noise((3, 4), seed=5)
    units = [path._unit(pixels[None], [-1], Tier(cap)) for cap in (12, 16, 24, 64)]
    alone = [path.forward(path.collate([unit], CPU))["tokens"] for unit in units]
    for tokens in alone[1:]:
        torch.testing.assert_close(tokens, alone[0], rtol=0, atol=1e-5)
    others = [path._unit(noise(grid, 9)[None], [-1], Tier(64)) for grid in ((8, 8), (1, 1))]
    batch = path.forward(path.collate([others[0], units[3], others[1]], CPU))["tokens"]
    torch.testing.assert_close(batch[1:2], alone[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_poison_behind_the_patches_does_not_leak(version: str) -> None:
    encoder, _, _, _ = tiny_parts(version)
    (path,) = encoder.paths
    unit = path.slice_unit(noise((3, 4), seed=1))
    assert unit.axis == Tier(16)
    inputs = path.collate([unit], CPU)
    expected = path.forward(dict(inputs))["tokens"]
    whole = 12 * 3 * PATCH_PX
    runs = torch.cat([inputs["runs"], torch.full((whole, PATCH_PX), 255, dtype=torch.uint8)])
    poisoned = {name: tensor.clone() for name, tensor in inputs.items()} | {"runs": runs}
    poisoned["positions"][:, 12:] = 48
    assert torch.equal(path.forward(poisoned)["tokens"], expected)
    runs[whole - 1] = 255 - runs[whole - 1]
    assert not torch.equal(path.forward(poisoned)["tokens"], expected), "the last patch itself is read"


def video(
    groups: Sequence[Sequence[int]], grid: tuple[int, int] = (3, 5)
) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the frames of each group, stacked, and all frames."""
    frames = [noise(grid, seed) for seed in range(sum(map(len, groups)))]
    stacked, start = [], 0
    for group in groups:
        stacked.append(torch.stack(frames[start : start + len(group)]))
        start += len(group)
    return stacked, frames


@pytest.mark.parametrize("packed", range(1, 7))
def test_groups_of_frames_equal_the_plain_implementation(packed: int) -> None:
    encoder, _, _, plain = tiny_parts("4.5")
    (path,) = encoder.paths
    times = [0, 3, 7, 8, 9, 30, 31, 32, 40, 71999, 5, 6, 60]
    groups = [times[start : start + packed] for start in range(0, len(times), packed)]
    groups[0] = [-1] * packed
    stacked, frames = video(groups)
    units = [
        path.group_unit(group, its_times, packed) for group, its_times in zip(stacked, groups, strict=True)
    ]
    expected = plain(frames, groups)
    eager, _ = encoded(managed(path, None, max_items=12), units)
    torch.testing.assert_close(eager, expected, rtol=0, atol=1e-5)
    manager = managed(path, Winning(), [units[0].axis], max_items=12)
    graph, uses = encoded(manager, units)
    assert set(uses) == {"hit"}
    torch.testing.assert_close(graph, expected, rtol=0, atol=1e-5)
    back, _ = encoded(manager, units[::-1])
    torch.testing.assert_close(back, expected.flip(0), rtol=0, atol=1e-5)


def test_larger_batches_leave_nothing_behind_in_smaller_ones() -> None:
    """A full batch, then a single group of one frame: what the full one wrote is padding again."""
    encoder, _, _, plain = tiny_parts("4.5")
    (path,) = encoder.paths
    groups = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10]]
    stacked, frames = video(groups)
    units = [path.group_unit(group, times, 3) for group, times in zip(stacked, groups, strict=True)]
    manager = managed(path, Winning(), [Tier(16, 3)], max_items=9, budgets={"slices": [12]})
    for chosen in (units[:3], units[3:], units[1:2], units):
        tokens, uses = encoded(manager, chosen)
        assert set(uses) == {"hit"}
        first = units.index(chosen[0])
        expected = plain(
            frames[3 * first :][: sum(unit.items for unit in chosen)], groups[first:][: len(chosen)]
        )
        torch.testing.assert_close(tokens, expected, rtol=0, atol=1e-5)


def test_a_group_beyond_the_largest_batch_runs_eagerly() -> None:
    encoder, _, _, plain = tiny_parts("4.5")
    (path,) = encoder.paths
    stacked, frames = video([[1, 2, 3, 4]])
    unit = path.group_unit(stacked[0], [1, 2, 3, 4], 4)
    manager = managed(path, Winning(), [Tier(16, 4)], max_items=2)
    tokens, uses = encoded(manager, [unit])
    assert uses != ["hit"]
    torch.testing.assert_close(tokens, plain(frames, [[1, 2, 3, 4]]), rtol=0, atol=1e-5)


def test_caps_pad_little_and_hold_any_slice() -> None:
    encoder, _, _, _ = tiny_parts("2.6")
    (path,) = encoder.paths
    tiers = {grid: path.slice_unit(noise(grid, 0)).axis for grid in [*GRIDS, (1, 300)]}
    assert tiers[4, 4] == tiers[3, 5] == Tier(16)
    assert tiers[1, 300] == Tier(320), "beyond the largest cap"
    assert all(grid[0] * grid[1] <= tier.cap for grid, tier in tiers.items())
    assert [str(tier) for tier in (Tier(16), Tier(16, 6))] == ["16", "16x6"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_host_looks_at_no_value(version: str) -> None:
    """On the meta device there are none: what could not be captured raises."""
    encoder, vit, resampler, _ = tiny_parts(version)
    (path,) = encoder.paths
    meta = torch.device("meta")
    vit.to(meta)
    resampler.to(meta)
    for axis in (Tier(16), Tier(32, 3)) if version == "4.5" else (Tier(16), Tier(32)):
        tokens = path.forward(path.buffers(axis, 3 * path.least_tokens, meta))["tokens"]
        assert tokens.shape == (3, path.least_tokens, 256)


def test_bfloat16() -> None:
    encoder, vit, resampler, plain = tiny_parts("4.5")
    (path,) = encoder.paths
    for module in (vit, resampler):
        module.to(torch.bfloat16)
    slices = [noise(grid, seed) for seed, grid in enumerate([(4, 4), (3, 5), (2, 8)])]
    units = [path.slice_unit(pixels) for pixels in slices]
    tokens, _ = encoded(managed(path, None), units)
    assert tokens.dtype == torch.bfloat16
    expected = plain(slices)
    assert (tokens.float() - expected).norm() / expected.norm() < 0.03


def test_examples_are_units_of_their_axis() -> None:
    encoder, _, _, _ = tiny_parts("4.5")
    (path,) = encoder.paths
    for axis, tokens in ((Tier(16), 8), (Tier(24), 4), (Tier(16, 3), 12)):
        units = path.examples(axis, tokens)
        assert sum(unit.tokens for unit in units) == tokens
        assert all(unit.axis == axis for unit in units)
        for unit in units:
            path.check(unit)


def test_what_no_unit_can_be_is_refused() -> None:
    encoder, _, _, _ = tiny_parts("4.5")
    (path,) = encoder.paths
    frames = torch.stack([noise((2, 2), 0)] * 3)
    with pytest.raises(UnitError, match="temporal ids"):
        path.group_unit(frames, [1, 2], 3)
    with pytest.raises(UnitError, match="at most 2"):
        path.group_unit(frames, [1, 2, 3], 2)
    with pytest.raises(UnitError, match="no groups"):
        tiny_parts("2.6")[0].paths[0].group_unit(frames, [1, 2, 3], 3)
    unit = path.slice_unit(frames[0])
    with pytest.raises(UnitError, match="every unit is 4 tokens"):
        path.check(Unit(tokens=8, axis=unit.axis, inputs=unit.inputs))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("version", VERSIONS)
def test_graphs_on_a_gpu_equal_the_plain_implementation(version: str) -> None:
    device = torch.device("cuda")
    encoder, vit, resampler, plain = tiny_parts(version)
    (path,) = encoder.paths
    slices = [noise(grid, seed) for seed, grid in enumerate(GRIDS * 3)]
    units = [path.slice_unit(pixels) for pixels in slices]
    expected = plain(slices)
    if version == "4.5":
        groups = [[3, 5, 8], [11, 20], [-1]]
        stacked, frames = video(groups)
        units += [path.group_unit(group, times, 3) for group, times in zip(stacked, groups, strict=True)]
        expected = torch.cat([expected, plain(frames, groups)])
    for dtype, tolerance in ((torch.float32, 1e-3), (torch.bfloat16, 0.05)):
        vit.to(device, dtype)
        resampler.to(device, dtype)
        axes = sorted({unit.axis for unit in units}, key=str)
        capture = poisoned(CudaGraphCapture(device))
        manager = managed(path, capture, axes, device, graphs="on", max_items=8, parity_every=3)
        for _ in range(3):
            tokens, _ = encoded(manager, units)
            error = (tokens.float().cpu() - expected).norm() / expected.norm()
            assert error < tolerance
        stats = manager.stats()["slices"]
        assert (stats.nan_traps, stats.parity_failures, stats.stale_graphs) == (0, 0, 0)
        assert stats.hits > 0
        manager.close()
