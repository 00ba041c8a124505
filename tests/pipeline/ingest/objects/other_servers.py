"""Servers of Azure's and Google's protocols and of plain HTTP on loopback; a test skips where one is not installed."""

import contextlib
import functools
import http.server
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_START_S = 60.0
_ACCOUNT, _KEY = "here", "a2V5"  # made up: the server is told of them


@contextlib.contextmanager
def azurite(folder: Path) -> Iterator[dict[str, str]]:
    """Yields the environment for a server of Azure's blobs."""
    program = os.environ.get("AZURITE_BLOB") or shutil.which("azurite-blob")
    if program is None or importlib.util.find_spec("adlfs") is None:
        pytest.skip("needs adlfs, and azurite-blob on the path or in AZURITE_BLOB (npm install azurite)")
    port = _free_port()
    where = ("--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder))
    with _served(
        [program, *where, "--skipApiVersionCheck"], port, {"AZURITE_ACCOUNTS": f"{_ACCOUNT}:{_KEY}"}
    ):
        yield {
            "AZURE_STORAGE_CONNECTION_STRING": f"DefaultEndpointsProtocol=http;AccountName={_ACCOUNT};"
            f"AccountKey={_KEY};BlobEndpoint=http://127.0.0.1:{port}/{_ACCOUNT};"
        }


@contextlib.contextmanager
def google(folder: Path) -> Iterator[dict[str, str]]:
    """Yields the environment for a server of Google's storage."""
    for name in ("gcsfs", "gcp_storage_emulator"):
        pytest.importorskip(name, reason="needs gcsfs and gcp-storage-emulator")
    port = _free_port()
    start = ("start", "--host", "127.0.0.1", "--port", str(port), "--in-memory", "--default-bucket", "box")
    with _served([sys.executable, "-m", "gcp_storage_emulator", *start], port, {}):
        yield {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}


@contextlib.contextmanager
def web(folder: Path) -> Iterator[str]:
    """Yields the address of a web server of a folder."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextlib.contextmanager
def _served(command: list[str], port: int, env: dict[str, str]) -> Iterator[None]:
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, env=os.environ | env, stdout=quiet, stderr=quiet)
    try:
        end = time.monotonic() + _START_S
        while time.monotonic() < end and server.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
