import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import Candidate, Found
from pipeline.types import InputFile

REFUSED = InputFile(path="a", status="skipped", reason="a pipe")


def files(number: int, pause_s: float = 0.0) -> Iterator[Found]:
    for index in range(number):
        time.sleep(pause_s)
        yield Candidate(path=str(index), relative=str(index))


def test_what_was_taken_and_what_is_left_are_counted() -> None:
    inputs = Inputs(files(5))
    assert inputs.take().result(60) == Candidate(path="0", relative="0")
    assert inputs.take().result(60) is not None
    assert (inputs.num_taken, inputs.count_rest(60.0)) == (2, (3, True))
    assert (inputs.take().result(60), inputs.num_taken) == (None, 2)


def test_what_no_run_would_look_into_is_not_left() -> None:
    assert Inputs(iter([REFUSED, Candidate(path="b", relative="b")])).count_rest(60.0) == (1, True)


def test_counting_ends_in_time() -> None:
    num_files, is_all = Inputs(files(10**9, 0.001)).count_rest(0.05)
    assert not is_all
    assert num_files < 10**9


@pytest.fixture
def gone() -> Iterator[threading.Event]:
    """A server that comes back when it is set, at the latest after the test."""
    event = threading.Event()
    yield event
    event.set()


def hanging(number: int, gone: threading.Event) -> Iterator[Found]:
    yield from files(number)
    assert gone.wait(60)


def test_what_is_left_is_not_counted_while_the_walk_hangs(gone: threading.Event) -> None:
    inputs = Inputs(hanging(0, gone))
    taken = inputs.take()
    assert inputs.count_rest(1e6) == (0, False)
    assert not taken.done(), "the walk is not waited for"
    gone.set()
    assert taken.result(60) is None


def test_counting_ends_where_the_walk_hangs(gone: threading.Event) -> None:
    assert Inputs(hanging(3, gone)).count_rest(2.0) == (3, False)


def test_a_walk_that_fails_tells_who_asked_and_counts_no_more() -> None:
    def fails() -> Iterator[Found]:
        yield from files(1)
        raise OSError("gone")

    assert Inputs(fails()).count_rest(60.0) == (1, False)
    inputs = Inputs(fails())
    inputs.take().result(60)
    with pytest.raises(OSError, match="gone"):
        inputs.take().result(60)


def test_its_thread_ends_with_it() -> None:
    inputs = Inputs(files(1))
    inputs.take().result(60)
    (thread,) = (thread for thread in threading.enumerate() if thread is inputs._thread)
    inputs.close()
    thread.join(60)
    assert not thread.is_alive()


def test_a_process_ends_while_the_walk_hangs() -> None:
    script = (
        "import time; from pipeline.ingest.inputs import Inputs; Inputs(iter(lambda: time.sleep(99), 1)).take();"
        " print('over')"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.returncode) == ("over\n", 0)
