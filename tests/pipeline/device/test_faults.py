import pytest

from pipeline.device.faults import before_any_page, failed_pages, lost_pages, page_error
from pipeline.device.tickets import Ticket
from pipeline.errors import ConfigError, DeviceLostError, ModelMemoryError
from pipeline.outcome.results import blank_result
from tests.pipeline.device.fakes import rendered, ticket

LOST = RuntimeError("CUDA error: an illegal memory access was encountered")


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:117] data. DefaultCPUAllocator: not enough memory: you tried"
        ),
        MemoryError(),
    ],
)
def test_memory_that_ran_out_is_told_from_bugs(error: Exception) -> None:
    assert page_error("decode", error).category == "out_of_memory"


def test_a_bug_is_the_pages_failure_in_one_line() -> None:
    found = page_error("encode", ValueError("first\n   second " + "x" * 1000))
    assert (found.stage, found.category) == ("encode", "internal")
    assert found.message.startswith("ValueError: first second xxx")
    assert len(found.message) == 500


@pytest.mark.parametrize(
    "error", [LOST, RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered")]
)
def test_a_lost_device_is_no_fault_of_the_page(error: Exception) -> None:
    with pytest.raises(DeviceLostError, match="run again") as found:
        page_error("decode", error)
    assert found.value.__cause__ is error


def test_a_kernel_that_does_not_run_here_is_no_lost_device() -> None:
    error = RuntimeError("Triton Error [CUDA]: no kernel image is available for execution on the device")
    assert page_error("decode", error).category == "internal"


@pytest.mark.parametrize(
    ("error", "kind", "remedy"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), ModelMemoryError, "device: cpu"),
        (MemoryError(), ModelMemoryError, "run.inflight_mb"),
        (OSError(12, "Cannot allocate memory"), ModelMemoryError, "a smaller model"),
        (LOST, DeviceLostError, "nvidia-smi"),
        (ConfigError("no such device"), ConfigError, "no such device"),
        (KeyError("a bug"), KeyError, "a bug"),
    ],
)
def test_what_fails_before_any_page_says_what_to_do(
    error: Exception, kind: type[Exception], remedy: str
) -> None:
    with pytest.raises(kind, match=remedy), before_any_page():
        raise error


def lost(error: Exception = LOST) -> DeviceLostError:
    with pytest.raises(DeviceLostError) as found:
        page_error("decode", error)
    return found.value


def test_a_lost_device_is_an_attempt_at_every_page_that_was_on_it() -> None:
    held = {"encode": [Ticket(rendered=rendered(0)), Ticket(rendered=rendered(1))], "decode": [ticket(2)]}
    found = failed_pages(lost_pages(lost(), held))
    assert [(result.page.page_index, result.status) for result in found] == [
        (number, "failed") for number in range(3)
    ]
    errors = [result.error for result in found if result.error]
    assert [(error.stage, error.category) for error in errors] == [
        ("encode", "device_lost"),
        ("encode", "device_lost"),
        ("decode", "device_lost"),
    ]
    assert "with 2 others: RuntimeError: CUDA error: an illegal memory access" in errors[0].message
    assert [timing.stage for timing in found[0].timings] == ["render"]


def test_what_ended_meanwhile_is_no_attempt() -> None:
    held, ended, left = (Ticket(rendered=rendered(number)) for number in range(3))
    found = lost_pages(lost(), {"encode": [held, ended, left]})
    ended.settle(blank_result(ended.rendered))
    left.outcome.cancel()  # as nobody waits any more
    assert [result.page.page_index for result in failed_pages(found)] == [0, 2]


@pytest.mark.parametrize(("error", "count"), [(ConfigError("budgets"), 0), (ValueError("a bug"), 1)])
def test_other_ends_are_a_pages_only_where_nobody_knows_better(error: Exception, count: int) -> None:
    found = failed_pages(lost_pages(error, {"encode": [Ticket(rendered=rendered(0))]}))
    assert [result.error.category for result in found if result.error] == ["model_ended"] * count
