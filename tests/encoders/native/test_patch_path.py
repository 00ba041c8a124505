"""Both paths through one graph manager: replayed on padded buffers, and eagerly."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from encoders.graphs.axis_graphs import wanted_sizes
from encoders.graphs.capturing.buffers import have_room, input_rows
from encoders.graphs.capturing.capture import CudaGraphCapture
from encoders.graphs.errors import UnitError
from encoders.graphs.manager import EncodedUnit, EncoderGraphManager
from encoders.graphs.path import Tensors, Unit
from encoders.graphs.settings import GraphSettings
from encoders.graphs.staging import Staging
from encoders.native.native_encoder import NativeEncoder
from encoders.native.patch_path import AXIS, PatchPath
from encoders.native.towers import QwenVision, _images
from encoders.native.vision_grid import Kind
from tests.encoders.graphs.eager_capture import Winning, poisoned
from tests.encoders.graphs.streams import LazyTransfers
from tests.encoders.native.test_qwen_vision import close
from tests.encoders.native.tiny_qwen import (
    MEAN,
    MODELS,
    STD,
    draw,
    reference,
    tiny_module,
    tiny_vision,
)

CPU = torch.device("cpu")
BUDGETS = {"image": [16, 64], "video": [16, 64]}


def manager_of(
    vision: QwenVision, max_items: int = 8, max_frames: int = 8
) -> tuple[EncoderGraphManager, dict[str, PatchPath]]:
    """A manager with warm graphs of 16 and 64 tokens for each path; they always win."""
    encoder = NativeEncoder(vision, videos=True, least_tokens=4)
    settings = GraphSettings(budgets=BUDGETS, max_items=max_items, max_frames=max_frames, repeats=1)
    manager = EncoderGraphManager(encoder.paths, settings, CPU, Winning())
    manager.warm_up({"image": [AXIS], "video": [AXIS]})
    return manager, {path.name: path for path in encoder.paths if isinstance(path, PatchPath)}


def encode(
    manager: EncoderGraphManager, paths: dict[str, PatchPath], frames: dict[Kind, list[Tensor]]
) -> dict[str, list[EncodedUnit]]:
    return manager.encode({kind: [paths[kind].unit(its) for its in units] for kind, units in frames.items()})


def assert_equal(vision: QwenVision, encoded: Sequence[EncodedUnit], frames: Sequence[Tensor]) -> None:
    for unit, expected in zip(encoded, reference(vision.module, frames), strict=True):
        assert close(unit.outputs["tokens"], expected)


@pytest.mark.parametrize("model", MODELS)
def test_both_modalities_through_one_manager(model: str) -> None:
    """Larger and smaller batches in turn: what one leaves in the buffers must not reach the next."""
    vision = tiny_vision(model)
    manager, paths = manager_of(vision)
    rounds: list[dict[Kind, list[Tensor]]] = [
        {"image": [draw(1, 7, 8), draw(1, 2, 3)], "video": [draw(8, 4, 4)]},
        {"image": [draw(1, 1, 1, 1)], "video": [draw(2, 1, 2), draw(3, 2, 2)]},
        {"image": [draw(1, 3, 3), draw(1, 5, 7), draw(1, 2, 2), draw(1, 1, 6)], "video": [draw(9, 3, 2)]},
        {"image": [], "video": [draw(5, 2, 3), draw(4, 3, 3), draw(1, 1, 1)]},
    ]
    for frames in rounds:
        encoded = encode(manager, paths, frames)
        for kind, units in frames.items():
            assert [unit.use for unit in encoded[kind]] == ["hit"] * len(units)
            if units:
                assert_equal(vision, encoded[kind], units)
    stats = manager.stats()
    for kind in ("image", "video"):
        assert stats[kind].budgets == {AXIS: [16, 64]}
        assert (stats[kind].nan_traps, stats[kind].parity_failures, stats[kind].stale_graphs) == (0, 0, 0)
        assert stats[kind].padding_tokens > 0


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["image", "video"])
def test_padding_may_hold_anything(model: str, kind: Kind) -> None:
    """vLLM #57136: poison in every input behind the units, and the same tokens to the bit."""
    vision = tiny_vision(model)
    path = PatchPath(kind, vision, least_tokens=4)
    frames = [draw(3, 3, 2), draw(2, 2, 2)] if kind == "video" else [draw(1, 3, 2), draw(1, 2, 2)]
    units = [path.unit(its) for its in frames]
    clean, dirty = written(path, units), written(path, units)
    rows = input_rows(path, units)
    for name, buffer in dirty.items():
        if name.startswith("cu_"):
            assert (buffer[rows[name] :] == buffer[rows[name] - 1]).all(), "no sequence may follow the last"
        elif name == "tap_weights":
            buffer[rows[name] :] = torch.nan
        else:
            buffer[rows[name] :] = 250 if name == "runs" else 5
    used = sum(unit.tokens for unit in units)
    first, second = (path.forward(inputs)["tokens"][:used] for inputs in (clean, dirty))
    assert torch.equal(first, second)
    assert close(first, torch.cat(reference(vision.module, frames)))


def written(path: PatchPath, units: Sequence[Unit]) -> Tensors:
    """Buffers of 40 tokens with the units at their front."""
    buffers = path.buffers(AXIS, 40, CPU)
    for name, pieces in path.pieces(units).items():
        content = torch.cat(pieces)
        buffers[name][: len(content)] = content
        path.pad(name, buffers[name], len(content), len(content))
    return buffers


@pytest.mark.parametrize("model", MODELS)
def test_more_frames_than_a_graph_has_room_for_run_eagerly(
    model: str, caplog: pytest.LogCaptureFixture
) -> None:
    """vllm-omni #7650: an overflow of frames raised. The other path, and fewer frames, still find their graphs."""
    vision = tiny_vision(model)
    manager, paths = manager_of(vision, max_frames=3)
    frames: dict[Kind, list[Tensor]] = {
        "image": [draw(1, 2, 2, seed) for seed in range(5)],
        "video": [draw(7, 2, 2), draw(40, 1, 1)],
    }
    encoded = encode(manager, paths, frames)
    assert [unit.use for unit in encoded["image"]] == ["hit"] * 5, "of which max_items counts"
    assert [unit.use for unit in encoded["video"]] == ["miss", "miss"]
    told = (
        "path video: a unit of 20 frames runs alone and without a graph, as 3 are the most: raise max_frames"
    )
    assert [entry.getMessage() for entry in caplog.records] == [told], "once"
    for kind, units in frames.items():
        assert_equal(vision, encoded[kind], units)
    few: dict[Kind, list[Tensor]] = {"image": frames["image"][:3], "video": [draw(6, 2, 2)]}
    again = encode(manager, paths, few)
    for kind, units in few.items():
        assert {unit.use for unit in again[kind]} == {"hit"}
        assert_equal(vision, again[kind], units)


def test_more_windows_than_a_graph_has_room_for_run_eagerly() -> None:
    """Images one token wide: a window holds 3 tokens, where it has room for 9."""
    vision = tiny_vision("qwen2_5")
    manager, paths = manager_of(vision, max_items=1)
    (thin,) = encode(manager, paths, {"image": [draw(1, 1, 63)]})["image"]
    assert thin.use == "miss"
    assert_equal(vision, [thin], [draw(1, 1, 63)])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["image", "video"])
def test_examples_fit_the_graph_that_they_time(model: str, kind: Kind) -> None:
    path = PatchPath(kind, tiny_vision(model))
    for tokens in (64, 192, 1000, 4096):
        units = path.examples(AXIS, tokens)
        assert 0.9 * tokens <= sum(unit.tokens for unit in units) <= tokens
        assert have_room(path.buffers(AXIS, tokens, torch.device("meta")), input_rows(path, units))
        for unit in units:
            path.check(unit)


def test_sizes_to_capture() -> None:
    """A CPU gains nothing from batches; the user's sizes hold anywhere."""
    path = PatchPath("image", tiny_vision("qwen3"))
    assert wanted_sizes(path, AXIS, GraphSettings(), None) == [64]
    assert wanted_sizes(path, AXIS, GraphSettings(), [128, 4096]) == [128, 4096]


def test_units_share_the_frames_memory() -> None:
    path = PatchPath("video", tiny_vision("qwen2_5"))
    frames = draw(5, 2, 3)
    unit = path.unit(frames)
    assert unit.inputs["runs"].data_ptr() == frames.data_ptr()
    assert (unit.tokens, unit.items) == (18, 3)


@pytest.mark.parametrize("kind", ["image", "video"])
def test_inputs_are_staged_whole(kind: Kind) -> None:
    """Also the one that has a length and no contents."""
    path, transfers = PatchPath(kind, tiny_vision("qwen2_5")), LazyTransfers()
    units = [path.unit(draw(1, 3, 4)), path.unit(draw(1, 2, 5))]
    staged = Staging(transfers).collate(path.pieces(units), CPU)
    transfers.compute.run(len(transfers.compute.work))
    expected = path.collate(units, CPU)
    assert staged.keys() == expected.keys()
    assert all(torch.equal(staged[name], expected[name]) for name in expected)
    assert staged["longest"].shape == (48, 0)


def test_images_of_one_size_fill_a_batch_but_never_a_graphs_rows() -> None:
    path = PatchPath("image", tiny_vision("qwen3"))
    alike, other = [path.unit(draw(1, 3, 4))] * 2, path.unit(draw(1, 2, 5))
    for units, filled in ((alike, True), (alike[:1], True), ([*alike, other], False)):
        assert _images(path.collate(units, CPU)).filled == filled
    path.limit(GraphSettings(max_items=1))
    assert not _images(path.buffers(AXIS, 16, CPU)).filled


def test_what_does_not_fit_is_refused() -> None:
    path = PatchPath("image", tiny_vision("qwen3"))
    with pytest.raises(UnitError, match=r"1 frames of 24 x 20 px; sides must be multiples of 8"):
        path.unit(torch.zeros(1, 3, 20, 24, dtype=torch.uint8))
    unit = path.unit(draw(1, 2, 2))
    wrong = Unit(tokens=5, axis=AXIS, inputs=unit.inputs)
    with pytest.raises(UnitError, match=r"5 tokens in 1 items of 16 patches"):
        path.check(wrong)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("model", MODELS)
def test_graphs_on_a_gpu_equal_transformers(model: str) -> None:
    """bfloat16, as PyTorch's kernel for sequences wants it; over and over, compared with float32."""
    device = torch.device("cuda")
    exact = tiny_module(model)
    vision = QwenVision(tiny_module(model).to(device, torch.bfloat16), mean=MEAN, std=STD)
    encoder = NativeEncoder(vision, videos=True, least_tokens=4)
    settings = GraphSettings(graphs="on", budgets=BUDGETS, max_items=8, max_frames=8, parity_every=3)
    manager = EncoderGraphManager(encoder.paths, settings, device, poisoned(CudaGraphCapture(device)))
    manager.warm_up({"image": [AXIS], "video": [AXIS]})
    paths = {path.name: path for path in encoder.paths if isinstance(path, PatchPath)}
    for turn in range(4):
        frames: dict[Kind, list[Tensor]] = {
            "image": [draw(1, 3 + turn, 4, turn), draw(1, 2, 3, turn)],
            "video": [draw(3 + turn, 3, 3, turn)],
        }
        encoded = encode(manager, paths, frames)
        for kind, units in frames.items():
            for unit, expected in zip(encoded[kind], reference(exact, units), strict=True):
                ours = unit.outputs["tokens"].float().cpu()
                assert (ours - expected).norm() < 3e-2 * expected.norm()
    for stats in manager.stats().values():
        assert stats.hits > 0
        assert (stats.nan_traps, stats.parity_failures, stats.stale_graphs) == (0, 0, 0)
    manager.close()
