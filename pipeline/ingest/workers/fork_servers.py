"""Starts worker processes as forks of a process that has imported what they need, once for all of them. Torch-free.

Twelve processes that each import PyTorch take 25 CPU seconds, one page with them as many. The server only imports: it
opens no file and wakes no GPU, so that a fork of it is as good as a new process. multiprocessing has one such server
for a process; here each kind of worker has its own, since those that open files never load PyTorch.
"""

import io
import os
import sys
import tempfile
import threading
import weakref
from functools import partial
from multiprocessing import get_context, popen_forkserver, reduction, spawn, util
from multiprocessing.context import ForkServerProcess, set_spawning_popen
from multiprocessing.forkserver import ForkServer, read_signed
from multiprocessing.process import current_process
from typing import Any

from pipeline.ingest.workers.plain_pickle import PlainContext

_STARTING = threading.Lock()
_SERVERS: dict[tuple[str, ...], "_Server"] = {}


class UnnamedLock:
    """A lock between processes that a process may take again while it has it; one thread of each uses it (Linux).

    It goes with the process that has it, however that ends. The semaphores of multiprocessing have names in /dev/shm,
    which stay where the process that would remove them is killed.
    """

    def __init__(self) -> None:
        """Makes the lock. Raises: OSError where no file can be opened."""
        self._hold(os.memfd_create("ocrbatch-lock", os.MFD_CLOEXEC))

    def _hold(self, file: int) -> None:
        self._file, self._depth = file, 0
        weakref.finalize(self, os.close, file)

    def __getstate__(self) -> Any:
        return reduction.DupFd(self._file)

    def __setstate__(self, file: Any) -> None:
        self._hold(file.detach())

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Takes the lock and returns whether it was free. timeout: ignored, as no process keeps it and ends."""
        if not self._depth:
            try:
                os.lockf(self._file, os.F_LOCK if block else os.F_TLOCK, 0)
            except BlockingIOError:
                return False
        self._depth += 1
        return True

    def release(self) -> None:
        """Gives the lock back, once for each time it was taken."""
        self._depth -= 1
        if not self._depth:
            os.lockf(self._file, os.F_ULOCK, 0)


class ForkingContext(PlainContext):
    """A context of multiprocessing, for pebble, whose processes are forks. imports: the modules that they need.

    Process: makes a process, not started, as that of multiprocessing does. RLock: makes a lock without a name.
    """

    def __init__(self, imports: tuple[str, ...]) -> None:
        super().__init__(get_context("forkserver"))
        self.Process, self.RLock = partial(ForkedProcess, imports), UnnamedLock


def context(imports: tuple[str, ...]) -> PlainContext:
    """Returns the context for processes that need these modules, which share them where a fork is safe.

    Only on Linux: elsewhere a fork may not use what its system's libraries have begun.
    """
    return ForkingContext(imports) if sys.platform == "linux" else PlainContext(get_context("spawn"))


class _Start(popen_forkserver.Popen):
    """Starts a process as multiprocessing does, but from the server of its kind."""

    _fds: list[int]

    def _launch(self, process_obj: Any) -> None:
        prepared, buffer = spawn.get_preparation_data(process_obj.name), io.BytesIO()
        set_spawning_popen(self)
        try:
            reduction.dump(prepared, buffer)
            reduction.dump(process_obj, buffer)
        finally:
            set_spawning_popen(None)
        self.sentinel, writing = server(process_obj.imports).connect_to_new_process(self._fds)
        # By which the process notices that this one has ended.
        lifeline = os.dup(writing)
        self.finalizer = util.Finalize(self, util.close_fds, (lifeline, self.sentinel))  # type: ignore[attr-defined]
        with open(writing, "wb") as pipe:
            pipe.write(buffer.getbuffer())
        self.pid = read_signed(self.sentinel)


class ForkedProcess(ForkServerProcess):
    """A process that is a fork of the server with its imports."""

    _Popen = _Start

    def __init__(self, imports: tuple[str, ...], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.imports = imports


class _Server(ForkServer):
    """A server of one kind. Its socket has no name in the file system, where a kill would leave it behind (Linux)."""

    _forkserver_address: str | None
    _forkserver_alive_fd: int | None
    _forkserver_pid: int | None

    def ensure_running(self) -> None:
        """Starts the server unless it is there. Raises: OSError."""
        with _STARTING, tempfile.TemporaryDirectory(prefix="ocrbatch-") as folder:
            before, options = self._forkserver_pid, vars(current_process())["_config"]
            kept = options.get("tempdir")
            options["tempdir"] = folder  # where multiprocessing makes the socket
            try:
                super().ensure_running()
            finally:
                options["tempdir"] = kept
            if self._forkserver_pid != before:
                assert self._forkserver_address is not None
                self._forkserver_address = f"/proc/self/fd/{os.open(self._forkserver_address, os.O_PATH)}"

    def stop(self) -> None:
        """Ends the server and waits for it, so that its time counts as this process's."""
        if self._forkserver_pid is not None and self._forkserver_alive_fd is not None:
            os.close(self._forkserver_alive_fd)
            os.waitpid(self._forkserver_pid, 0)
            self._forkserver_pid = self._forkserver_alive_fd = None


def server(imports: tuple[str, ...]) -> _Server:
    """Returns the server of processes that need these modules, which may not run yet."""
    if imports not in _SERVERS:
        made = _SERVERS.setdefault(imports, _Server())
        made.set_forkserver_preload([*imports])
        util.Finalize(None, made.stop, exitpriority=-1)  # forks end without what atexit knows
    return _SERVERS[imports]
