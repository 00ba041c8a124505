import os
from pathlib import Path

import pytest
import torch

from pipeline.config import Config
from pipeline.errors import ConfigError
from pipeline.loading import available_cpus, calm_threads, load_model, render_workers


def test_a_gpu_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="device: cuda"):
        load_model(Config(device="cuda"))


@pytest.mark.parametrize(("name", "dtype"), [("auto", torch.float32), ("bfloat16", torch.bfloat16)])
def test_the_number_format_on_a_cpu(name: str, dtype: torch.dtype, reader: Path) -> None:
    config = Config.model_validate({"model": str(reader), "device": "cpu", "dtype": name, "threads": 1})
    loaded = load_model(config)
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {dtype}
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize(
    ("dtype", "asked", "expected"),
    [
        ("float32", "bfloat16", torch.bfloat16),
        ("bfloat16", "float32", torch.float32),
        ("bfloat16", "auto", torch.bfloat16),
    ],
)
def test_the_encoder_may_have_a_number_format_of_its_own(
    dtype: str, asked: str, expected: torch.dtype, reader: Path
) -> None:
    values = {"model": str(reader), "device": "cpu", "dtype": dtype, "encoder": {"dtype": asked}}
    model = load_model(Config.model_validate(values)).model
    assert {parameter.dtype for parameter in model.encoder.parameters()} == {expected}
    assert model.dtype == model.language_model.embed_tokens.weight.dtype == getattr(torch, dtype)


def test_waiting_threads_sleep_unless_the_user_wants_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setenv("KMP_BLOCKTIME", "200")
    calm_threads()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert os.environ["KMP_BLOCKTIME"] == "200"


def test_workers_leave_cpus_to_the_model() -> None:
    assert 1 <= render_workers(Config()) <= max(1, available_cpus() // 2)
    assert render_workers(Config.model_validate({"render": {"workers": 5}})) == 5
