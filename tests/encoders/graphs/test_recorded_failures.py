"""Failures of other encoder graph managers, each tested once, with the place where it was reported."""

import logging
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from encoders.graphs.capturing.capture import Graph
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import Tensors
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.test_manager import assert_as_alone, manager_of
from tests.encoders.graphs.toys import CPU, Clock, SequencePath, ToyCapture, ViewPath


def test_rows_of_padding_that_a_kernel_leaves_unwritten() -> None:
    """vLLM #57136: graphs that share memory returned NaN from padding rows."""
    path = SequencePath()
    manager = manager_of(path)
    manager.warm_up({"sequences": ["any"]})
    for lengths in ([30, 30], [4], [2, 2, 6], [50], [6]):
        units = [path.unit([length], length) for length in lengths]
        encoded = manager.encode({"sequences": units})["sequences"]
        assert all(unit.use == "hit" for unit in encoded)
        assert_as_alone(path, units, encoded)
    assert manager.stats()["sequences"].nan_traps == 0


class Unnormalised(ViewPath):
    """Forgets to normalise, but only while it is captured: on the padded batch of eight views."""

    def forward(self, inputs: Tensors) -> Tensors:
        outputs = super().forward(inputs)
        if len(inputs["pixels"]) == 8 and self.clock.replaying:
            outputs["tokens"] = outputs["tokens"] * 127.5
        return outputs


def test_a_graph_that_skips_normalisation_is_found_out(caplog: pytest.LogCaptureFixture) -> None:
    """vLLM #55370: plausible gibberish. Seen at warm-up, on random pixels."""
    path = Unnormalised()
    manager = manager_of(path)
    with caplog.at_level(logging.WARNING):
        manager.warm_up({"global": [8]})
    stats = manager.stats()["global"]
    assert stats.budgets == {"8": [16, 32, 64]}
    assert stats.parity_failures == 1
    assert "differ" in caplog.text


class Deteriorating(ViewPath):
    """Its graphs are right until told otherwise."""

    factor = 1.0

    def forward(self, inputs: Tensors) -> Tensors:
        outputs = super().forward(inputs)
        if self.clock.replaying:
            outputs["tokens"] = outputs["tokens"] * self.factor
        return outputs


def deteriorating(parity_every: int) -> tuple[Deteriorating, EncoderGraphManager]:
    path = Deteriorating()
    settings = GraphSettings(budgets={"global": [64]}, max_items=4, parity_every=parity_every)
    manager = manager_of(path, settings=settings)
    manager.warm_up({"global": [8]})
    return path, manager


def test_sampled_replays_are_compared_with_eager(caplog: pytest.LogCaptureFixture) -> None:
    path, manager = deteriorating(parity_every=3)
    path.factor = 2.0
    units = [path.unit(8, seed) for seed in range(4)]
    uses = [manager.encode({"global": units})["global"][0].use for _ in range(4)]
    assert uses == ["hit", "hit", "eager", "miss"]
    path.factor = 1.0
    assert_as_alone(path, units, manager.encode({"global": units})["global"])
    stats = manager.stats()["global"]
    assert (stats.parity_failures, stats.dropped_graphs, stats.replays) == (1, 1, 3)
    assert caplog.text.count("differed from eager") == 1


def test_a_replay_that_is_not_finite_is_trapped(caplog: pytest.LogCaptureFixture) -> None:
    path, manager = deteriorating(parity_every=0)
    path.factor = float("nan")
    units = [path.unit(8, seed) for seed in range(12)]
    encoded = manager.encode({"global": units})["global"]
    assert_as_alone(path, units, encoded)
    assert {unit.use for unit in encoded} == {"eager"}
    stats = manager.stats()["global"]
    assert (stats.nan_traps, stats.dropped_graphs, stats.eager, stats.hits) == (3, 1, 12, 0)
    assert caplog.text.count("NaN or infinity where eager does not") == 1


def test_a_unit_that_is_not_finite_anyway_costs_no_graph() -> None:
    path = SequencePath()
    manager = manager_of(path)
    manager.warm_up({"sequences": ["any"]})
    unit = path.unit([4], 0)
    unit.inputs["patches"][0] = torch.inf
    (encoded,) = manager.encode({"sequences": [unit]})["sequences"]
    assert not encoded.outputs["tokens"].isfinite().all()
    stats = manager.stats()["sequences"]
    assert (stats.nonfinite_batches, stats.nan_traps, stats.dropped_graphs) == (1, 0, 0)
    good = path.unit([4], 1)
    assert manager.encode({"sequences": [good]})["sequences"][0].use == "hit"


def test_64_tokens_never_run_in_a_graph_of_4096() -> None:
    """vLLM #52229: 8.8 to 12.7 times slower than eager; #41996 and #41714 alike."""
    path = ViewPath(clock=Clock(launch=2.0, per_token=0.005))
    settings = GraphSettings(budgets={"global": [4096]}, max_items=256)
    manager = manager_of(path, settings=settings)
    manager.warm_up({"global": [8]})
    few = [path.unit(8, seed) for seed in range(4)]
    assert {unit.use for unit in manager.encode({"global": few})["global"]} == {"eager"}
    full = [path.unit(8, seed) for seed in range(256)]
    assert {unit.use for unit in manager.encode({"global": full})["global"]} == {"hit"}


def test_a_graph_that_never_wins_is_not_kept() -> None:
    path = ViewPath(clock=Clock(launch=0.0))
    manager = manager_of(path)
    manager.warm_up({"global": [8]})
    assert manager.stats()["global"].losing_graphs == 4
    assert manager.stats()["global"].budgets == {"8": []}
    assert manager.encode({"global": [path.unit(8, 0)]})["global"][0].use == "eager"


def test_budgets_that_hold_the_same_are_captured_once() -> None:
    """vLLM #43586: with 8 items, budgets of 2176, 4352 and 8192 tokens hold the same 8 views."""
    path = ViewPath()
    settings = GraphSettings(budgets={"global": [16, 64, 128, 256, 512]}, max_items=8)
    manager = manager_of(path, settings=settings)
    manager.warm_up({"global": [8, 16]})  # of 16 and of 64 tokens a view
    assert manager.stats()["global"].budgets == {"8": [16, 64, 128], "16": [64, 128, 256, 512]}


def test_a_workspace_that_grows_after_capture(caplog: pytest.LogCaptureFixture) -> None:
    """SGLang #29216: a rotary workspace was regrown, and 485 of 500 replies were corrupt."""
    path = SequencePath()
    manager = manager_of(path)
    manager.warm_up({"sequences": ["any"]})
    seconds = manager.stats()["sequences"].capture_seconds
    for round_ in range(6):
        path.workspace = torch.linspace(0.5, 1.5 + round_, 32)
        units = [path.unit([64], round_)]
        encoded = manager.encode({"sequences": units})["sequences"]
        assert_as_alone(path, units, encoded)
        assert encoded[0].use == ("hit" if round_ < 3 else "eager" if round_ == 3 else "miss")
    stats = manager.stats()["sequences"]
    assert (stats.stale_graphs, stats.recaptures, stats.dropped_graphs) == (4, 3, 1)
    assert stats.capture_seconds > seconds, "of the captures on the way as well"
    assert "have moved or changed" in caplog.text


class Uncapturable(ToyCapture):
    broken = False

    def _record(self, run):  # type: ignore[no-untyped-def]
        if self.broken:
            raise RuntimeError("operation not permitted when stream is capturing")
        return super()._record(run)


def test_a_graph_that_cannot_be_captured_leaves_eager(caplog: pytest.LogCaptureFixture) -> None:
    path = SequencePath()
    capture = Uncapturable(path.clock)
    manager = EncoderGraphManager([path], GraphSettings(), CPU, capture)
    manager.warm_up({"sequences": ["any"]})
    capture.broken = True
    path.workspace = path.workspace.clone()
    units = [path.unit([4], 0)]
    assert manager.encode({"sequences": units})["sequences"][0].use == "eager"
    manager.warm_up({"sequences": ["any"]})
    encoded = manager.encode({"sequences": units})["sequences"]
    assert encoded[0].use == "miss"
    assert_as_alone(path, units, encoded)
    assert manager.stats()["sequences"].left_out == {"any": [64, 32, 16, 8, 4, 2]}
    assert manager.stats()["sequences"].graph_bytes == 0
    assert "not permitted" in caplog.text


class OneFails(ToyCapture):
    """The graph of so many views cannot be captured."""

    num_views = 0

    def capture(self, path, axis, tokens, buffers):  # type: ignore[no-untyped-def]
        if tokens == 16 * self.num_views:
            raise RuntimeError("operation not permitted when stream is capturing")
        return super().capture(path, axis, tokens, buffers)


@pytest.mark.parametrize("num_views", [1, 2, 4, 8])
def test_a_size_that_cannot_be_captured_leaves_the_others(num_views: int) -> None:
    path = ViewPath()
    capture = OneFails(path.clock)
    capture.num_views = num_views
    manager = EncoderGraphManager([path], GraphSettings(max_items=8), CPU, capture)
    manager.warm_up({"global": [8]})
    stats = manager.stats()["global"]
    assert stats.left_out == {"8": [16 * num_views]}
    assert stats.budgets == {"8": [16 * each for each in (1, 2, 4, 8) if each != num_views]}
    assert (stats.hits, stats.misses, stats.eager, stats.replays, stats.padding_tokens) == (0, 0, 0, 0, 0)
    for count in (1, 2, 3, 8):
        units = [path.unit(8, seed) for seed in range(count)]
        assert_as_alone(path, units, manager.encode({"global": units})["global"])
    assert stats.hits >= 6, "of the others"


class FailsOnce(ToyCapture):
    """A replay raises when its inputs are written already."""

    fails = False

    def replay(self, graph: Graph) -> None:
        if self.fails:
            self.fails = False
            raise RuntimeError("CUDA error: invalid\nresource handle")
        super().replay(graph)


def test_a_replay_that_raises_runs_eagerly_on_the_same_inputs(caplog: pytest.LogCaptureFixture) -> None:
    path = ViewPath()
    capture = FailsOnce(path.clock)
    manager = EncoderGraphManager([path], GraphSettings(max_items=4), CPU, capture)
    manager.warm_up({"global": [8]})
    units = [path.unit(8, seed) for seed in range(7)]
    kept = [unit.inputs["pixels"].clone() for unit in units]
    capture.fails = True
    encoded = manager.encode({"global": units})["global"]
    assert_as_alone(path, units, encoded)
    assert [unit.use for unit in encoded] == ["eager"] * 4 + ["miss"] * 3
    assert all(torch.equal(unit.inputs["pixels"], before) for unit, before in zip(units, kept, strict=True))
    stats = manager.stats()["global"]
    assert (stats.dropped_graphs, stats.budgets, stats.hits) == (1, {"8": [16, 32]}, 0)
    assert "cannot be replayed (CUDA error: invalid resource handle): it is not used any more" in caplog.text
    encoded = manager.encode({"global": units[:2]})["global"]
    assert_as_alone(path, units[:2], encoded)
    assert {unit.use for unit in encoded} == {"hit"}


def test_more_frames_than_the_buffers_hold_run_eagerly() -> None:
    """vllm-omni #7650: an overflow of frames raised."""
    path = SequencePath(max_frames=3)
    manager = manager_of(path)
    manager.warm_up({"sequences": ["any"]})
    units = [path.unit([2, 2, 2, 2], 0)]
    encoded = manager.encode({"sequences": units})["sequences"]
    assert encoded[0].use == "miss"
    assert_as_alone(path, units, encoded)


class Reused(ViewPath):
    """Returns the same tensor from every forward, as a model with a workspace of its own may."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[int, Tensor] = {}

    def forward(self, inputs: Tensors) -> Tensors:
        outputs = super().forward(inputs)
        kept = self._kept.setdefault(len(outputs["tokens"]), outputs["tokens"].clone())
        return outputs | {"tokens": kept.copy_(outputs["tokens"])}


def test_results_outlive_the_next_replay() -> None:
    """The static output was returned to the caller and overwritten by the next replay."""
    path = Reused()
    manager = manager_of(path)
    manager.warm_up({"global": [8]})
    encoded: Sequence[object] = manager.encode({"global": [path.unit(8, seed) for seed in range(40)]})[
        "global"
    ]
    tokens = [unit.outputs["tokens"] for unit in encoded]  # type: ignore[attr-defined]
    assert all(not torch.equal(tokens[0], other) for other in tokens[1:])
