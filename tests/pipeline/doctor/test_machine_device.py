"""Reports about devices that are not here; the GPU's own checks run where there is one."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pipeline.config.schema import Config
from pipeline.doctor import machine_checks as machine
from pipeline.doctor.examination import Finding
from tests.interpreter import interpreted, not_interpreted, run_interpreted


def found(**keys: Any) -> dict[str, Finding]:
    return {finding.what: finding for finding in machine.check_device(Config(**keys))}


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(machine, "ask_driver", lambda ask: None)


@pytest.mark.usefixtures("no_gpu")
def test_a_cpu_says_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_cpu_flags", lambda: frozenset({"sse2", "amx_bf16"}))
    findings = found()
    assert set(findings) == {"PyTorch", "device"}
    assert findings["device"].state == "ok"
    assert findings["device"].found.startswith("no GPU: runs on the CPU, ")
    assert findings["device"].found.endswith("AMX found, AVX-512 bf16 not found")


@pytest.mark.usefixtures("no_gpu")
def test_a_gpu_that_is_asked_for_and_not_here() -> None:
    assert found(device="cuda")["GPU"].state == "FAIL"
    assert "device" not in found(device="cuda")
    assert found(device="cpu")["device"].found.startswith("configured: ")


@pytest.mark.parametrize(("build", "state"), [(None, "note"), ("13.0", "FAIL")])
def test_a_gpu_that_pytorch_does_not_use(
    build: str | None, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", build)
    monkeypatch.setattr(machine, "ask_driver", lambda ask: "NVIDIA X")
    finding = found()["GPU"]
    assert finding.state == state
    assert "NVIDIA X" in finding.found


@pytest.mark.parametrize(
    ("major", "minor", "archs", "state"),
    [
        (9, 0, ["sm_80", "sm_90a"], "ok"),
        (8, 9, ["sm_80"], "ok"),
        (12, 0, ["sm_90"], "FAIL"),
        (7, 5, ["sm_75"], "note"),
    ],
)
def test_architectures(major: int, minor: int, archs: list[str], state: str) -> None:
    properties = SimpleNamespace(name="X", total_memory=1 << 34, major=major, minor=minor)
    cuda = SimpleNamespace(get_device_properties=lambda _: properties, get_arch_list=lambda: archs)
    finding = machine._gpu(SimpleNamespace(cuda=cuda), "cuda:0")
    assert finding.state == state
    assert f"compute capability {major}.{minor}" in finding.found


def test_a_gpu_check_that_breaks_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Finding:
        raise RuntimeError("CUDA error:\nno kernel image")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(machine, "_gpu", lambda *_: Finding(state="ok", what="GPU", found="X"))
    for name in ("_product", "_triton", "_graph"):
        monkeypatch.setattr(machine, name, broken)
    findings = found()
    assert [findings[what].state for what in ("GPU product", "Triton", "CUDA graph")] == ["FAIL"] * 3
    assert "RuntimeError: CUDA error: no kernel image" in findings["CUDA graph"].found


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_real_gpu() -> None:
    findings = found()
    assert {findings[what].state for what in ("GPU", "GPU product", "Triton", "CUDA graph")} == {"ok"}


@pytest.mark.slow
@not_interpreted
def test_through_the_interpreter() -> None:
    pytest.importorskip("triton")
    run_interpreted(Path(__file__))


@interpreted
def test_the_kernel_doubles() -> None:
    from pipeline.doctor.triton_probe import double

    values = torch.arange(1000, dtype=torch.float32)
    assert torch.equal(double(values), values * 2)
