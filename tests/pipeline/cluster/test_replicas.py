"""Workers that share a device: real ones, that load a tiny checkpoint and read it."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.cluster import choose, cluster_run
from pipeline.cluster.local_workers import LocalWorkers
from pipeline.cluster.worker_backend import Peer, WorkerLostError
from pipeline.cluster.worker_messages import Failed, FromWorker, LoadedOn
from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.errors import ModelMemoryError
from pipeline.reports.progress import Silent
from pipeline.stop import Stop
from tests.pipeline.checkpoints import READS_TEXT, TEXT
from tests.pipeline.conftest import MakePdf
from tests.pipeline.runs import changed, rows


@pytest.fixture
def config(reader: Path, docs: Path, make_pdf: MakePdf, tmp_path: Path) -> Config:
    for number in range(4):
        make_pdf(docs / f"{number}.pdf", ["one", "", "three"])
    values = {
        "model": str(reader),
        "ingest": {"paths": [str(docs)]},
        "store": {"database": str(tmp_path / "a.db")},
    }
    return sources.load(None, [*READS_TEXT, "device=cpu", "threads=1"], [("test", values)])


def stored(config: Config) -> list[tuple[Any, ...]]:
    return [(row["path"], row["page"], row["status"], row["text"]) for row in rows(config.store.database)]


@pytest.mark.slow
def test_a_run_stores_the_same_with_workers_of_one_device_and_tells_when_they_have_loaded(
    config: Config, tmp_path: Path
) -> None:
    alone = choose.run(config, Silent(), Stop())
    assert alone.workers == []
    expected, loaded = stored(config), list[LoadedOn]()
    both = changed(config, cluster={"workers": 2}, store={"database": str(tmp_path / "b.db")})
    workers = choose.backend(both)
    assert workers is not None
    summary = cluster_run.run(workers, both, Silent(), Stop(), when_loaded=loaded.append)
    assert stored(both) == expected
    assert [row[2] for row in expected[:3]] == ["ok", "blank", "ok"]
    assert TEXT in expected[0][3]
    assert summary.exit_code == 0
    assert summary.pages == alone.pages
    assert summary.did.num_tokens == alone.did.num_tokens
    assert [worker.doing for worker in summary.workers] == ["finished"] * 2
    assert {(on.device, on.gpu) for on in loaded} == {("cpu", None)}
    assert all(0 < on.imported_at <= on.loaded_at for on in loaded)
    assert {"encode", "decode", "place", "store"} <= {stage.name for stage in summary.stages}


class Full(LocalWorkers):
    """The second of two workers finds no memory for its model; or both do."""

    def __init__(self, full: set[int]) -> None:
        super().__init__(2, 0)
        self.full = full

    def start(self, place: int, *arguments: Any) -> Peer:
        peer = super().start(place, *arguments)
        if place in self.full:
            said = [Failed(error=ModelMemoryError("the model does not fit"))]

            def receive() -> list[FromWorker]:
                if not said:
                    raise WorkerLostError("it has ended")
                return [said.pop()]

            peer.receive = receive  # type: ignore[method-assign]
        return peer


@pytest.mark.slow
def test_one_that_finds_no_memory_is_done_without_where_another_reads(
    config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    summary = cluster_run.run(Full({1}), config, Silent(), Stop())
    assert (summary.num_pages, summary.exit_code) == (12, 0)
    assert "there is no room for a further model; going on without it" in caplog.text
    with pytest.raises(ModelMemoryError, match="does not fit"):  # the last one is needed
        cluster_run.run(Full({0, 1}), changed(config, run={"force": True}), Silent(), Stop())
