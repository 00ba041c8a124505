"""Many workers that read nothing, and a real database: each page is stored once, though a worker is lost."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.benchmarks.scale.made_pages import Corpus, Pages
from tests.benchmarks.scale.simulated_run import SETTINGS, simulate
from tests.benchmarks.scale.stand_ins import Pace


def test_each_page_is_stored_once_though_a_worker_is_lost(tmp_path: Path) -> None:
    path, pages = str(tmp_path / "a.db"), Pages(SETTINGS, 20)
    found = simulate(path, Corpus(num_pages=2000), 20, Pace(pages_per_s=None, lose_at=1000), pages=pages)
    assert found.num_lost == 1
    assert found.summary.pages == {"ok": 2000}
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*), count(DISTINCT page_id) FROM attempts").fetchone() == (2000, 2000)
        assert db.execute("SELECT count(*) FROM in_flight").fetchone() == (0,)
