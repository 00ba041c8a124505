"""Runs over objects of a real S3 server, against runs over the same files."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pymupdf
import pytest

from tests.pipeline.ingest.objects.s3_server import FaultyProxy, s3_server

NAMES = ("a.pdf", "b #1?.pdf", "sub/c+d %41.pdf", "sub/é.pdf")


def make(folder: Path) -> None:
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with pymupdf.open() as document:
            for number in range(2):
                page = document.new_page()
                for line in range(12):
                    page.insert_text(
                        (72, 100 + 20 * line), f"Page {number + 1} of {path.stem}, line {line}, in print."
                    )
            document.save(path)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing")
    (folder / "notes.txt").write_bytes(b"no document")


def run(database: Path, env: dict[str, str], *arguments: str) -> int:
    command = [sys.executable, "-m", "pipeline.cli", "run", "--quiet", "--db", str(database), *arguments]
    return subprocess.run(command, env=os.environ | env, check=False, timeout=300).returncode


def rows(database: Path, root: str) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    files = (
        "SELECT f.path, f.status, coalesce(f.reason, d.reason), d.sha256, d.kind, d.size_bytes, d.num_pages"
    )
    pages = "SELECT path, page, status, text, markdown, source, width_px FROM results ORDER BY path, page"
    with sqlite3.connect(database) as conn:
        found = conn.execute(
            f"{files} FROM files f JOIN documents d ON d.id = f.document_id ORDER BY 1"
        ).fetchall()
        read = conn.execute(pages).fetchall()
    return [(path.removeprefix(root), *rest) for path, *rest in found], [
        (path.removeprefix(root), *rest) for path, *rest in read
    ]


@pytest.mark.slow
def test_objects_are_read_as_files_are_and_faulty_ones_cost_only_themselves(tmp_path: Path) -> None:
    boto3 = pytest.importorskip("boto3", reason="needs moto, boto3 and s3fs")
    pytest.importorskip("moto.server", reason="needs moto, boto3 and s3fs")
    pytest.importorskip("s3fs", reason="needs the extra cloud")
    make(tmp_path / "in")
    with s3_server() as port:
        env = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}
        s3 = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            aws_access_key_id="k",
            aws_secret_access_key="s",
            region_name="us-east-1",
        )
        s3.create_bucket(Bucket="box")
        for path in (tmp_path / "in").rglob("*.*"):
            s3.put_object(Bucket="box", Key=str(path.relative_to(tmp_path)), Body=path.read_bytes())
        for name in ("stalled", "forbidden", "vanishing"):
            s3.put_object(Bucket="box", Key=f"bad/{name}.pdf", Body=(tmp_path / "in/a.pdf").read_bytes())
        proxy = FaultyProxy(port, lambda: s3.delete_object(Bucket="box", Key="bad/vanishing.pdf"))
        env["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{proxy.port}"

        run(tmp_path / "local.db", {}, str(tmp_path / "in"))
        spool = f"ingest.spool={tmp_path / 'spool'}"
        settings = ("--set", "ingest.object_timeout_s=2", "--set", spool)
        run(tmp_path / "remote.db", env, "s3://box/in", "s3://box/bad", *settings)
        files, pages = rows(tmp_path / "remote.db", "s3://box/in")
        bad = {path: (status, reason) for path, status, reason, *_ in files if path.startswith("s3://")}
        here = [row for row in files if row[0] not in bad], pages
        assert here == rows(tmp_path / "local.db", str(tmp_path / "in"))
        assert len(pages) == 2 * len(NAMES)
        assert all(status == "broken" for status, _ in bad.values())
        assert "access denied" in bad["s3://box/bad/forbidden.pdf"][1]
        assert "nothing came for 2 s" in bad["s3://box/bad/stalled.pdf"][1]
        assert "no such object" in bad["s3://box/bad/vanishing.pdf"][1]
        assert list((tmp_path / "spool").iterdir()) == []

        env["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"  # now nothing is wrong
        s3.delete_object(Bucket="box", Key="in/a.pdf")
        run(tmp_path / "remote.db", env, "s3://box", *settings)
        proxy.close()
        states = {path: status for path, status, *_ in rows(tmp_path / "remote.db", "s3://box/")[0]}
        assert states["in/a.pdf"] == "missing"
        assert states["bad/stalled.pdf"] == states["bad/forbidden.pdf"] == "ok"
        assert states["bad/vanishing.pdf"] == "missing"
