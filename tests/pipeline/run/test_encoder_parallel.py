"""Runs whose encoder is shared out over devices: the same tokens as with one, and no page lost with a device.

On a CPU the devices are all the CPU, each with a thread and graphs of its own; on GPUs tokens are compared in float32,
so that batches of other sizes change no rounding that tokens hang on.
"""

import logging
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from encoders.graphs.manager import EncoderGraphManager
from pipeline.config.schema import Config
from pipeline.device.startup import loading
from pipeline.errors import ConfigError
from tests.pipeline.checkpoints import PAGE_MODEL
from tests.pipeline.conftest import Batch
from tests.pipeline.run.test_run_families import config_of
from tests.pipeline.run.test_run_graphs import CASES, read, save_inputs
from tests.pipeline.runs import changed, encode_together, run_quietly
from tests.pipeline.winning import capture_that_wins

_GPUS = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]
_RUNS = [
    *(
        pytest.param(name, "auto", marks=[] if name == "Qwen3-VL" else pytest.mark.slow)
        for name in ("DeepSeek-OCR", "Qwen3-VL")
    ),
    *(pytest.param(name, "cuda", marks=_GPUS) for name in CASES),
]


def config_for(name: str, device: str, docs: Path, database: str, tmp_path: Path) -> Config:
    """Returns the configuration of a run over pages of noise, which it writes, with a tiny model."""
    case = CASES[name]
    save_inputs(case, docs)
    random = np.random.default_rng(1)
    for number in range(3):
        pixels = random.integers(48 * number, 256, (90 + 30 * number, 110, 3), np.uint8)
        Image.fromarray(pixels).save(docs / f"more{number}.png")
    config = config_of(
        case.save(tmp_path / "model"),
        docs,
        database,
        device=device,
        dtype="float32",
        ingest={"paths": [str(docs)], "video": bool(case.num_frames)},
    )
    return changed(config, decode={"max_tokens": case.max_tokens}, run={"force": True})


def ranks_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "rank_devices", lambda first, number: [first] * number)


@pytest.mark.parametrize(("name", "device"), _RUNS)
@pytest.mark.parametrize("graphs", ["off", "on"])
def test_tokens_are_those_of_one_device(
    name: str, device: str, graphs: str, batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    if device == "auto":
        ranks_on_the_cpu(monkeypatch)
        if graphs == "on":
            capture_that_wins(monkeypatch)
    encode_together(monkeypatch, 5)
    config = config_for(name, device, batch.docs, batch.database, tmp_path)
    budgets = case.budgets if graphs == "on" else None
    config = changed(config, encoder={"graphs": graphs, "max_items": 4, "budgets": budgets})
    alone, by_one, _ = read(config, monkeypatch)
    asked: set[str] = set()
    encode = EncoderGraphManager.encode

    def noted(self: EncoderGraphManager, units: Any) -> Any:
        asked.add(threading.current_thread().name)
        return encode(self, units)

    with monkeypatch.context() as patched:
        patched.setattr(EncoderGraphManager, "encode", noted)
        shared, by_two, _ = read(changed(config, cluster={"encoder_parallel": 2}), monkeypatch)
    assert len(asked) == 2, "both devices have encoded"
    assert len(set(alone.values())) == len(alone) > 3, "what is written depends on what is seen"
    assert shared == alone
    assert set(by_two) == case.paths
    for path, stats in by_two.items():
        assert stats["units"] == by_one[path]["units"]
        assert (stats["nan_traps"], stats["parity_failures"], stats["dropped_graphs"]) == (0, 0, 0)
        if graphs == "on":
            assert stats["hits"] == by_one[path]["hits"] > 0


@pytest.mark.parametrize("device", ["auto", pytest.param("cuda", marks=_GPUS)])
def test_a_device_that_fails_costs_no_page(
    device: str,
    batch: Batch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if device == "auto":
        ranks_on_the_cpu(monkeypatch)
    encode_together(monkeypatch, 7)
    config = config_for("Qwen3-VL", device, batch.docs, batch.database, tmp_path)
    # With a second video, each device gets pages and then videos.
    first, *rest = [Image.effect_noise((40, 30), 90) for _ in range(4)]
    first.save(batch.docs / "more.gif", save_all=True, append_images=rest)
    expected, _, _ = read(config, monkeypatch)
    encode, calls = EncoderGraphManager.encode, []

    def fails_later(self: EncoderGraphManager, units: Any) -> Any:
        if threading.current_thread().name != "model":
            calls.append(units)
            if len(calls) == 2:
                raise RuntimeError("this device is gone")
        return encode(self, units)

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(EncoderGraphManager, "encode", fails_later)
        found, _, summary = read(changed(config, cluster={"encoder_parallel": 2}), monkeypatch)
    assert found == expected
    assert len(calls) == 2
    assert caplog.text.count("encodes no more: RuntimeError: this device is gone") == 1
    assert summary.pages["failed"] == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "cpu"}, "device is cpu; use device: cuda"),
        ({"cluster": {"workers": 2}}, "workers have a GPU each"),
        ({"cluster": {"workers": "auto"}}, "workers have a GPU each"),
        ({"model": "small"}, "lines are read on one GPU; name a page model"),
    ],
)
def test_what_cannot_act_is_refused_by_name(settings: dict[str, Any], message: str, docs: Path) -> None:
    sections = {"ingest": {"paths": [str(docs)]}, "model": PAGE_MODEL} | settings
    sections["cluster"] = {"encoder_parallel": 2} | sections.get("cluster", {})
    with pytest.raises(ConfigError, match=f"^cluster.encoder_parallel: 2: {message}"):
        run_quietly(Config.model_validate(sections))


def test_more_devices_than_there_are_are_refused(batch: Batch, tmp_path: Path) -> None:
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    config = config_for("Qwen3-VL", "auto", batch.docs, batch.database, tmp_path)
    with pytest.raises(
        ConfigError, match=rf"encoder_parallel: 99: .* {there} GPUs here; set at most that many"
    ):
        run_quietly(changed(config, cluster={"encoder_parallel": 99}))


def test_an_encoder_that_takes_whole_pages_says_so(
    batch: Batch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from tests.pipeline.run.test_run_families import published

    Image.effect_noise((90, 60), 90).save(batch.docs / "a.png")
    model = published("granite_docling")(tmp_path / "model")
    config = changed(
        config_of(model, batch.docs, batch.database, device="auto"), cluster={"encoder_parallel": 2}
    )
    with caplog.at_level(logging.WARNING):
        assert not run_quietly(config).pages["failed"]
    assert "cluster.encoder_parallel: 2 has no effect: this model's encoder takes whole pages" in caplog.text
