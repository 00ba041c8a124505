"""A page that kills every worker that reads it is found and set aside, and takes no other page with it."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.cluster import cluster_run
from pipeline.cluster.request_handler import RequestHandler
from pipeline.cluster.worker_messages import Asked
from pipeline.config.schema import Config
from pipeline.config.sources import load
from pipeline.reports.progress import Silent
from pipeline.run import runner
from pipeline.stop import Stop
from tests.faults.rig.corpus import write_pdf
from tests.faults.rig.model import READS_WORDS, save_words
from tests.pipeline.cluster.test_local_workers import Watched, asked

POISON = 3


class Poisoned(Watched):
    """Each worker that marks the page as being read dies of it."""

    def __init__(self, size: int) -> None:
        super().__init__(size, 0)
        self.deaths: list[int] = []

    def befall(self, peer: Any, one: Asked) -> None:
        if one.ask is RequestHandler.begin and POISON in {index for _, index in one.args[0]}:
            self.deaths.append(len(one.args[0]))
            peer.kill()  # the run still gets the mark, as when the page is in the model


@pytest.mark.slow
def test_a_page_that_kills_its_workers_is_set_aside(tmp_path: Path) -> None:
    model = save_words(tmp_path / "model")
    made = write_pdf(tmp_path / "a.pdf", [f"the page number {number}" for number in range(8)])

    def config(name: str) -> Config:
        values = {
            "ingest": {"paths": [str(made)]},
            "store": {"database": str(tmp_path / f"{name}.db"), "attempt_limit": 2},
            "model": str(model),
            "device": "cpu",
            "text_layer": "ignore",
        }
        sets = [*READS_WORDS, "dtype=float32", "encoder.dtype=float32", "ladder.rungs=[]"]
        return load(None, sets, [("test", values)])

    runner.run(config("alone"), Silent(), Stop())
    backend = Poisoned(2)
    summary = cluster_run.run(backend, config("poisoned"), Silent(), Stop())
    pages = "SELECT page_index, status, text FROM results WHERE page_index <> 3 ORDER BY page_index"
    assert asked(tmp_path / "poisoned.db", pages) == asked(tmp_path / "alone.db", pages)
    assert 2 <= len(backend.deaths) <= 4
    assert backend.deaths[-1] == 1, "in the end it is read alone"
    assert [number for _, number in summary.quarantined] == [POISON + 1]
    assert asked(tmp_path / "poisoned.db", "SELECT count(*) FROM in_flight") == [(0,)]
