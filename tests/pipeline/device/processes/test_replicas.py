"""A model in processes of its own: real ones, that load a tiny checkpoint and read it."""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import Pipe, active_children
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.device.processes import replicas
from pipeline.device.processes.messages import Failed, Loaded, Said
from pipeline.device.processes.replica import _check_room, _picklable, _Replica
from pipeline.device.processes.replicas import Replica, Replicas
from pipeline.device.threads import streams
from pipeline.device.tickets import LoadedOn, Ticket
from pipeline.errors import ModelMemoryError, ModelProcessError, exit_code
from pipeline.ingest.workers.shared_memory import Arena
from pipeline.stages.decode import wording_of
from pipeline.types import PageResult
from tests.pipeline.checkpoints import READS_TEXT, TEXT
from tests.pipeline.conftest import MakePdf
from tests.pipeline.device.fakes import loaded_reader, rendered
from tests.pipeline.runs import WAIT_S, changed, rows, run_quietly, wait_until

SIDE = 512  # of a page's view in tile.mode tiny


@pytest.fixture
def config(reader: Path) -> Config:
    return sources.load(None, [*READS_TEXT, "device=cpu", "threads=1"], [("test", {"model": str(reader)})])


def read_with(model: Replicas, work: Callable[[], Awaitable[Any]]) -> Any:
    async def flow() -> Any:
        failed = asyncio.ensure_future(asyncio.wrap_future(model.failed))
        working = asyncio.ensure_future(work())
        await asyncio.wait((failed, working), timeout=2 * WAIT_S, return_when=asyncio.FIRST_COMPLETED)
        try:
            return failed.result() if failed.done() else working.result()
        finally:
            failed.cancel()
            working.cancel()
            await asyncio.gather(failed, working, return_exceptions=True)

    try:
        return asyncio.run(flow())
    finally:
        model.close()


def of_models() -> list[str]:
    return [process.name for process in active_children() if process.name.startswith("model")]


@pytest.mark.slow
def test_pages_are_shared_among_the_processes_and_read_as_by_one(
    config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    loaded: list[LoadedOn] = []
    model = Replicas(config, 2, loaded.append)
    model.arena = Arena.where_possible(1 << 20)
    dropped: list[int] = []

    async def work() -> list[PageResult]:
        assert not model.is_loading
        model.start()
        assert model.is_loading
        await model.ready(alone=True)
        assert (model.is_ready, model.is_loading, model.device) == (True, False, "cpu")
        wait_until(lambda: len(model._have_room()) == 2)
        reading = [model.read(rendered(number, SIDE), dropped.append) for number in range(8)]
        return await asyncio.gather(*reading)

    with caplog.at_level(logging.INFO, logger="ocrbatch"):
        results = read_with(model, work)
    assert caplog.text.count("model loaded in") == 1
    assert [result.page.page_index for result in results] == list(range(8))
    assert {(result.status, result.parsed.text) for result in results if result.parsed} == {("ok", TEXT)}
    assert {timing.stage for timing in results[0].timings} == {
        "render",
        "encode_global",
        "encode_local",
        "decode_prefill",
        "decode_generate",
        "place",
    }
    assert dropped == [rendered(0, SIDE).num_bytes] * 8, "this model needs no views once they are encoded"
    assert set(model.ended_at) == {result.page for result in results}
    assert model.decoded()[0] == 8 * len(TEXT.split())
    stats = model.encoder_stats()
    assert stats is not None
    assert stats["global"].eager == 8, "of both together"
    assert all(replica.ended is not None and replica.ended.used[0].busy > 0 for replica in model._replicas)
    encode, decode, place = model.stages(100.0)
    assert (encode.name, decode.name, place.name) == ("encode", "decode", "place")
    assert 0 < encode.busy < 1
    assert 0 < decode.busy < 1
    (on,) = loaded
    assert (on.device, on.gpu) == ("cpu", None)
    assert 0 < on.imported_at <= on.loaded_at
    assert model.load_s > 0
    assert of_models() == []


@pytest.mark.slow
def test_a_run_stores_the_same_whichever_process_reads(
    config: Config, docs: Path, tmp_path: Path, make_pdf: MakePdf
) -> None:
    make_pdf(docs / "a.pdf", ["one", "", "three"])
    stored = []
    for number in (1, 2):
        database = str(tmp_path / f"{number}.db")
        own = changed(
            config,
            ingest={"paths": [str(docs)]},
            store={"database": database},
            run={"replicas": number},
        )
        summary = run_quietly(own)
        assert summary.exit_code == 0
        stored.append([(row["path"], row["page"], row["status"], row["text"]) for row in rows(database)])
    assert stored[0] == stored[1]
    assert [row[2] for row in stored[0]] == ["ok", "blank", "ok"]
    assert TEXT in stored[0][0][3]


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_run_and_its_pages_are_known(config: Config) -> None:
    model = Replicas(config, 2)

    async def work() -> None:
        await model.ready(alone=True)
        wait_until(lambda: len(model._have_room()) == 2)
        victim = model._replicas[1]
        os.kill(victim.process.pid, signal.SIGSTOP)
        reading = [asyncio.ensure_future(model.read(rendered(number, SIDE))) for number in range(4)]
        await asyncio.to_thread(wait_until, lambda: len(victim.given) > 0)
        os.kill(victim.process.pid, signal.SIGKILL)
        await asyncio.gather(*reading)

    with pytest.raises(ModelProcessError, match=r"ended \(SIGKILL\).*run again"):
        read_with(model, work)
    lost = model.lost()
    assert lost
    assert {result.error.category for result in lost if result.error} == {"model_ended"}
    assert {result.status for result in lost} == {"failed"}
    assert of_models() == []


@pytest.mark.slow
def test_a_run_whose_model_was_killed_says_so_and_the_next_one_reads_all(
    config: Config, docs: Path, database: str, make_pdf: MakePdf
) -> None:
    make_pdf(docs / "a.pdf", ["one", "two", "three"])
    sections = {"ingest": {"paths": [str(docs)]}, "store": {"database": database}}
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run_quietly, changed(config, **sections, run={"replicas": 2}))
        wait_until(lambda: "model 1" in of_models())
        (victim,) = (process for process in active_children() if process.name == "model 1")
        victim.kill()
        error = running.exception(timeout=2 * WAIT_S)
    assert isinstance(error, ModelProcessError)
    assert exit_code(error) == 1
    assert of_models() == []
    assert run_quietly(changed(config, **sections)).exit_code == 0
    assert [row["status"] for row in rows(database)] == ["ok"] * 3


@pytest.mark.slow
def test_one_that_finds_no_memory_is_done_without_where_another_reads(
    config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    model = Replicas(config, 2)

    async def work() -> list[PageResult]:
        model.prepare()
        second = model._replicas[1]
        model._take(second, Failed(error=ModelMemoryError("the model does not fit"), lost={}))
        assert not model.failed.done()
        await model.ready(alone=True)
        results = await asyncio.gather(*(model.read(rendered(number, SIDE)) for number in range(3)))
        assert (len(second.given), second.has_room(config)) == (0, False)
        return list(results)

    with contextlib.closing(model):
        results = asyncio.run(asyncio.wait_for(work(), 2 * WAIT_S))
    assert [result.status for result in results] == ["ok"] * 3
    assert "there is no room for a second model" in caplog.text
    model._take(model._replicas[0], Failed(error=ModelMemoryError("nor does this one"), lost={}))
    assert isinstance(model.failed.exception(), ModelMemoryError), "the last one is needed"


@pytest.mark.parametrize("asked", [None, 2])
def test_a_second_one_is_not_for_a_small_gpu_unless_it_was_asked_for(
    config: Config, asked: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "gpu_bytes", lambda device: 8 << 30)
    config = changed(config, run={"replicas": asked})
    for number in (0, 1):
        ours, theirs = Pipe()
        replica = _Replica(theirs, config, number)
        if number and asked is None:
            with pytest.raises(ModelMemoryError, match=r"8 GiB, and 16 are wanted; run\.replicas: 1"):
                replica._load(config)
        else:
            replica._load(config)
            assert isinstance(ours.recv(), Loaded)
    _check_room(None)
    _check_room(16 << 30)


@pytest.mark.slow
def test_what_goes_wrong_while_it_loads_ends_the_run(config: Config) -> None:
    broken = config.model_copy(update={"model": str(Path(config.model) / "nowhere")})
    model = Replicas(broken, 1)
    with pytest.raises(Exception, match="nowhere") as caught:
        read_with(model, model.ready)
    assert type(caught.value).__name__ == "CheckpointError"
    assert of_models() == []


def test_closing_does_not_wait_for_one_that_loads(config: Config) -> None:
    model = Replicas(config, 2)
    model.close()
    assert model.stages(1.0) == []
    assert (model.encoder_stats(), model.decoded(), model.capture_s) == (None, (0, 0), 0.0)
    model = Replicas(config, 2)
    model.start()
    processes = [replica.process for replica in model._replicas]
    model.close()
    model.close()
    assert not any(process.is_alive() for process in processes)
    assert not model.failed.done(), "an end is no failure"


# Says which process it started, and waits to be killed.
_PARENT = """
import sys, time
from pipeline.config.schema import Config
from pipeline.device.processes.replicas import Replicas
if __name__ == "__main__":
    model = Replicas(Config(model=sys.argv[1]), 1)
    model.prepare()
    print(model._replicas[0].process.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_it_ends_with_the_process_that_asks_however_that_ends(reader: Path, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(_PARENT, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(Path(replicas.__file__).parents[3])}
    with subprocess.Popen(
        [sys.executable, str(script), str(reader)], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)  # it is there
        parent.kill()
    wait_until(lambda: not _is_alive(pid))


def _is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False


@pytest.mark.parametrize(("batch_size", "most"), [(None, 8 + 2), (3, 3 + 2)])
def test_none_is_given_more_than_it_soon_comes_to(config: Config, batch_size: int | None, most: int) -> None:
    config = changed(config, decode={"batch_size": batch_size})
    ours, _ = Pipe()
    replica = Replica(None, ours, 0)
    assert not replica.has_room(config), "it has not loaded"
    replica.device = "cpu"
    for number in range(most):
        assert replica.has_room(config)
        replica.given[number] = Ticket(rendered=rendered(number))
    assert not replica.has_room(config)


def test_what_they_log_is_said_once(config: Config, caplog: pytest.LogCaptureFixture) -> None:
    model = Replicas(config, 2)
    for _ in range(2):
        model._say(Said(level=logging.WARNING, message="memory does not suffice: 50%"))
        model._say(Said(level=logging.INFO, message="model loaded in 1.0 s"))
    assert caplog.messages == ["memory does not suffice: 50%"]


def test_errors_survive_their_way_or_are_told_in_words() -> None:
    class OddError(Exception):
        def __init__(self, one: str, other: str) -> None:
            super().__init__(f"{one} and {other}")

    kept = _picklable(ModelMemoryError("too large"))
    assert (type(kept), str(kept)) == (ModelMemoryError, "too large")
    told = _picklable(OddError("this", "that"))
    assert isinstance(told, RuntimeError)
    assert "this and that" in str(told)


def test_the_first_error_is_the_runs(config: Config) -> None:
    model = Replicas(config, 2)
    told: list[BaseException | None] = []

    def note(failed: "Future[None]") -> None:
        told.append(failed.exception())

    model.failed.add_done_callback(note)
    model._begin("test", lambda: model._fail(ValueError("first"), {}))
    wait_until(lambda: bool(told))
    thread = threading.Thread(target=model._fail, args=(ValueError("second"), {}))
    thread.start()
    thread.join()
    assert [str(error) for error in told] == ["first"]


def test_one_placer_is_opened_however_many_load_at_once(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process is listened to by a thread; a second localizer of six processes cost the start of a run 3 s."""
    model = Replicas(config, 2)
    opened: list[str] = []

    def open_localizer(wording: object, device: str) -> None:
        opened.append(device)
        both.wait(0.2)

    both = threading.Event()
    monkeypatch.setattr(model, "_open_localizer", open_localizer)
    on = LoadedOn(device="cpu", gpu=None, imported_at=0.0, loaded_at=0.0)
    message = Loaded(on=on, load_s=0.0, wording=wording_of(loaded_reader()))
    theirs, ours = Pipe()
    with ThreadPoolExecutor(2) as threads, contextlib.closing(theirs), contextlib.closing(ours):
        made = [Replica(None, ours, number) for number in range(2)]  # type: ignore[arg-type]
        for done in [threads.submit(model._has_loaded, replica, message) for replica in made]:
            done.result(WAIT_S)
    assert opened == ["cpu"]
    assert [replica.device for replica in made] == ["cpu", "cpu"]
