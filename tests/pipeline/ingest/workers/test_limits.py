"""A worker's limits hold, as the kernel sees them, and it can still work."""

import mmap
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pipeline.ingest.workers import limits, tasks
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.ingest.workers.shared_memory import Arena
from pipeline.run.budget import heaviest_page_bytes
from pipeline.types import RenderedPage
from storage.types import PageError
from tests.pipeline.ingest.workers.test_pool import SETTINGS, page

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="most limits are Linux's")


# Tasks that stand in for a page's, in a worker that has its limits.


def own_limits(*_) -> dict[str, tuple[int, int]]:
    import resource

    names = ("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_AS", "RLIMIT_CPU")
    found = {name: resource.getrlimit(getattr(resource, name)) for name in names}
    status = Path("/proc/self/status").read_text().split()
    return found | {"NoNewPrivs": (int(status[status.index("NoNewPrivs:") + 1]), 0)}


def write_a_file(wanted, *_) -> str:
    try:
        Path(wanted.path).write_bytes(b"x")
    except OSError as error:
        return os.strerror(error.errno)
    return "written"


def open_many(*_) -> int:
    opened = []
    try:
        while True:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return len(opened)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def burn(*_) -> None:
    with limits.cpu_time(0.5):
        while True:
            pass


@pytest.fixture(scope="module")
def pool():
    slot = heaviest_page_bytes(SETTINGS["tile"])
    with WorkerPool(max_workers=1, memory_bytes=1 << 30, page_bytes=slot, **SETTINGS) as running:
        yield running


def done(pool, monkeypatch, task, wanted=None):
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "render_task", task)
        future = pool.render(wanted or page())
    return future.result(timeout=60)


def test_a_worker_has_its_limits_and_cannot_raise_them(pool, monkeypatch):
    found = done(pool, monkeypatch, own_limits)
    assert found["RLIMIT_CORE"] == found["RLIMIT_FSIZE"] == (0, 0)
    assert found["RLIMIT_NOFILE"] == (limits.OPEN_FILES, limits.OPEN_FILES)
    assert found["RLIMIT_AS"][0] > 1 << 30
    assert found["NoNewPrivs"] == (1, 0)


def test_a_worker_can_write_no_file(pool, monkeypatch, tmp_path):
    from dataclasses import replace

    target = tmp_path / "beside.txt"
    assert done(pool, monkeypatch, write_a_file, replace(page(), path=str(target))) == "File too large"
    assert not target.exists() or target.stat().st_size == 0


def test_a_worker_opens_few_files(pool, monkeypatch):
    assert 100 < done(pool, monkeypatch, open_many) < limits.OPEN_FILES


def test_pages_still_come_through_shared_memory(pool):
    assert pool.arena is not None
    assert isinstance(pool.render(page()).result(timeout=60), RenderedPage)


@pytest.mark.slow
def test_too_much_cpu_time_costs_the_page_alone(pool, monkeypatch):
    error = done(pool, monkeypatch, burn)
    assert isinstance(error, PageError)
    assert error.message.endswith("(SIGXCPU)")
    assert isinstance(pool.render(page()).result(timeout=60), RenderedPage)


def test_the_cpu_limit_ends_with_its_block():
    import resource

    before = resource.getrlimit(resource.RLIMIT_CPU)
    with limits.cpu_time(60):
        used = time.process_time()
        assert used + 59 <= resource.getrlimit(resource.RLIMIT_CPU)[0] <= used + 62
    assert resource.getrlimit(resource.RLIMIT_CPU) == before


def test_mapped_memory_is_no_file_and_a_new_one_cannot_grow():
    """The limit on files works as assumed; in a process of its own, as it cannot be undone."""
    arena = Arena(1 << 16)
    slot = arena.lend()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            limits.limit_process(None)
            with open(slot.path, "r+b", buffering=0) as file, mmap.mmap(file.fileno(), 4096) as memory:
                memory[:4] = b"page"
            fresh = os.memfd_create("fresh", 0)
            try:
                os.ftruncate(fresh, 1)
            except OSError:
                code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert arena._memory[:4] == b"page"
