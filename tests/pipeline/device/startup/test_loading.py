import builtins
import importlib.metadata
import logging
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.gpu.reader import PagedReader, UnusableError
from ocr.model_files import locate
from pipeline.config.schema import Config
from pipeline.device import gpu_meter
from pipeline.device.sizes import DECODE_SLOTS
from pipeline.device.startup import loading
from pipeline.device.startup.loading import (
    available_cpus,
    calm_threads,
    count_gpus,
    line_gpus,
    line_readers,
    load_model,
    open_paged,
    render_workers,
    rereadings,
    threads_each,
    wake_device,
)
from pipeline.errors import ConfigError, DeviceLostError


def test_a_gpu_that_is_not_there_is_named(reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="device: cuda"):
        load_model(Config(model=str(reader), device="cuda"))


def products(module: torch.nn.Module) -> set[torch.dtype]:
    """The number formats that linear layers multiply in."""
    return {its.weight.dtype for its in module.modules() if isinstance(its, torch.nn.Linear)}


@pytest.mark.parametrize(
    ("dtype", "asked", "decoder", "encoder"),
    [
        ("auto", "auto", torch.float32, torch.float32),
        ("auto", "float32", torch.float32, torch.float32),
        ("auto", "bfloat16", torch.float32, torch.bfloat16),
        ("float32", "auto", torch.float32, torch.float32),
        ("bfloat16", "auto", torch.bfloat16, torch.bfloat16),
        ("bfloat16", "float32", torch.bfloat16, torch.float32),
    ],
)
def test_the_number_formats_on_a_cpu(
    dtype: str, asked: str, decoder: torch.dtype, encoder: torch.dtype, reader: Path
) -> None:
    values = {
        "model": str(reader),
        "device": "cpu",
        "dtype": dtype,
        "encoder": {"dtype": asked},
        "threads": 1,
    }
    model = load_model(Config.model_validate(values)).model
    assert products(model.language_model) == {decoder}
    assert products(model.encoder) == {encoder}
    assert model.lm_head.weight.dtype == model.dtype == decoder
    assert torch.get_num_threads() == 1


def test_waiting_threads_sleep_unless_the_user_wants_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setenv("KMP_BLOCKTIME", "200")
    calm_threads()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert os.environ["KMP_BLOCKTIME"] == "200"


@pytest.mark.parametrize(("cpus", "expected"), [(1, 1), (2, 1), (3, 1), (16, 8)])
def test_encoder_and_language_model_share_the_cpus(
    cpus: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "available_cpus", lambda: cpus)
    assert threads_each() == expected


def test_workers_leave_cpus_to_the_model() -> None:
    assert 1 <= render_workers(Config()) <= max(1, available_cpus() // 2)
    assert render_workers(Config.model_validate({"render": {"workers": 5}})) == 5


@pytest.mark.parametrize(("cpus", "expected"), [(1, 1), (2, 2), (4, 3), (16, 12), (64, 16)])
def test_line_readers_leave_some_cpus_to_the_workers(
    monkeypatch: pytest.MonkeyPatch, cpus: int, expected: int
) -> None:
    monkeypatch.setattr("pipeline.device.startup.loading.available_cpus", lambda: cpus)
    assert line_readers(Config()) == expected
    assert line_readers(Config(threads=5)) == 5


def test_waking_a_device_never_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "ocrbatch")
    wake_device(torch.device("cpu"))
    assert not caplog.records

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("CUDA error: unknown error")

    monkeypatch.setattr(torch, "ones", fails)
    wake_device(torch.device("cuda"))
    assert [record.getMessage() for record in caplog.records] == ["the device does not wake up"]


def test_a_process_does_not_end_while_it_wakes_the_gpu() -> None:
    """A thread that the interpreter's end stops within an operator of PyTorch crashes the process."""
    code = """
import time
from pipeline.device.startup import loading
loading.wake_device = lambda device: (time.sleep(0.3), print("awake"))
loading.begin_waking()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "awake\n"


def test_the_weights_are_read_ahead_of_the_imports(reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead: list[Path] = []
    monkeypatch.setattr(locate, "read_ahead", ahead.extend)
    load_model(Config.model_validate({"model": str(reader), "device": "cpu", "threads": 1}))
    assert ahead == [reader / "model.safetensors"]
    monkeypatch.undo()
    locate.read_ahead([*ahead, reader / "not there"])


def loaded_on(device: str, dtype: torch.dtype) -> LoadedModel:
    """The part of a model that is checked before anything is opened."""
    model: Any = SimpleNamespace(device=torch.device(device), dtype=dtype)
    unused: Any = None
    return LoadedModel(
        model=model, tokenizer=unused, name="", prompt="", bos_id=0,
        eos_id=1,
    )  # fmt: skip


@pytest.mark.parametrize(("batch_size", "slots"), [(None, 256), (7, 7)])
def test_a_gpu_with_16_bits_has_a_paged_engine(
    batch_size: int | None, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[dict[str, Any]] = []
    monkeypatch.setattr(PagedReader, "open", lambda loaded, **how: opened.append(how) or "opened")
    config = Config.model_validate({"decode": {"batch_size": batch_size, "max_tokens": 500}})
    assert open_paged(loaded_on("cuda", torch.bfloat16), config) == "opened"
    assert opened == [{"prompt": "", "slots": slots, "max_tokens": 500}]


@pytest.mark.parametrize(("device", "dtype"), [("cpu", torch.bfloat16), ("cuda", torch.float32)])
def test_elsewhere_there_is_none_and_nothing_is_said(
    device: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(PagedReader, "open", lambda *_, **__: pytest.fail("opened"))
    assert open_paged(loaded_on(device, dtype), Config()) is None
    assert not caplog.records


@pytest.mark.parametrize(
    "error",
    [UnusableError("heads of 24"), RuntimeError("heads of 24"), torch.OutOfMemoryError("heads of 24")],
)
def test_a_paged_engine_that_cannot_be_used_is_one_warning(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(PagedReader, "open", failing)
    caplog.set_level(logging.WARNING, "ocrbatch")  # the command line's --quiet lowers it for good
    assert open_paged(loaded_on("cuda", torch.bfloat16), Config()) is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"{type(error).__name__}: heads of 24; going on without it" in record.getMessage()


def test_without_its_libraries_there_is_no_paged_engine(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "ocr.decoding.gpu.reader":
            raise ImportError("no triton")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    caplog.set_level(logging.WARNING, "ocrbatch")
    assert open_paged(loaded_on("cuda", torch.bfloat16), Config()) is None
    assert "no triton" in caplog.text


def test_what_ends_the_run_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise DeviceLostError("gone")

    monkeypatch.setattr(PagedReader, "open", lost)
    with pytest.raises(DeviceLostError):
        open_paged(loaded_on("cuda", torch.bfloat16), Config())


def _with_gpus(monkeypatch: pytest.MonkeyPatch, gib: tuple[int, ...], cpus: int = 16) -> None:
    nvml = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: len(gib),
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetMemoryInfo=lambda index: SimpleNamespace(total=gib[index] << 30),
    )
    monkeypatch.setattr(gpu_meter, "_nvml", lambda: nvml)
    monkeypatch.setattr(loading, "_may_have_gpu", lambda: True)
    monkeypatch.setattr(loading, "available_cpus", lambda: cpus)


@pytest.mark.parametrize(
    ("num_gpus", "cpus", "visible", "expected"),
    [
        (4, 64, None, ["0", "1", "2", "3"]),
        (4, 16, None, ["0", "1"]),
        (2, 4, None, ["0"]),
        (0, 64, None, ["0"]),
        (4, 64, "2,GPU-1", ["2", "GPU-1"]),
    ],
)
def test_lines_are_read_on_all_gpus_that_the_cpus_can_use(
    num_gpus: int, cpus: int, visible: str | None, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_gpus(monkeypatch, (80,) * num_gpus, cpus)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert line_gpus(Config()) == expected
    assert line_gpus(Config(device="cpu")) == []


@pytest.mark.parametrize(
    ("values", "has_gpu", "expected"),
    [
        ({}, False, "lines"),
        ({}, True, "layer"),
        ({"device": "cpu"}, True, "lines"),
        ({"words": "lines"}, True, "lines"),
        ({"words": "off"}, False, "off"),
    ],
)
def test_the_line_reader_finds_no_words_beside_a_gpu_unasked(
    values: dict[str, Any], has_gpu: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "_may_have_gpu", lambda: has_gpu)
    assert loading.with_word_use(Config.model_validate(values)).words == expected


@pytest.mark.parametrize(
    ("visible", "has_driver", "expected"),
    [(None, True, True), ("0,1", True, True), ("", True, False), ("-1", True, False), (None, False, False)],
)
def test_a_gpu_may_be_there_where_a_driver_is(
    visible: str | None, has_driver: bool, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    driver = tmp_path / "nvidiactl"
    if has_driver:
        driver.touch()
    monkeypatch.setattr(loading, "_DRIVERS", (str(driver),))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert loading._may_have_gpu() is expected


def test_beside_a_gpu_more_pages_are_read_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "available_cpus", lambda: 16)
    config = Config.model_validate({"run": {"inflight_mb": 4096}})
    assert (rereadings(config, "cpu"), rereadings(config, "cuda")) == (8, 128)
    assert rereadings(Config.model_validate({"run": {"inflight_mb": 64}}), "cuda") == 8
    assert rereadings(Config.model_validate({"render": {"workers": 1}}), "cpu") == DECODE_SLOTS["cpu"]


@pytest.mark.parametrize(
    ("visible", "build", "expected"),
    [
        (None, "cu130", 4),
        ("0,2", "cu130", 2),
        (None, "cpu", 0),
        ("GPU-1f", "cu130", None),
        ("0,7", "cu130", None),
    ],
)
def test_gpus_are_counted_without_torch_where_the_driver_knows_them(
    visible: str | None, build: str, expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "_may_have_gpu", lambda: True)
    monkeypatch.setattr(gpu_meter, "gpu_bytes", lambda: [80 << 30] * 4)
    monkeypatch.setattr(importlib.metadata, "version", lambda _: f"2.11.0+{build}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it fails
    if expected is None:
        with pytest.raises(ImportError):
            count_gpus()
    else:
        assert count_gpus() == expected
