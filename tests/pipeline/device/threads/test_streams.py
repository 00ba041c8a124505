import contextlib
import sys
import threading

import pytest
import torch

from pipeline.device.threads.streams import own_stream, quick_turns, share_cpus, try_device

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(("device", "shorter"), [(CPU, False), (GPU, True)])
def test_turns_are_quick_beside_a_gpu_and_as_before_after_it(device: torch.device, shorter: bool) -> None:
    before = sys.getswitchinterval()
    with quick_turns(device):
        assert (sys.getswitchinterval() < before) == shorter
    assert sys.getswitchinterval() == before


def test_threads_are_the_calling_threads_own() -> None:
    found: list[int] = []

    def work(device: torch.device, num_threads: int) -> None:
        share_cpus(device, num_threads)
        found.append(torch.get_num_threads())

    before = torch.get_num_threads()
    for device, num_threads in ((CPU, 3), (GPU, 3)):
        thread = threading.Thread(target=work, args=(device, num_threads))
        thread.start()
        thread.join()
    assert found == [3, 1]
    assert torch.get_num_threads() == before


def test_a_cpu_has_no_streams() -> None:
    with own_stream(CPU) as stream:
        assert stream is None


@pytest.mark.parametrize(
    ("error", "is_raised"),
    [(torch.OutOfMemoryError("CUDA out of memory"), False), (RuntimeError("CUDA error: unknown"), True)],
)
def test_a_gpu_that_computes_nothing_is_found_and_one_that_is_full_is_not_that(
    error: Exception, is_raised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ones(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(torch, "ones", ones)
    try_device(CPU)
    with pytest.raises(RuntimeError, match="unknown") if is_raised else contextlib.nullcontext():
        try_device(GPU)
