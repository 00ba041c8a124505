import time
from collections.abc import Iterator

from pipeline.inputs import Inputs
from pipeline.types import Document
from pipeline.walk import Candidate, Found

REFUSED = Document(
    path="a", sha256=None, size_bytes=0, kind=None, num_pages=0, status="skipped", reason="a pipe"
)


def files(number: int, pause_s: float = 0.0) -> Iterator[Found]:
    for index in range(number):
        time.sleep(pause_s)
        yield Candidate(path=str(index), relative=str(index))


def test_what_was_taken_and_what_is_left_are_counted() -> None:
    inputs = Inputs(files(5))
    assert next(inputs) == Candidate(path="0", relative="0")
    assert next(inputs, None) is not None
    assert (inputs.num_taken, inputs.count_rest(60.0)) == (2, (3, True))
    assert (next(inputs, None), inputs.num_taken) == (None, 2)


def test_what_no_run_would_look_into_is_not_left() -> None:
    assert Inputs(iter([REFUSED, Candidate(path="b", relative="b")])).count_rest(60.0) == (1, True)


def test_counting_ends_in_time() -> None:
    num_files, is_all = Inputs(files(1000, 0.01)).count_rest(0.05)
    assert not is_all
    assert 1 <= num_files < 100
