"""A run of a Ray cluster over objects of an S3 server, each fetched by the worker that reads it."""

from pathlib import Path

import pytest

from tests.pipeline.ingest.objects.s3_server import s3_server
from tests.pipeline.ingest.objects.test_s3_run import NAMES, make, rows, run

pytestmark = pytest.mark.slow


def test_a_cluster_reads_objects_as_one_process_reads_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boto3 = pytest.importorskip("boto3", reason="needs moto, boto3 and s3fs")
    pytest.importorskip("moto.server", reason="needs moto, boto3 and s3fs")
    pytest.importorskip("s3fs", reason="needs the extra cloud")
    ray = pytest.importorskip("ray", reason="needs the extra cluster")
    from ray.cluster_utils import Cluster

    make(tmp_path / "in")
    run(tmp_path / "local.db", {}, str(tmp_path / "in"))
    with s3_server() as port:
        # The cluster's machines take credentials from their own environment, which is this one.
        for name, value in (
            ("AWS_ACCESS_KEY_ID", "k"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}"),
        ):
            monkeypatch.setenv(name, value)
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="box")
        for path in (tmp_path / "in").rglob("*.*"):
            s3.put_object(Bucket="box", Key=str(path.relative_to(tmp_path)), Body=path.read_bytes())
        cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20}
        )
        try:
            cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
            (tmp_path / "list.txt").write_text("s3://box/in/\ns3://box/in/gone.pdf\n")
            named = ("--manifest", str(tmp_path / "list.txt"), "--cluster", cluster.address)
            run(tmp_path / "remote.db", {}, *named)
        finally:
            ray.shutdown()
            cluster.shutdown()
    files, pages = rows(tmp_path / "remote.db", "s3://box/in")
    gone = [row for row in files if row[0] == "/gone.pdf"]
    assert [row[1:3] for row in gone] == [("broken", "cannot be read: no such object")]
    here = [row for row in files if row not in gone], pages
    assert here == rows(tmp_path / "local.db", str(tmp_path / "in"))
    assert len(pages) == 2 * len(NAMES)
