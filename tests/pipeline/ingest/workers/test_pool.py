import ctypes
import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest
from PIL import Image
from threadpoolctl import threadpool_info

from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.errors import WorkersError
from pipeline.ingest.workers import limits, plain_pickle, tasks, worker
from pipeline.ingest.workers.failed_tasks import death
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.meter import Meter
from pipeline.types import Page, RenderedPage
from storage.types import PageError

REPOSITORY = Path(__file__).parents[4]
SAMPLES = REPOSITORY / "tests" / "samples"
# As in tests.pipeline.runs, which imports torch: this module is imported by workers.
WAIT_S = 60.0
SETTINGS = {"ingest": IngestSettings(), "render": RenderSettings(), "tile": TileSettings(mode="tiny")}


def page(name: str = "report.pdf", index: int = 0) -> Page:
    return Page(path=str(SAMPLES / name), sha256="0" * 64, kind="pdf", page_index=index)


# Tasks that stand in for what a parser may do; workers find them by this module's name.


def loaded_modules(*_) -> set[str]:
    return set(sys.modules)


def crash(*_) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def killed_at_first(page, *arguments):
    """Twice, the second time as by a task after it, and that of the deadly page always."""
    for suffix, fate in ((".killed", signal.SIGKILL), (".again", signal.SIGSEGV)):
        mark = Path(page.path).with_suffix(suffix)
        if not mark.exists() or mark.stem == "deadly":
            mark.touch()
            os.kill(os.getpid(), fate)
    return worker.render_task(page, *arguments)


def eat(*_) -> None:
    held = []
    while True:
        held.append(bytes(1 << 20))


def layer_task_killed_at_first(ready, *arguments):
    mark = Path(ready.page.path).with_suffix(".killed")
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return worker.layer_task(ready, *arguments)


def hang(*_) -> None:
    time.sleep(3600)


def wait_for(condition) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def worker_pid(*_) -> int:
    time.sleep(0.2)
    return os.getpid()


@pytest.fixture(scope="module")
def pool():
    with WorkerPool(max_workers=1, **SETTINGS) as running:
        yield running


def slow_failure(*_) -> PageError:
    time.sleep(0.05)
    return PageError(stage="render", category="broken", message="it is")


def process_name(*_) -> str:
    return Path("/proc/self/comm").read_text().strip()


@pytest.mark.slow
def test_all_that_workers_do_is_measured(monkeypatch):
    """Looking into files, rendering and judging, also in vain or for too long; and once what their start takes."""
    probing, rest = Meter(), Meter()

    def busy(meter):
        return meter.use("any", 1.0).busy

    with WorkerPool(max_workers=1, discovering=probing, rendering=rest, **SETTINGS) as running:
        assert running.probe(str(SAMPLES / "report.pdf")).result(timeout=WAIT_S).status == "ok"
        started, looked = busy(rest), busy(probing)
        assert started > 0
        assert looked > 0
        ready = running.render(page()).result(timeout=WAIT_S)
        assert (drawn := busy(rest)) > started
        running.layer(ready.without_views()).result(timeout=WAIT_S)
        assert (judged := busy(rest)) > drawn
        monkeypatch.setattr(tasks, "render_task", slow_failure)
        running.render(page()).result(timeout=WAIT_S)
        assert (failed := busy(rest)) >= judged + 0.05
        with little_time(running, "render_task", hang):
            running.render(page()).result(timeout=WAIT_S)
        assert busy(rest) >= failed + 1.5
        assert busy(probing) == looked


def test_a_process_s_start_is_told_with_its_first_task():
    tasks._start_s[:] = [2.5]
    first, second = (plain_pickle.loads(tasks.timed(9.0, None, len, "abc")) for _ in range(2))
    assert (first.result, first.start_s, second.start_s) == (3, 2.5, 0.0)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_system_lists_workers_by_name(pool):
    assert pool._submit(process_name, (), 30.0, str).result(WAIT_S) == "ocrb-render"


@contextmanager
def little_time(running, task, fate):
    """Within it a page may take 1.5 s, and the task is another one: only what hangs has to end in so little time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "_page_timeout_s", 1.5)
        patch.setattr(tasks, task, fate)
        yield


def test_file_is_probed_and_rendered(pool):
    document = pool.probe(str(SAMPLES / "report.pdf")).result(timeout=WAIT_S)
    assert (document.status, document.num_pages) == ("ok", 3)
    rendered = pool.render(page(index=2)).result(timeout=WAIT_S)
    assert isinstance(rendered, RenderedPage)
    assert rendered.page == page(index=2)
    assert rendered.views.global_view.shape == (3, 512, 512)


def test_workers_never_import_torch(pool, monkeypatch):
    monkeypatch.setattr(tasks, "render_task", loaded_modules)
    modules = pool.render(page()).result(timeout=WAIT_S)
    assert "pymupdf" in modules
    assert modules.isdisjoint({"torch", "transformers", "pydantic", "click"})


@pytest.mark.slow
def test_crash_costs_its_page_alone(pool, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "render_task", crash)
        patch.setattr(tasks, "probe_task", crash)
        lost = pool.render(page())
        document = pool.probe("a.pdf")
    kept = [pool.render(page(index=index)) for index in (0, 1, 2)]
    assert lost.result(timeout=WAIT_S) == PageError(
        stage="render", category="crash", message="rendering the page crashed its worker process (SIGSEGV)"
    )
    assert document.result(timeout=WAIT_S).status == "broken"
    assert "crashed its worker process (SIGSEGV)" in document.result().reason
    assert all(isinstance(future.result(timeout=WAIT_S), RenderedPage) for future in kept)


@pytest.mark.slow
def test_worker_that_is_killed_costs_nothing(pool, tmp_path, monkeypatch):
    """Workers are killed as by the kernel for lack of memory. A page that always ends its worker so has failed."""
    whole, deadly = tmp_path / "whole.pdf", tmp_path / "deadly.pdf"
    for path in (whole, deadly):
        path.write_bytes(Path(page().path).read_bytes())
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "render_task", killed_at_first)
        kept, lost = (pool.render(replace(page(), path=str(path))) for path in (whole, deadly))
    assert isinstance(kept.result(timeout=WAIT_S), RenderedPage)
    error = lost.result(timeout=WAIT_S)
    assert (error.category, error.message) == (
        "crash",
        "rendering the page crashed its worker process (SIGKILL)",
    )


@pytest.mark.slow
def test_a_layer_is_judged_when_asked_for_and_its_worker_may_meet_anything(pool, tmp_path, monkeypatch):
    path = tmp_path / "a.pdf"
    path.write_bytes(Path(page().path).read_bytes())
    ready = pool.render(replace(page(), path=str(path))).result(timeout=WAIT_S)
    assert ready.layer is None
    lost = []
    with little_time(pool, "layer_task", hang):
        hung = pool.layer(ready.without_views())
    for fate in (crash, layer_task_killed_at_first):
        with monkeypatch.context() as patch:
            patch.setattr(tasks, "layer_task", fate)
            lost.append(pool.layer(ready.without_views()))
    lost.insert(1, hung)
    found = [future.result(timeout=WAIT_S) for future in lost]
    what = "judging the page's text layer"
    assert found[0] == PageError(
        stage="layer", category="crash", message=f"{what} crashed its worker process (SIGSEGV)"
    )
    assert (found[1].category, found[1].stage) == ("timeout", "layer")
    assert found[1].message.startswith(f"{what} took longer than 1.5 s; raise render.page_timeout_s")
    assert found[2].layer.text.startswith("The Hillside Reading Room"), "a kill costs nothing"


def test_pool_that_breaks_again_and_again_costs_no_page(pool, monkeypatch):
    """As on a busy machine, where a pool does not hear which of its pages killed a worker."""

    class Broken:
        def schedule(self, *_, **__):
            future = Future()
            future.set_exception(BrokenProcessPool("All workers expired"))
            return future

    whole, broken = pool._pool, iter([Broken()] * 5)
    monkeypatch.setattr(pool, "_pool", lambda: next(broken, None) or whole())
    assert isinstance(pool.render(page()).result(timeout=WAIT_S), RenderedPage)
    assert next(broken, None) is None


@pytest.mark.slow
def test_idle_worker_that_is_killed_is_replaced(pool, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "render_task", worker_pid)
        pid = pool.render(page()).result(timeout=WAIT_S)
    os.kill(pid, signal.SIGKILL)
    assert isinstance(pool.render(page()).result(timeout=WAIT_S), RenderedPage | PageError)
    time.sleep(0.3)
    assert isinstance(pool.render(page()).result(timeout=WAIT_S), RenderedPage)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory limit is enforced on Linux")
def test_memory_limit_costs_the_page_alone(tmp_path, monkeypatch):
    Image.new("1", (14_000, 14_000), 1).save(tmp_path / "a.tif", compression="group4")
    big = Page(path=str(tmp_path / "a.tif"), sha256="", kind="image", page_index=0)
    document = pymupdf.open()
    document.new_page(width=7000, height=7000)
    document.save(tmp_path / "b.pdf")
    huge = Page(path=str(tmp_path / "b.pdf"), sha256="", kind="pdf", page_index=0)
    settings = {**SETTINGS, "render": RenderSettings(dpi=120)}
    with WorkerPool(max_workers=1, memory_bytes=300 << 20, **settings) as small:
        errors = [small.render(item).result(timeout=WAIT_S) for item in (big, huge)]
        with monkeypatch.context() as patch:
            patch.setattr(tasks, "render_task", eat)
            errors.append(small.render(page()).result(timeout=WAIT_S))
        assert [error.category for error in errors] == ["memory"] * 3
        assert isinstance(small.render(page()).result(timeout=WAIT_S), RenderedPage)


def test_errors_are_values(pool, tmp_path):
    gone = Page(path=str(tmp_path / "gone.pdf"), sha256="", kind="pdf", page_index=0)
    assert pool.render(gone).result(timeout=WAIT_S).category == "unreadable"
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.4 garbage")
    bad = Page(path=str(tmp_path / "bad.pdf"), sha256="", kind="pdf", page_index=0)
    assert pool.render(bad).result(timeout=WAIT_S).category == "broken"
    assert pool.render(page(index=7)).result(timeout=WAIT_S).category == "broken"


def test_leaving_the_pool_is_prompt_and_cancels(monkeypatch):
    monkeypatch.setattr(tasks, "render_task", hang)
    with WorkerPool(max_workers=1, page_timeout_s=3600, **SETTINGS) as pool:
        futures = [pool.render(page()) for _ in range(3)]
        time.sleep(1.5)
    # and here it is, though nothing else would end the workers' sleep
    assert not wait(futures, timeout=WAIT_S).not_done
    for future in futures:
        with pytest.raises(CancelledError):
            future.result()


def sleep_in_c() -> None:
    """Hangs like a parser that loops: Python's interpreter stays locked, and none of its threads runs meanwhile."""
    Path(os.environ["HANGS"]).touch()
    ctypes.PyDLL(None).sleep(3600)


def hang_in_c(*_):
    limits._ORPHAN_GRACE_S = 0.0
    with limits.killed_if_hung(3.0):
        sleep_in_c()


PARENT = """
import sys, time
from pipeline.ingest.workers import tasks
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.types import Page
from pipeline.ingest.workers.pool import WorkerPool
from tests.pipeline.ingest.workers import test_pool as test_workers

if __name__ == "__main__":  # workers import this file as well, and have the real task
    tasks.render_task = test_workers.worker_pid
    with WorkerPool(max_workers=1, page_timeout_s=3.0, **test_workers.SETTINGS) as pool:
        print(pool.render(test_workers.page()).result(), flush=True)
        tasks.render_task = getattr(test_workers, sys.argv[1])
        pool.render(test_workers.page())
        time.sleep(3600)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("fate", ["hang", "hang_in_c"])
def test_workers_end_with_a_killed_parent(fate, tmp_path):
    script, hangs = tmp_path / "parent.py", tmp_path / "hangs"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "HANGS": str(hangs)}
    with subprocess.Popen([sys.executable, script, fate], stdout=subprocess.PIPE, env=environment) as parent:
        try:
            pid = int(parent.stdout.readline())
            if fate == "hang_in_c":
                wait_for(hangs.exists)
            else:
                time.sleep(0.3)
        finally:
            parent.kill()
    deadline = time.monotonic() + WAIT_S
    while (
        Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]
    ):
        assert time.monotonic() < deadline, "the worker outlives its parent"
        time.sleep(0.1)


def test_death_is_named():
    assert death(-11) == "SIGSEGV"
    assert death(3) == "exit code 3"
    assert death(None) == "for an unknown reason"


def test_a_task_that_cannot_be_given_out_ends_all_the_same(monkeypatch):
    with WorkerPool(max_workers=1, **SETTINGS) as running:
        monkeypatch.setattr(
            running, "_pool", lambda: (_ for _ in ()).throw(OSError(24, "Too many open files"))
        )
        found = running.render(page()).result(timeout=WAIT_S)
    assert isinstance(found, PageError)
    assert "Too many open files" in found.message


def end_at_once(*_) -> None:
    os._exit(3)


@pytest.mark.slow
def test_workers_that_never_start_are_no_file_s_fault(monkeypatch):
    monkeypatch.setattr(tasks, "start", end_at_once)
    with WorkerPool(max_workers=2, **SETTINGS) as pool:
        asked = [pool.probe(str(SAMPLES / "report.pdf")), pool.render(page())]
        for future in asked:
            with pytest.raises(WorkersError, match="they end as soon as they start"):
                future.result(timeout=WAIT_S)


def test_workers_without_memory_to_start_are_no_file_s_fault(monkeypatch):
    def no_memory(*_, **__):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr("pebble.pool.process.launch_process", no_memory)
    with (
        pytest.raises(
            WorkersError, match=r"do not start \(\[Errno 12\] Cannot allocate memory\): free memory"
        ),
        WorkerPool(max_workers=1, **SETTINGS),
    ):
        pass


def test_a_page_can_be_rendered_otherwise_for_once(pool):
    assert pool.render_settings == RenderSettings()
    other = pool.render(page(), tile=TileSettings(mode="small"), render=RenderSettings(dpi=72)).result(
        timeout=WAIT_S
    )
    assert other.views.global_view.shape == (3, 640, 640)
    assert other.dpi == 72
    assert pool.render(page()).result(timeout=WAIT_S).views.global_view.shape == (3, 512, 512)


def test_workers_compute_with_one_thread_each(pool):
    """BLAS threads spin while they wait: on 16 CPUs a page took 2.1 s of CPU time, for 0.24 s of work."""
    libraries = pool._submit(threadpool_info, (), 30.0, lambda error: []).result(WAIT_S)
    assert libraries, "numpy has a BLAS"
    assert {library["num_threads"] for library in libraries} == {1}
