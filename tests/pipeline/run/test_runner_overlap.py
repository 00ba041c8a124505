"""All stages of a run are at work at once, and none holds up more than itself."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from encoders.views import PageViews
from ocr.types import ParsedText
from pipeline.config.schema import Config
from pipeline.device import open_models
from pipeline.device.sizes import inflight_mb
from pipeline.device.threads.decoder_thread import DecoderLoop
from pipeline.device.tickets import Lot
from pipeline.documents.settings import IngestSettings, RenderSettings
from pipeline.errors import ExitCode
from pipeline.ingest.objects.spool import Spool
from pipeline.ingest.selection import PROBES_AHEAD
from pipeline.ingest.walk import Candidate
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.meter import StageUse
from pipeline.outcome.results import render_timings
from pipeline.reports.progress import Silent
from pipeline.reports.status import status_lines
from pipeline.run import batch_reading, runner
from pipeline.run.budget import Budget
from pipeline.run.flow import PAGES_AHEAD
from pipeline.run.runner import run
from pipeline.run.shared_commits import SharedCommits
from pipeline.stages.store import store_page
from pipeline.stop import Stop
from pipeline.timing import single
from pipeline.types import InputFile, Page, PageResult, ReadyPage, RenderedPage
from storage.database import open_for_reading
from storage.queries.statistics import status
from storage.records.store import Store
from storage.types import PageError
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import WAIT_S, changed, read_slowly, rows, run_quietly, wait_until


class InlineWorkers:
    """Finishes everything at once: a file's name says how many pages it has; every 5th is blank, every 7th fails."""

    def __init__(self, **_: object) -> None: ...

    render_settings = RenderSettings()
    arena = None

    def __enter__(self) -> "InlineWorkers":
        return self

    def __exit__(self, *_: object) -> None: ...

    def probe(self, path: str, frames: tuple[str, ...] = ()) -> Future[InputFile]:
        number, num_pages = path.split(":")
        return done(
            InputFile(
                path=path,
                sha256=number.zfill(64),
                size_bytes=1,
                kind="pdf",
                num_pages=int(num_pages),
                status="ok",
            )
        )

    spool = Spool(IngestSettings())

    def render(self, page: Page, *, cut: str = "as_needed") -> Future[ReadyPage | PageError]:
        number = page.page_index
        if number % 7 == 6:
            return done(PageError(stage="render", category="broken", message="it is"))
        views = PageViews(
            global_view=np.zeros(100_000 + number * 377_001 % 686_432, dtype=np.uint8),
            local_views=np.zeros(0, dtype=np.uint8),
            grid=(1, 1),
        )
        return done(
            RenderedPage(
                page=page,
                views=views,
                width_px=1,
                height_px=1,
                dpi=None,
                blank=number % 5 == 4,
                seconds={"render": 0.0},
            )
        )

    def layer(self, ready: ReadyPage) -> Future[ReadyPage]:
        return done(ready)


def done(outcome: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(outcome)
    return future


class InlineModel:
    """Reads a page after a few turns of the event loop, the later ones sooner."""

    def __init__(self, config: Config, load: object) -> None:
        self.failed: Future[None] = Future()
        self.load_s, self.capture_s, self.num_tokens = 0.0, 0.0, 0
        self.gpu = self.device = self.arena = None
        self.is_loading, self.is_ready = False, True
        self.read_pages: list[Page] = []

    def prepare(self) -> None: ...
    def start(self) -> None: ...
    def close(self) -> None: ...
    async def ready(self, *, alone: bool = False) -> None: ...

    async def read(
        self,
        rendered: RenderedPage,
        dropped: Callable[[int], None] | None = None,
        step: Any = None,
        *,
        is_urgent: bool = False,
        lot: Lot | None = None,
    ) -> PageResult:
        for _ in range(7 - rendered.page.page_index % 7):
            await asyncio.sleep(0)
        if dropped is not None and rendered.page.page_index % 2:
            dropped(rendered.num_bytes)
        self.read_pages.append(rendered.page)
        return PageResult(
            page=rendered.page,
            status="ok",
            parsed=ParsedText(text="read", markdown="read"),
            error=None,
            confidence=0.9,
            timings=(*render_timings(rendered.seconds), single("decode_generate", 0.0)),
        )

    def encoder_stats(self) -> None: ...
    def stages(self, wall_s: float) -> list[StageUse]:
        return []


class WatchedBudget(Budget):
    """Remembers the most that was held."""

    most_bytes = 0

    def add(self, num_bytes: int) -> None:
        super().add(num_bytes)
        self._look()

    async def take(self, num_bytes: int) -> None:
        await super().take(num_bytes)
        self._look()

    def _look(self) -> None:
        WatchedBudget.most_bytes = max(WatchedBudget.most_bytes, self.held_bytes)


def inline(monkeypatch: pytest.MonkeyPatch, inputs: Callable[[], Iterator[Candidate]]) -> list[InlineModel]:
    """Runs go over these inputs in this process from now on; returns their models."""
    models: list[InlineModel] = []

    def make(config: Config, load: object) -> InlineModel:
        models.append(InlineModel(config, load))
        return models[-1]

    monkeypatch.setattr(runner, "walk", lambda *_: inputs())
    monkeypatch.setattr(batch_reading, "WorkerPool", InlineWorkers)
    monkeypatch.setattr(open_models, "PageReader", make)
    monkeypatch.setattr(batch_reading, "Budget", WatchedBudget)
    return models


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 40), max_size=5), st.integers(1, 8))
def test_every_page_is_stored_once_and_within_the_budget(
    config: Config, tmp_path: Path, lengths: list[int], inflight_mb: int
) -> None:
    database = tmp_path / f"{time.monotonic_ns()}.db"
    inputs = [Candidate(path=f"{number}:{length}", relative="") for number, length in enumerate(lengths)]
    WatchedBudget.most_bytes = 0
    with pytest.MonkeyPatch.context() as patch:
        models = inline(patch, lambda: iter(inputs))
        chosen = changed(config, store={"database": str(database)}, run={"inflight_mb": inflight_mb})
        summary = run_quietly(chosen)
    found = [(row["path"], row["page"], row["status"]) for row in rows(str(database))]
    expected = [
        (f"{number}:{length}", index + 1, "failed" if index % 7 == 6 else "blank" if index % 5 == 4 else "ok")
        for number, length in enumerate(lengths)
        for index in range(length)
    ]
    assert found == expected
    with closing(open_for_reading(str(database))) as db:
        assert status(db).num_attempts == len(expected), "no page was tried twice"
    assert summary.num_pages == len(expected)
    assert len(models[0].read_pages) == summary.pages["ok"], "blank and failed pages never reach the model"
    assert WatchedBudget.most_bytes <= inflight_mb << 20


def test_files_are_not_walked_far_ahead(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    walked, walked_ahead = list[int](), list[int]()

    def inputs() -> Iterator[Candidate]:
        for number in range(10_000):
            walked.append(number)
            yield Candidate(path=f"{number}:3", relative="")

    inline(monkeypatch, inputs)
    monkeypatch.setattr(InlineWorkers, "render", lambda *_, **__: Future())  # nothing moves
    stop = Stop()

    def stop_when_still() -> None:
        wait_until(lambda: bool(walked))
        before = -1
        while len(walked) != before:
            before = len(walked)
            time.sleep(0.3)
        walked_ahead.append(before)  # afterwards what is left is counted
        stop.request("SIGTERM")

    threading.Thread(target=stop_when_still, daemon=True).start()
    summary = run(config, Silent(), stop)
    assert summary.stopped == "SIGTERM"
    held = (inflight_mb(config, None) << 20) // (3 * 512**2)
    assert 0 < walked_ahead[0] <= (held + PAGES_AHEAD) / 3 + 2 * PROBES_AHEAD


def test_a_stop_ends_the_wait_for_a_page(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    inline(monkeypatch, lambda: iter([Candidate(path="1:4", relative="")]))
    monkeypatch.setattr(InlineWorkers, "render", lambda *_, **__: Future())
    stop = Stop()
    threading.Timer(0.3, stop.request, ["SIGINT"]).start()
    summary = run(config, Silent(), stop)  # of a page that never comes
    assert (summary.stopped, summary.num_pages, summary.exit_code) == ("SIGINT", 0, ExitCode.STOPPED)


def test_a_slow_disk_holds_up_neither_rendering_nor_reading(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", [f"page {number}" for number in range(6)])
    all_read = threading.Event()
    num_read, waited = [0], []
    deliver, together = DecoderLoop._deliver, SharedCommits._together

    def delivered(self: DecoderLoop, *args: Any) -> None:
        deliver(self, *args)
        num_read[0] += 1
        if num_read[0] == 6:
            all_read.set()

    def slowly(self: SharedCommits, first: Any) -> Any:
        if first._task.func is store_page:
            waited.append(all_read.wait(WAIT_S))  # as long as any page is not read
        return together(self, first)

    monkeypatch.setattr(DecoderLoop, "_deliver", delivered)
    monkeypatch.setattr(SharedCommits, "_together", slowly)
    assert batch.run().pages == {"ok": 6}
    assert waited
    assert all(waited)
    assert [row["text"] for row in rows(batch.database)] == [TEXT] * 6


def test_a_page_that_hangs_in_its_worker_holds_up_no_other(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", ["one", "two", "three", "four"])
    hung: Future[ReadyPage | PageError] = Future()
    real = WorkerPool.render

    def render(self: WorkerPool, page: Page, **kwargs: Any) -> Future[ReadyPage | PageError]:
        return hung if page.page_number == 2 else real(self, page, **kwargs)

    monkeypatch.setattr(WorkerPool, "render", render)
    order: list[int] = []

    class EndsTheHangAfterThree(Silent):
        def page_done(self, result: PageResult) -> None:
            order.append(result.page.page_number)
            if len(order) == 3:
                hung.set_result(PageError(stage="render", category="timeout", message="it hung"))

    summary = run(batch.config, EndsTheHangAfterThree(), Stop())
    assert summary.pages == {"ok": 3, "failed": 1}
    assert sorted(order[:3]) == [1, 3, 4]
    assert [row["status"] for row in rows(batch.database)] == ["ok", "failed", "ok", "ok"]


@pytest.mark.slow
def test_a_stop_while_pages_are_read_ends_soon_and_keeps_what_is_finished(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", [f"page {number}" for number in range(12)])
    read_slowly(monkeypatch, 0.2)
    stop = Stop()

    class StopsAfterTwo(Silent):
        num_done = 0

        def page_done(self, result: PageResult) -> None:
            self.num_done += 1
            if self.num_done == 2:
                stop.request("SIGTERM")

    one_by_one = changed(batch.config, decode={"batch_size": 1})
    summary = run(one_by_one, StopsAfterTwo(), stop)
    assert summary.exit_code == ExitCode.STOPPED
    assert 2 <= summary.num_pages < 5
    with closing(open_for_reading(batch.database)) as db:
        found = status(db)
    assert found.pages == {"ok": summary.num_pages, "pending": 12 - summary.num_pages}
    assert found.runs[0].flow is not None
    assert found.runs[0].flow["num_tokens"] > 0

    monkeypatch.undo()
    assert batch.run().pages == {"ok": 12 - summary.num_pages}
    with closing(open_for_reading(batch.database)) as db:
        assert status(db).num_attempts == 12, "nothing was read twice"


def test_a_page_that_is_done_when_the_run_is_stopped_is_stored(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", ["one"])
    stop, record = Stop(), Store.record_page

    def slow(self: Store, *args: Any, **kwargs: Any) -> int:
        stop.request("SIGTERM")
        time.sleep(0.5)
        return record(self, *args, **kwargs)

    monkeypatch.setattr(Store, "record_page", slow)
    summary = run(batch.config, Silent(), stop)
    assert (summary.stopped, summary.pages) == ("SIGTERM", {"ok": 1})
    assert [row["text"] for row in rows(batch.database)] == [TEXT]


@pytest.mark.parametrize("inflight_mb", [1, 512])
def test_every_page_has_exactly_one_row_and_the_stages_their_shares(batch: Batch, inflight_mb: int) -> None:
    for number, count in enumerate((1, 7, 3)):
        batch.pdf(f"{number}.pdf", [f"file {number} page {page}" for page in range(count)])
    summary = batch.run(run={"inflight_mb": inflight_mb}, render={"workers": 2})
    assert summary.pages == {"ok": 11}
    with closing(open_for_reading(batch.database)) as db:
        found = status(db)
    assert (found.num_attempts, found.pages) == (11, {"ok": 11})

    names = ["discover", "render", "encode", "decode", "place", "flow", "store"]
    assert [stage.name for stage in summary.stages] == names
    for stage in summary.stages:
        shares = (stage.busy, stage.waiting_input, stage.waiting_output)
        assert all(0 <= share <= 1 for share in shares), stage
        assert sum(shares) <= 1.001, stage
        assert stage.busy > 0, stage
    assert sum(line.startswith("bottleneck: ") for line in summary.lines(verbose=True)) == 1
    assert summary.did.num_tokens == 11 * len(TEXT.split())

    shown = [line.split() for line in status_lines(found)]
    assert ["stage", "busy", "waiting", "for", "input", "waiting", "for", "room"] in shown
    assert {"discover", "render", "encode", "decode", "store"} <= {line[0] for line in shown if line}
    assert any(line[:2] == ["44", "tokens"] for line in shown)


def test_no_thread_of_a_run_outlives_it(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one"])
    before = set(threading.enumerate())
    batch.run()
    left = {thread.name for thread in set(threading.enumerate()) - before}
    assert not left & {"model", "decoder", "gpu-meter"}
    assert not any(name.startswith("store") for name in left)
