"""What a worker process sends back is data, whatever it is: none of it runs in the run's own process."""

import builtins
import functools
import os
import pickle
import subprocess
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax import SAXException

import numpy as np
import pytest
from pebble.common.types import ResultStatus
from pebble.pool.process import TaskResult

from encoders.views import PageViews
from pipeline.ingest.workers.plain_pickle import loads, plain
from pipeline.ingest.workers.task_pool import TaskPool
from pipeline.types import InputFile, Page, RenderedPage
from storage.types import PageError

PAGE = Page(path="a.pdf", sha256="0" * 64, kind="pdf", page_index=0)
RENDERED = RenderedPage(
    page=PAGE, views=PageViews(), width_px=3, height_px=2, dpi=None, blank=False,
    seconds={"render": float(np.float64(0.5))}, grey=np.arange(6, dtype=np.uint8).reshape(2, 3),
)  # fmt: skip


class Calls:
    """A value whose pickle calls a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.reduced = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.reduced


# Tasks of a process that a file has taken over; it finds them by this module's name.


def nothing() -> None:
    """Prepares nothing."""


def hands_back(folder: str) -> Any:
    return [1, Calls(os.mkdir, folder)]


def sends_it_itself(folder: str) -> Any:
    frame: Any = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["channel"].send(Calls(os.mkdir, folder))
    return "sent"


def sends_it_as_its_result(folder: str) -> Any:
    frame: Any = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    refused = [Calls(os.mkdir, folder), OrderedDict(a=deque([1]))]
    frame.f_locals["channel"].send(TaskResult(frame.f_locals["task"].id, refused))


def raises(folder: str) -> Any:
    raise SAXException(folder)


def raises_a_call(folder: str) -> Any:
    raise ValueError(Calls(os.mkdir, folder))


@pytest.fixture(scope="module")
def pool() -> Iterator[TaskPool]:
    with TaskPool(max_workers=1, initializer=nothing, initargs=()) as pool:
        yield pool


@pytest.mark.parametrize(
    "value",
    [
        Calls(os.mkdir, "never"),
        Calls(subprocess.Popen, ["true"]),
        Calls(builtins.eval, "1"),
        Calls(functools.partial, print),
        Calls(getattr, PAGE, "path"),
        Path("a"),
    ],
)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_is_no_value_is_refused(value: Any, protocol: int) -> None:
    with pytest.raises(pickle.UnpicklingError, match="which is no value"):
        loads(pickle.dumps(value, protocol))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("pipeline.ingest.workers.plain_pickle", "pickle.loads"),
        ("pipeline.ingest.workers.plain_pickle", "loads"),
        ("pipeline.ingest.workers.task_pool", "TaskPool"),
        ("pipeline.types", "Page.__init__.__globals__"),
        ("antigravity", "webbrowser"),
        ("builtins", "SystemExit"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(module: str, name: str) -> None:
    named = b"\x80\x04" + b"".join(b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name))
    with pytest.raises(pickle.UnpicklingError, match="which is no value"):
        loads(named + b"\x93.")
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    "value",
    [
        Counter(a=2),
        InputFile(path="a", status="broken", reason="no"),
        PageError(stage="render", category="crash", message="m"),
        np.float32(1.5),
        MemoryError("none left"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_come_back_as_they_were(value: Any) -> None:
    found = loads(pickle.dumps(value, protocol=5))
    assert type(found) is type(value)
    assert found == value or (found.args == value.args)


def test_pixels_come_back_as_they_were() -> None:
    buffers: list[Any] = []
    outside = pickle.dumps(RENDERED, protocol=5, buffer_callback=buffers.append)
    for found in (loads(pickle.dumps(RENDERED)), loads(outside, buffers)):
        np.testing.assert_array_equal(found.grey, RENDERED.grey)
        assert (found.page, found.seconds) == (RENDERED.page, RENDERED.seconds)
    every_second = np.arange(8)[::2]
    np.testing.assert_array_equal(loads(pickle.dumps(every_second, protocol=5)), every_second)


def test_an_error_that_cannot_be_opened_says_the_same() -> None:
    assert plain(SAXException("torn")).args == ("SAXException: torn",)
    kept = MemoryError("none left")
    assert plain(kept) is kept


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (hands_back, "UnpicklingError: a worker's result has a posix.mkdir, which is no value"),
        (sends_it_itself, "sent"),
        (sends_it_as_its_result, "UnpicklingError: a worker's result has a posix.mkdir"),
        (raises, "RuntimeError: SAXException"),
        (raises_a_call, "RuntimeError: ValueError"),
    ],
)
def test_a_process_that_was_taken_over_costs_its_task_alone(
    task: Callable[[str], Any], expected: Any, pool: TaskPool, tmp_path: Path
) -> None:
    folder = tmp_path / "made"

    def failed(error: BaseException) -> str:
        return f"{type(error).__name__}: {error}"

    found = pool._submit(task, (str(folder),), 60.0, failed).result(60)
    assert str(found).startswith(expected)
    assert not folder.exists(), "a function was called"
    assert pool._submit(os.getpid, (), 60.0, failed).result(60) != os.getpid()


class ByAttribute:
    """What Python 3.11.2 makes of an enum's member."""

    def __init__(self, kind: type, name: str) -> None:
        self._named = kind, name

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, self._named


def test_members_of_enums_may_be_named_as_attributes_and_nothing_else() -> None:
    assert loads(pickle.dumps(ByAttribute(ResultStatus, "SUCCESS"))) is ResultStatus.SUCCESS
    for kind, name in ((ResultStatus, "mro"), (ResultStatus, "__class__"), (np.ndarray, "tofile")):
        with pytest.raises(pickle.UnpicklingError, match=name):
            loads(pickle.dumps(ByAttribute(kind, name)))
