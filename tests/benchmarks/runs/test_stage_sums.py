"""Threads and processes seen from outside a run's own accounting, and the messages where both differ."""

import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from tests.benchmarks.runs.stage_sums import measure, misfits
from tests.benchmarks.runs.thread_samples import ThreadSamples, is_waiting, stage_of
from tests.pipeline.checkpoints import READS_TEXT, save_reader
from tests.pipeline.runs import wait_until

SAMPLES = Path(__file__).parents[2] / "samples"
PLACING = compile(
    "def _placed(work):\n    work()\n", "/any/where/pipeline/device/threads/page_reader.py", "exec"
)


def placing(work: Callable[[], None]) -> None:
    """Does the work as the thread that places pages would: in that file and function."""
    names: dict[str, Callable[[Callable[[], None]], None]] = {}
    exec(PLACING, names)
    names["_placed"](work)


def frame_of(work: Callable[[], None], until: Callable[[FrameType], bool]) -> FrameType:
    """Returns a frame of a thread that does the work, as soon as it matches."""
    thread = threading.Thread(target=placing, args=(work,), daemon=True)
    thread.start()
    assert thread.ident is not None
    ident = thread.ident
    wait_until(lambda: until(sys._current_frames()[ident]))
    return sys._current_frames()[ident]


def test_a_thread_that_waits_is_told_from_one_that_works() -> None:
    go_on, jobs = threading.Event(), queue.Queue[None]()

    def work() -> None:
        while not go_on.is_set():
            sum(range(100))

    for wait in (go_on.wait, jobs.get):
        assert stage_of(frame_of(wait, is_waiting)) == "place"
    assert stage_of(frame_of(work, lambda frame: not is_waiting(frame))) == "place"
    assert stage_of(frame_of(lambda: time.sleep(0.5), lambda frame: not is_waiting(frame))) == "place"
    go_on.set()
    jobs.put(None)


def test_a_thread_in_no_stage_has_none() -> None:
    assert stage_of(sys._getframe()) is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads CPU time from /proc")
def test_work_in_a_stage_and_in_none_is_seen() -> None:
    go_on = threading.Event()

    def work() -> None:
        while not go_on.is_set():
            sum(range(1000))

    threads = [
        threading.Thread(target=placing, args=(work,), name="one"),
        threading.Thread(target=work, name="other"),
    ]
    with ThreadSamples() as samples:
        for thread in threads:
            thread.start()
        wait_until(
            lambda: min(samples.busy_s["place"], samples.cpu_s["place"], samples.busy_s["(other)"]) > 0.05
        )
        go_on.set()
    assert "(one)" not in samples.busy_s
    assert samples.busy_s["(MainThread)"] <= samples.wall_s


def test_stages_that_add_up_are_no_misfit() -> None:
    reported = {"discover": 0.5, "render": 9.0, "encode": 20.0, "decode": 30.0, "flow": 0.3}
    seen = {"render": 9.7, "encode": 20.5, "decode": 29.0, "flow": 0.1, "loading": 15.0, "(marks_0)": 0.1}
    assert misfits(reported, seen, 0.1) == []


@pytest.mark.parametrize(
    ("reported", "seen", "says"),
    [
        (
            {"render": 5.0, "decode": 30.0},
            {"render": 9.0, "decode": 30.0},
            ["render: 5.00 s", "all stages: "],
        ),
        ({"decode": 30.0}, {"decode": 30.0, "place": 3.0}, ["place: 0.00 s"]),
        (
            {"decode": 30.0},
            {"decode": 30.0, "(other)": 9.0},
            ["all stages: 30.00 s", "work in no stage: 9.00"],
        ),
        ({"encode": 30.0, "flow": 1.0}, {"encode": 30.0, "flow": 0.2}, []),
    ],
)
def test_what_is_off_is_named(reported: dict[str, float], seen: dict[str, float], says: list[str]) -> None:
    found = misfits(reported, seen, 0.1)
    assert len(found) == len(says)
    for fault, said in zip(found, says, strict=True):
        assert fault.startswith(said)


def test_a_run_is_reckoned_up(tmp_path: Path) -> None:
    sets = [f"model={save_reader(tmp_path / 'reader')}", *READS_TEXT]
    found = measure([SAMPLES / "letter.png"], "cpu", sets)
    assert found["pages"] == {"ok": 1}
    reported = found["reported_s"]
    assert isinstance(reported, dict)
    assert set(reported) == {"discover", "render", "encode", "decode", "place", "flow", "store"}
    assert reported["render"] > 0


def test_a_process_start_is_its_stage_s() -> None:
    """Fourteen of them beside a GPU took 16 s, which the stages reported and nobody saw."""
    samples = ThreadSamples()
    for name in ("python", "python", "ocrb-render", "ocrb-render"):
        samples._see_process(7, name, 0.5)
    samples._see_process(8, "python", 4.0)
    assert samples.busy_s == {"render": 2.0}
