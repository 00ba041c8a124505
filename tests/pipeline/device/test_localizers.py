"""Texts are placed the same in a thread and in processes, and what goes wrong there costs the page alone."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from encoders.views import PageViews
from ocr.types import Transcript
from pipeline.device import localizers
from pipeline.device.localizers import LocalizerPool, LocalizerThread, open_localizer
from pipeline.ingest.workers.shared_memory import Arena, pack
from pipeline.stages.decode import wording_of
from pipeline.stages.localize import ReadPage
from tests.pipeline.device.fakes import TEXT, encoded, loaded_reader
from tests.pipeline.runs import WAIT_S


def read_page(views: PageViews | None = None) -> ReadPage:
    page = encoded()
    rendered = page.rendered if views is None else replace(page.rendered, views=views)
    transcript = Transcript(raw=TEXT, token_ids=(5, 6, 7), finish="eos", logprobs=(-0.1, -0.1, -0.1))
    return ReadPage(rendered=rendered, transcript=transcript, timings=())


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    found = Arena.where_possible(1 << 20)
    if found is None:
        pytest.skip("this system has no memory files")
    yield found
    found.close()


@pytest.fixture(scope="module")
def pool(arena: Arena) -> Iterator[LocalizerPool]:
    with LocalizerPool(wording_of(loaded_reader()), 1, arena) as found:
        yield found


def in_arena(arena: Arena, views: PageViews) -> PageViews:
    slot = arena.lend()
    assert slot is not None
    found: PageViews = arena.unpack(slot, pack(views, slot))
    return found


@pytest.mark.slow
def test_a_process_gives_what_the_thread_gives(arena: Arena, pool: LocalizerPool) -> None:
    thread = LocalizerThread(wording_of(loaded_reader()))
    ours = read_page()
    theirs = read_page(in_arena(arena, ours.rendered.views))
    results = [thread.place(ours), pool.place(ours), pool.place(theirs)]
    first, *others = (future.result(WAIT_S) for future in results)
    thread.close()
    assert first.status == "ok"
    assert first.parsed is not None
    assert first.parsed.text == TEXT
    assert [timing.stage for timing in first.timings] == ["place"]
    for other in others:
        assert replace(other, timings=()) == replace(first, timings=())


def test_views_in_shared_memory_are_not_copied(arena: Arena) -> None:
    views = in_arena(arena, read_page().rendered.views)
    shared = arena.share(views)
    assert [isinstance(part, tuple) for part in shared.parts if part] == [True]
    assert np.array_equal(shared.open().global_view, views.global_view)
    assert shared.open().global_view.flags.writeable, "PyTorch complains of others"
    copied = arena.share(views.global_view.copy())
    assert copied.open().flags.writeable
    assert [isinstance(part, bytearray) for part in copied.parts] == [True]
    assert np.array_equal(copied.open(), views.global_view)


def test_a_page_that_cannot_be_placed_costs_itself_alone(pool: LocalizerPool) -> None:
    odd: Any = replace(read_page(), transcript=None)
    result = pool.place(odd).result(WAIT_S)
    assert result.error is not None
    assert (result.status, result.error.stage, result.error.category) == ("failed", "place", "internal")
    assert pool.place(read_page()).result(WAIT_S).status == "ok"


def test_its_time_at_work_is_measured(pool: LocalizerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process its start, too; in a thread also of a page that cannot be placed."""
    pool.place(read_page()).result(WAIT_S)
    assert pool.meter.use("place", 1.0).busy > 0

    def slow(*_: Any) -> Any:
        time.sleep(0.05)
        raise ValueError

    monkeypatch.setattr(localizers, "place", slow)
    thread = LocalizerThread(wording_of(loaded_reader()))
    assert thread.place(read_page()).result(WAIT_S).status == "failed"
    thread.close()
    assert thread.meter.use("place", 1.0).busy >= 0.05


@pytest.mark.slow
def test_a_killed_process_costs_nothing(pool: LocalizerPool) -> None:
    (worker,) = pool._pools[-1]._pool_manager.worker_manager.workers
    os.kill(worker, signal.SIGKILL)
    assert pool.place(read_page()).result(WAIT_S).status == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("is_shared", [True, False])
def test_processes_read_the_wording_as_they_start(arena: Arena, *, is_shared: bool) -> None:
    """A pipe holds 64 KiB: with a tokenizer in it whoever starts a process waits until that has begun to read."""
    wording = wording_of(loaded_reader())
    wording.tokenizer.add_tokens([f"word{number}" for number in range(5000)])
    with LocalizerPool(wording, 1, arena if is_shared else None) as pool:
        assert (len(pickle.dumps(pool._initargs)) < 4096) == is_shared
        assert pool.place(read_page()).result(WAIT_S).status == "ok"


def test_without_processes_a_thread_places(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: LocalizerPool) -> LocalizerPool:
        raise localizers.WorkersError("no processes")

    monkeypatch.setattr(LocalizerPool, "__enter__", none)
    opened = open_localizer(wording_of(loaded_reader()), 2, None)
    assert isinstance(opened, LocalizerThread)
    assert opened.place(read_page()).result(WAIT_S).status == "ok"
    opened.close()


def test_the_processes_do_without_torch() -> None:
    """It takes seconds and hundreds of megabytes, in each of them."""
    code = "import sys, pipeline.device.localizer_process; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
