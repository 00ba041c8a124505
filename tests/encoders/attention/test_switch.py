"""Kernels that do not run, on a CPU: what stands in for them raises what Triton raises, or computes."""

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import encoders.attention as attention
import encoders.pointwise as pointwise
from encoders.attention import grid_attention, switch, window_attention
from encoders.pointwise import add_norm, quick_gelu
from tests.encoders.attention.attention_cases import random_case, random_page
from tests.encoders.pointwise.pointwise_cases import random_norm

Use = Callable[[], Any]


class OutOfResourcesError(Exception):
    """An error like Triton's, which is no RuntimeError."""


class Kernels(SimpleNamespace):
    """Takes everything, and raises instead of computing."""

    def __init__(self, error: Exception) -> None:
        super().__init__(calls=0, error=error)
        self.supports = self.supports_norm = lambda *arguments: True
        self.attend = self.add_norm = self.quick_gelu = self._fail

    def _fail(self, *arguments: object) -> None:
        self.calls += 1
        raise self.error


@pytest.fixture(autouse=True)
def nothing_failed_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "_failed", set())


def uses() -> list[tuple[Any, str, Use]]:
    """Module, name of its kernels there, and an operation that would use them."""
    grid, page = random_case(5, head_dim=16), random_page(5, window=3, head_dim=16)
    norm, x, delta = random_norm(24, (3,))
    return [
        (attention, "fused_grid", lambda: grid_attention(*grid.arguments)),
        (attention, "fused_windows", lambda: window_attention(*page.arguments)),
        (pointwise, "fused", lambda: add_norm(x, delta, norm)[1]),
        (pointwise, "fused", lambda: quick_gelu(x.clone())),
    ]


@pytest.mark.parametrize(
    "error", [RuntimeError("Failed to find C compiler"), OutOfResourcesError("shared memory")]
)
@pytest.mark.parametrize("which", range(4))
def test_operators_take_the_place_of_a_kernel_that_does_not_run(
    which: int, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module, name, use = uses()[which]
    want = use()
    kernels = Kernels(error)
    monkeypatch.setattr(module, name, kernels)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert torch.equal(use(), want)
    assert kernels.calls == 1, "it is not tried again"
    (record,) = caplog.records
    assert str(error) in record.getMessage()


@pytest.mark.parametrize("which", range(4))
def test_no_memory_is_not_the_kernels_fault(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, use = uses()[which]
    kernels = Kernels(torch.OutOfMemoryError("no memory"))
    monkeypatch.setattr(module, name, kernels)
    for _ in range(2):
        with pytest.raises(torch.OutOfMemoryError):
            use()
    assert kernels.calls == 2


def test_an_error_in_a_capture_ends_the_capture_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    device = torch.device("cuda:0")
    with pytest.raises(RuntimeError, match="not permitted"):
        switch.give_up("add_norm", device, RuntimeError("operation not permitted"))
    assert switch.kernel_allowed("add_norm", device)


def test_a_kernel_is_given_up_on_its_own_device_only() -> None:
    switch.give_up("add_norm", torch.device("cpu"), RuntimeError("no"))
    assert not switch.kernel_allowed("add_norm", torch.device("cpu"))
    assert switch.kernel_allowed("add_norm", torch.device("cuda:0"))
    assert switch.kernel_allowed("quick_gelu", torch.device("cpu"))
