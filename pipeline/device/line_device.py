"""The GPU of a run's line reader: a process that serves its networks, as the run knows it. Torch-free."""

import logging
import multiprocessing
import os
import socket
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.graphs.settings import GraphSettings
from ocr.errors import CheckpointError
from pipeline.device.gpu_meter import GpuMeter, GpuReading, Served
from pipeline.errors import ConfigError, DeviceUnusableError
from pipeline.ingest.workers.failed_tasks import death
from pipeline.ingest.workers.fork_servers import context

if TYPE_CHECKING:
    from encoders.graphs.stats import PathStats

LOGGER = logging.getLogger("ocrbatch")
_END_S = 5.0
_BACKLOG = 512


class LineDevice:
    """A process that owns the GPU and serves a line reader's networks. For any thread.

    folder: with the reader's files. device: "auto" for a GPU where there is one, "cuda", or "cpu", which serves from
    there, as tests do. settings: of the graph manager. visible: the GPU as CUDA_VISIBLE_DEVICES names it, "" for the
    first. served: what the process is, None unless it serves. stats: of both paths, and gpu: how busy it was, once it
    is closed.
    """

    def __init__(self, folder: Path, device: str, settings: GraphSettings, visible: str = "") -> None:
        self.served: Served | None = None
        self.stats: Mapping[str, PathStats] | None = None
        self.gpu: GpuReading | None = None
        self._asked, self._visible = (folder, device, settings), visible
        self._starting = threading.Lock()
        self._process: BaseProcess | None = None
        self._address = ""
        self._is_closed = False
        self._loading: Future[Served] = Future()

    @property
    def is_optional(self) -> bool:
        """Tells whether lines are read without a GPU as long as it is not ready, and where there is none."""
        return self._asked[1] == "auto"

    def wake(self) -> str:
        """Starts the process if need be, and returns the path where it serves: there is one only while it does."""
        with self._starting:
            if self._process is None and not self._is_closed:
                self._start()
        return self._address

    def address(self) -> str:
        """Returns what wake() does, once the process serves; "" where lines are read without it.

        Raises: ConfigError, DeviceUnusableError for a GPU that was asked for and cannot be used; CheckpointError.
        """
        self.wake()
        try:
            return "" if self._is_closed or not self._serves(self._loading.result()) else self._address
        except (ConfigError, CheckpointError):
            raise
        except Exception:
            if self._asked[1] == "cuda":
                raise
            return ""

    def close(self) -> None:
        """Ends the process. Closing twice is harmless."""
        with self._starting:
            self._is_closed = True
        if self._process is None:
            return
        if self._loading.done():
            with suppress(OSError):
                self._run.send(None)  # it answers with its statistics
            self._listening.join(_END_S)
        self._process.kill()
        self._process.join(_END_S)
        self._home.cleanup()

    def _serves(self, served: Served) -> bool:
        return served.device == "cuda" or self._asked[1] == "cpu"

    def _start(self) -> None:
        folder, device, settings = self._asked
        self._home = tempfile.TemporaryDirectory(prefix="ocrb-")
        self._address = f"{self._home.name}/lines"
        self._run, other = multiprocessing.Pipe()
        with socket.socket(socket.AF_UNIX) as listener, other:
            listener.bind(f"{self._address}_")
            listener.listen(_BACKLOG)
            level = LOGGER.getEffectiveLevel()
            arguments = self._visible, listener, other, str(folder), device, settings, level
            # Named, so that this process does without torch.
            self._process = context(("pipeline.device.line_server",)).Process(
                target=_serve, args=arguments, name="lines", daemon=True
            )
            self._process.start()
        self._listening = threading.Thread(
            target=self._listen, args=(self._process,), name="line device", daemon=True
        )
        self._listening.start()

    def _listen(self, process: BaseProcess) -> None:
        with ExitStack() as closing:
            meter: GpuMeter | None = None
            while True:
                try:
                    message = self._run.recv()
                except (EOFError, OSError):  # the process is gone
                    break
                if isinstance(message, logging.LogRecord):
                    LOGGER.handle(message)
                elif isinstance(message, dict):
                    self.stats = message
                elif isinstance(message, Served):
                    meter = closing.enter_context(GpuMeter(message.gpu))
                    if self._serves(message):
                        self.served = message
                        with suppress(OSError):  # where all is closed meanwhile
                            os.rename(f"{self._address}_", self._address)
                    self._loading.set_result(message)
                elif not self._loading.done():
                    self._fail(message)
        self.gpu = None if meter is None else meter.reading()
        with suppress(OSError):  # where it never served, and where all is closed
            os.unlink(self._address)
        process.join(_END_S)
        how = f"the process with the line reader on a GPU ended ({death(process.exitcode)})"
        if not self._loading.done():
            self._fail(DeviceUnusableError(how))
        elif self.served is not None and not self._is_closed:
            LOGGER.warning("%s; lines are read without it from here on", how)

    def _fail(self, error: Exception) -> None:
        self._loading.set_exception(error)
        if self._asked[1] != "cuda" and not self._is_closed:
            LOGGER.warning("a GPU cannot be used, so lines are read without it: %s", error)


def _serve(visible: str, *arguments: Any) -> None:
    if visible:
        os.environ["CUDA_VISIBLE_DEVICES"] = visible
    from pipeline.device.line_server import serve

    serve(*arguments)
