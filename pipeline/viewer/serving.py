"""Runs the reader: on the loopback interface, until it is told to end."""

import socket
import webbrowser
from collections.abc import Callable

import uvicorn

from pipeline.errors import ConfigError
from pipeline.viewer.access import Access
from pipeline.viewer.app import Settings, make_app
from storage.database import open_for_reading

HOST = "127.0.0.1"


def serve(settings: Settings, *, port: int, opens_browser: bool, say: Callable[[str], None]) -> None:
    """Serves until Ctrl-C or SIGTERM. port: 0 for any that is free. say: gets the address.

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
        address = f"http://{HOST}:{port}/?token={access.token}"
        config = uvicorn.Config(
            make_app(settings, access),
            log_level="error",
            access_log=False,  # addresses hold what was searched for
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=2,
        )
        say(address)
        if opens_browser:
            webbrowser.open(address)
        uvicorn.Server(config).run(sockets=[listening])
