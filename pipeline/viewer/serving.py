"""Runs the reader: on the loopback interface, until it is told to end."""

import contextlib
import os
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn

from pipeline.errors import ConfigError
from pipeline.viewer.access import Access
from pipeline.viewer.app import Settings, make_app
from storage.database import open_for_reading

HOST = "127.0.0.1"


def serve(settings: Settings, *, port: int, opens_browser: bool, say: Callable[[str], None]) -> None:
    """Serves until Ctrl-C or SIGTERM. port: 0 for any that is free. say: gets the path of the file that opens it.

    Raises: ConfigError where the port is taken, and what open_for_reading raises.
    """
    open_for_reading(settings.database).close()
    # With the protocol named, asyncio sends what there is at once: otherwise answers wait 40 ms for an acknowledgement.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise ConfigError(
                f"--port {port}: {error.strerror}; name another, or 0 for any that is free"
            ) from error
        listening.listen(64)  # so that a browser that is quicker than the server waits
        port = listening.getsockname()[1]
        access = Access(port)
        config = uvicorn.Config(
            make_app(settings, access),
            log_level="error",
            access_log=False,  # addresses hold what was searched for
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=2,
        )
        with _door(access, settings.database, port) as path:
            say(path)
            if opens_browser:
                webbrowser.open(Path(path).as_uri())
            uvicorn.Server(config).run(sockets=[listening])


@contextlib.contextmanager
def _door(access: Access, database: str, port: int) -> Iterator[str]:
    """Writes the file that opens the reader, for its user alone, and removes it in the end; yields its path.

    It lies beside the database: browsers that come as a snap see the home folder, but no temporary ones.
    """
    name = f"{os.path.basename(database)}.view-{port}.html"
    with contextlib.ExitStack() as cleaning:
        path = os.path.join(os.path.dirname(os.path.realpath(database)), name)
        try:
            written = _private(path)
        except OSError:  # a folder that cannot be written to
            folder = cleaning.enter_context(tempfile.TemporaryDirectory(prefix="ocrbatch-view-"))
            path = os.path.join(folder, "open.html")
            written = _private(path)
        cleaning.callback(lambda: Path(path).unlink(missing_ok=True))
        with open(written, "w", encoding="ascii") as file:
            file.write(access.door)
        yield path


def _private(path: str) -> int:
    """Returns the descriptor of a new file that nobody else may read. A reader that was killed may have left one."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
