import pytest

from pipeline.errors import DeviceLostError
from pipeline.flow.faults import page_error


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


def test_a_lost_device_is_no_fault_of_the_page() -> None:
    error = RuntimeError("CUDA error: an illegal memory access was encountered")
    with pytest.raises(DeviceLostError, match="run again") as found:
        page_error("decode", error)
    assert found.value.__cause__ is error
