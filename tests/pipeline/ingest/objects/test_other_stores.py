"""Runs over objects of Azure's and Google's protocols and of a web server, against runs over the same files."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.pipeline.ingest.objects.other_servers import azurite, google, web
from tests.pipeline.ingest.objects.test_s3_run import make, rows, run

# Puts a folder's files into a bucket: in a process of its own, whose environment names the server.
_FILL = """
import sys, fsspec
from pathlib import Path
protocol, folder = sys.argv[1], Path(sys.argv[2])
store = fsspec.filesystem(protocol)
if not store.exists("box"):
    store.mkdir("box")
for path in folder.rglob("*.*"):
    store.pipe(f"box/{path.relative_to(folder.parent).as_posix()}", path.read_bytes())
"""
# Not read there: pyarrow's threads and a store's end a process badly together.
_FETCH = """
import sys, fsspec
from pathlib import Path
store = fsspec.filesystem(sys.argv[1])
for shard in store.ls("box/out", detail=False):
    Path(sys.argv[2], shard.rpartition("/")[2]).write_bytes(store.cat(shard))
"""


def python(code: str, env: dict[str, str], *arguments: str) -> None:
    subprocess.run([sys.executable, "-c", code, *arguments], env=os.environ | env, check=True, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "server"), [("az", azurite), ("gs", google)])
def test_a_folder_is_read_and_shards_are_written(
    protocol: str, server: Callable[[Path], AbstractContextManager[dict[str, str]]], tmp_path: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    make(tmp_path / "in")
    local, remote = tmp_path / "local.db", tmp_path / "remote.db"
    with server(tmp_path / "server") as env:
        python(_FILL, env, protocol, str(tmp_path / "in"))
        run(local, {}, str(tmp_path / "in"))
        run(remote, env, f"{protocol}://box/in")
        assert rows(remote, f"{protocol}://box/in") == rows(local, str(tmp_path / "in"))
        settings = ("--format", "parquet", "--shard-pages", "3", "--out-dir", f"{protocol}://box/out")
        export = [sys.executable, "-m", "pipeline.cli", "export", "--db", str(remote), *settings]
        subprocess.run(export, env=os.environ | env, check=True, timeout=300)
        (tmp_path / "out").mkdir()
        python(_FETCH, env, protocol, str(tmp_path / "out"))
    shards = [parquet.read_table(path) for path in sorted((tmp_path / "out").iterdir())]
    assert [shard.num_rows for shard in shards] == [3, 3, 2]


@pytest.mark.slow
def test_a_list_of_web_addresses_is_read(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="needs the extra cloud")
    make(tmp_path / "in")
    local, remote = tmp_path / "local.db", tmp_path / "remote.db"
    with web(tmp_path / "in") as address:
        names = sorted(
            path.relative_to(tmp_path / "in").as_posix() for path in (tmp_path / "in").rglob("*.*")
        )
        urls = [f"{address}/{quote(name)}" for name in (*names, "gone.pdf")]
        (tmp_path / "list.txt").write_text("\n".join(urls))
        run(local, {}, str(tmp_path / "in"))
        run(remote, {}, "--manifest", str(tmp_path / "list.txt"))
    files, pages = rows(remote, address)
    gone = [row for row in files if row[0] == "/gone.pdf"]
    assert [row[1:3] for row in gone] == [("broken", "cannot be read: no such object")]
    here: list[Any] = [row for row in files if row not in gone]
    expected = rows(local, str(tmp_path / "in"))
    for found, wanted in ((here, expected[0]), (pages, expected[1])):
        assert sorted((unquote(path), *rest) for path, *rest in found) == sorted(wanted)
