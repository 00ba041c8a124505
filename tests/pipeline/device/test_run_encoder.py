"""The run's encoder: what it warms up, what it records, and that failing graphs cost no page."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch

from encoders.deepseek.deep_encoder import DeepEncoder
from encoders.graphs.manager import EncoderGraphManager
from encoders.square_views import SquareViewPath
from ocr.checkpoints.checkpoint import LoadedModel
from pipeline.config.schema import Config
from pipeline.config.sources import load
from pipeline.device import run_encoder
from pipeline.device.run_encoder import CAPTURE_AFTER, RunEncoder
from pipeline.device.startup.loading import load_model, open_encoder
from pipeline.errors import ConfigError
from tests.encoders.deepseek.test_deep_encoder import random_page
from tests.ocr.tiny import relative_error
from tests.pipeline.winning import capture_that_wins

PAGES = [random_page(seed, grid=grid) for seed, grid in enumerate([(1, 1), (2, 1), (1, 2)])]


@pytest.fixture(scope="module")
def loaded(reader: Path) -> LoadedModel:
    return load_model(load(None, [f"model={reader}", "device=cpu", "threads=1"]))


# Graphs that the user asks for.
LISTED = ("encoder.max_items=4", "encoder.budgets.global=[64,128,256]")


def config(*sets: str) -> Config:
    return load(None, ["tile.mode=tiny", *sets])


def encode(encoder: RunEncoder) -> tuple[list[torch.Tensor], list[list[str]], list[list[str]]]:
    with torch.inference_mode():
        encoded = {path: encoder.encode_path(path, PAGES) for path in encoder.path_names}
        tokens = encoder.assemble(PAGES, {path: outputs for path, (outputs, _) in encoded.items()})
    global_uses, local_uses = ([list(page) for page in uses] for _, uses in encoded.values())
    return [page.tokens_TD for page in tokens], global_uses, local_uses


def expected(encoder: DeepEncoder) -> list[torch.Tensor]:
    with torch.inference_mode():
        return [page.tokens_TD for page in encoder.encode(PAGES)]


def recorded(encoder: RunEncoder) -> dict[str, dict[str, Any]]:
    """Returns the statistics as the database keeps them."""
    return {name: stats.summary() for name, stats in encoder.stats().items()}


def assert_right(found: list[torch.Tensor], encoder: DeepEncoder) -> None:
    for mine, other in zip(found, expected(encoder), strict=True):
        assert relative_error(mine, other) < 1e-5


def test_on_a_cpu_everything_is_eager_and_counted(loaded: LoadedModel) -> None:
    encoder = open_encoder(loaded, config())
    encoder.warm_up()
    tokens, global_uses, local_uses = encode(encoder)
    encoder.close()
    encoder.close()
    assert_right(tokens, loaded.model.encoder)
    assert global_uses == [["eager"]] * 3
    assert local_uses == [[], ["eager"] * 2, ["eager"] * 2]
    record = recorded(encoder)
    assert [record[name]["eager"] for name in ("global", "local")] == [3, 4]
    assert record["global"]["replays"] == 0


@pytest.mark.slow
def test_graphs_that_the_user_lists_are_captured_at_once_and_replayed(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture_that_wins(monkeypatch)
    encoder = open_encoder(loaded, config(*LISTED))
    encoder.warm_up()
    tokens, global_uses, local_uses = encode(encoder)
    encoder.close()
    assert_right(tokens, loaded.model.encoder)
    assert global_uses == [["hit"]] * 3
    assert local_uses == [[], ["eager"] * 2, ["eager"] * 2], "no graphs were asked for there"
    record = recorded(encoder)
    assert record["global"]["budgets"] == {"512": [64, 128, 256]}
    assert record["global"]["hits"] == 3
    assert record["local"]["eager"] == 4
    assert encoder.capture_s > 0


@pytest.mark.slow
@pytest.mark.parametrize("budgets", ["null", "auto"])
def test_a_trickle_of_small_batches_gets_its_graphs(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, budgets: str
) -> None:
    capture_that_wins(monkeypatch)
    encoder = open_encoder(loaded, config(f"encoder.budgets={budgets}"))
    encoder.warm_up()
    uses = []
    with caplog.at_level(logging.INFO, logger="ocrbatch"):
        for _ in range(CAPTURE_AFTER + 2):
            encoder.begin_batch()
            tokens, global_uses, local_uses = encode(encoder)
            uses.append((global_uses[0][0], local_uses[1][0]))
    assert_right(tokens, loaded.model.encoder)
    assert uses == [("eager", "eager")] * CAPTURE_AFTER + [("hit", "hit")] * 2
    assert caplog.text.count("encoder graphs captured in") == 1
    three_views = {"512": [192 if budgets == "auto" else 256]}
    assert recorded(encoder)["global"]["budgets"] == three_views, "of a batch's size alone"
    encoder.close()


def test_statistics_are_logged_every_hundred_batches(
    loaded: LoadedModel, caplog: pytest.LogCaptureFixture
) -> None:
    encoder = open_encoder(loaded, config())
    encode(encoder)
    with caplog.at_level(logging.INFO, logger="ocrbatch"):
        for _ in range(202):
            encoder.begin_batch()
    counts = "global 0 hits, 0 misses, 3 eager, padding 0.0%; local 0 hits, 0 misses, 4 eager, padding 0.0%"
    assert [entry.getMessage() for entry in caplog.records] == [
        f"encoder after {number} batches: {counts}" for number in (100, 200)
    ]


@pytest.mark.parametrize("is_small", [False, True])
def test_large_batches_are_captured_for_a_small_encoder_alone(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch, *, is_small: bool
) -> None:
    """A large one computes for longer than it takes to launch; a small one's launches were half of a run's time."""
    capture_that_wins(monkeypatch)
    if not is_small:
        monkeypatch.setattr(run_encoder, "_SMALL_BYTES", 0)
        monkeypatch.setattr(EncoderGraphManager, "_add", lambda *_: pytest.fail("captured"))
    encoder = open_encoder(loaded, config())
    pages = [random_page(seed, grid=(1, 1)) for seed in range(32)]
    monkeypatch.setattr(SquareViewPath, "forward", _no_model)
    uses = []
    for _ in range(CAPTURE_AFTER + 2):
        encoder.begin_batch()
        (use,) = {use for (use,) in encoder.encode_path("global", pages)[1]}
        uses.append(use)
    assert uses == ["eager"] * CAPTURE_AFTER + ["hit" if is_small else "eager"] * 2
    encoder.close()


def _no_model(self: SquareViewPath, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"tokens": torch.zeros(len(inputs["pixels"]), 64, 64)}


def test_off_captures_nothing(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    capture_that_wins(monkeypatch)
    encoder = open_encoder(loaded, config("encoder.graphs=off"))
    encoder.warm_up()
    assert encode(encoder)[1] == [["eager"]] * 3


@pytest.mark.slow
@pytest.mark.parametrize("breaks", ["warm_up", "capture_due"])
def test_graphs_that_fail_are_done_without(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, breaks: str
) -> None:
    def fails(self: EncoderGraphManager, *args: Any) -> None:
        raise RuntimeError("operation not permitted\nwhen stream is capturing")

    capture_that_wins(monkeypatch)
    monkeypatch.setattr(EncoderGraphManager, breaks, fails)
    encoder = open_encoder(loaded, config(*LISTED))
    with caplog.at_level(logging.WARNING, logger="ocrbatch"):
        encoder.warm_up()
        before = encode(encoder)[1]
        if breaks == "capture_due":
            encoder.begin_batch()
    (message,) = [entry.getMessage() for entry in caplog.records if entry.name == "ocrbatch"]
    assert "not permitted when stream is capturing" in message
    assert "encoder.graphs: off" in message
    tokens, uses, _ = encode(encoder)
    encoder.close()
    assert_right(tokens, loaded.model.encoder)
    assert uses == [["eager"]] * 3
    record = recorded(encoder)["global"]
    replayed = 0 if before == [["eager"]] * 3 else 3
    assert (record["hits"], record["eager"]) == (replayed, 6 - replayed), "of both managers"
    assert replayed == (0 if breaks == "warm_up" else 3)
    assert record["graph_mib"] == 0


def test_a_budget_that_the_limit_can_never_hold_is_the_users_to_change(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    impossible = config("encoder.budgets.global=[64]", "encoder.memory_limit=100kB")
    without_graphs = open_encoder(loaded, impossible)
    without_graphs.warm_up()
    assert encode(without_graphs)[1] == [["eager"]] * 3
    capture_that_wins(monkeypatch)
    encoder = open_encoder(loaded, impossible)
    with pytest.raises(ConfigError, match=r"^encoder\.budgets\.global: 64 tokens need \d+ bytes"):
        encoder.warm_up()


def test_a_lost_device_does_not_hide_the_error_that_ended_the_run(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: EncoderGraphManager) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    encoder = open_encoder(loaded, config())
    monkeypatch.setattr(EncoderGraphManager, "close", fails)
    encoder.close()
    assert set(recorded(encoder)) == {"global", "local"}


@pytest.mark.parametrize("error", [RuntimeError("no"), ValueError("no"), Exception("OutOfResources")])
def test_whatever_a_capture_raises_costs_the_graphs_only(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(self: EncoderGraphManager, *args: Any) -> None:
        raise error

    monkeypatch.setattr(EncoderGraphManager, "warm_up", fails)
    encoder = open_encoder(loaded, config())
    encoder.warm_up()
    assert encode(encoder)[1] == [["eager"]] * 3


def test_an_interrupt_ends_the_warm_up(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: EncoderGraphManager, *args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(EncoderGraphManager, "warm_up", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_encoder(loaded, config()).warm_up()


@pytest.mark.slow
def test_graphs_are_given_back_for_other_work(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    capture_that_wins(monkeypatch)
    encoder = open_encoder(loaded, config(*LISTED))
    assert not encoder.release(), "there are none yet"
    encoder.warm_up()
    assert encode(encoder)[1] == [["hit"]] * 3
    with caplog.at_level(logging.WARNING, logger="ocrbatch"):
        assert encoder.release()
        assert not encoder.release()
    assert caplog.text.count("not enough memory") == 1
    tokens, uses, _ = encode(encoder)
    assert_right(tokens, loaded.model.encoder)
    assert uses == [["eager"]] * 3
    record = recorded(encoder)["global"]
    assert (record["hits"], record["eager"], record["graph_bytes"]) == (3, 3, 0)
    encoder.close()


@pytest.mark.parametrize(("mode", "warnings"), [("tiny", 1), ("gundam", 0)])
def test_budgets_for_tiles_that_never_come_are_pointed_out(
    loaded: LoadedModel, caplog: pytest.LogCaptureFixture, mode: str, warnings: int
) -> None:
    settings = load(None, [f"tile.mode={mode}", "encoder.budgets.local=[100]"])
    with caplog.at_level(logging.WARNING, logger="ocrbatch"):
        open_encoder(loaded, settings)
    assert caplog.text.count("encoder.budgets.local has no effect: tile.mode tiny") == warnings


def test_graphs_that_are_asked_for_in_vain_are_pointed_out(
    loaded: LoadedModel, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="ocrbatch"):
        open_encoder(loaded, config("encoder.graphs=on"))
    assert "encoder.graphs: on has no effect: graphs need an NVIDIA GPU" in caplog.text


def test_budgets_for_a_path_of_another_family_are_refused(loaded: LoadedModel) -> None:
    with pytest.raises(
        ConfigError, match=r"encoder\.budgets\.slices: this model has no such path; it has global, local"
    ):
        open_encoder(loaded, config("encoder.budgets.slices=[64]"))
