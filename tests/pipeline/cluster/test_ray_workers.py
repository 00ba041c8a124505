"""Workers as actors of a Ray cluster, of one machine and of three that this machine plays."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.cluster import cluster_run
from pipeline.cluster.ray_workers import RayWorkers
from pipeline.config.sources import load
from pipeline.doctor.machine_checks import check_cluster
from pipeline.reports.progress import Silent
from pipeline.run import runner
from pipeline.stop import Stop
from tests.pipeline.cluster.test_local_workers import asked, config_of, texts

ray = pytest.importorskip("ray", reason="needs the extra cluster")
pytestmark = pytest.mark.slow


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Three machines with one CPU each."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    for _ in range(2):
        made.add_node(num_cpus=1, object_store_memory=100 << 20)
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_cluster_stores_what_one_process_stores_though_a_machine_is_lost(
    cluster: Any, tmp_path: Path
) -> None:
    _check_doctor(cluster.address, tmp_path)
    runner.run(config_of(tmp_path / "alone.db"), Silent(), Stop())
    backend = RayWorkers(cluster.address)
    assert backend.size == 3
    lost: list[bool] = []

    class Losing(Silent):
        def page_done(self, result: object) -> None:
            if not lost:
                lost.append(True)
                cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)

    summary = cluster_run.run(backend, config_of(tmp_path / "a.db"), Losing(), Stop())
    assert lost
    assert summary.stopped is None
    assert texts(tmp_path / "a.db") == texts(tmp_path / "alone.db")
    assert asked(tmp_path / "a.db", "SELECT 1 FROM attempts GROUP BY page_id HAVING count(*) > 1") == []


def _check_doctor(address: str, folder: Path) -> None:
    """The machines are this one, and nobody can read a file that is not there."""
    values = {"cluster": {"address": address}, "ingest": {"paths": [str(folder), "/not/there.pdf"]}}
    found = list(check_cluster(load(None, [], [("test", values)])))
    assert [its.state for its in found] == ["ok", "FAIL", "FAIL", "FAIL"]
    assert "3 machines" in found[0].found
    assert "/not/there.pdf: No such file" in found[1].found
    del values["ingest"]["paths"][1]
    assert [its.state for its in check_cluster(load(None, [], [("test", values)]))] == ["ok"] * 4
