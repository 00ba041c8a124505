"""An S3 server on loopback, and a proxy before it that misbehaves for objects as their names say."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

_FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class FaultyProxy:
    """Forwards to a port. `stalled` in a request: no answer ever; `forbidden`: 403; `vanishing`: calls vanish first."""

    def __init__(self, port: int, vanish: Callable[[], None]) -> None:
        self._target, self._vanish = port, vanish
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            client,
            socket.create_connection(("127.0.0.1", self._target)) as server,
        ):
            threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()
            while data := client.recv(1 << 16):
                line = data.split(b"\r\n", 1)[0]
                if b"stalled" in line:
                    continue
                if b"forbidden" in line:
                    client.sendall(_FORBIDDEN)
                    return
                if b"vanishing" in line:
                    self._vanish()
                server.sendall(data)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)


@contextlib.contextmanager
def s3_server() -> Iterator[int]:
    """Yields the port of moto's S3 server."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield server.get_host_and_port()[1]
    finally:
        server.stop()
