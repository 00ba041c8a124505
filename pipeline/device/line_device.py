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
        self._is_closed = self._has_ended = self._has_told = False
        self._loading: Future[Served] = Future()

    @property
    def is_optional(self) -> bool:
        """Tells whether lines are read without a GPU as long as it is not ready, and where there is none."""
        return self._asked[1] == "auto"

    def address_by_now(self) -> str:
        """Starts the process if need be, and returns where it serves; "" as long as it does not. As address() else."""
        self._begin()
        return self.address() if self._loading.done() else ""

    def address(self) -> str:
        """Starts the process if need be, and returns where it serves once it does; "" where lines are read without it,
        as once the process has ended.

        Raises: ConfigError, DeviceUnusableError for a GPU that was asked for and cannot be used; CheckpointError.
        """
        self._begin()
        if self._is_closed:
            return ""
        try:
            served = self._loading.result()
        except (ConfigError, CheckpointError):
            raise
        except Exception as error:
            if self._asked[1] == "cuda":
                raise
            self._tell(f"a GPU cannot be used, so lines are read without it: {error}")
            return ""
        if self._has_ended or (served.device != "cuda" and self._asked[1] != "cpu"):
            return ""
        self.served = served
        return self._address

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

    def _begin(self) -> None:
        with self._starting:
            if self._process is None and not self._is_closed:
                self._start()

    def _start(self) -> None:
        folder, device, settings = self._asked
        self._home = tempfile.TemporaryDirectory(prefix="ocrb-")
        self._address = f"{self._home.name}/lines"
        self._run, other = multiprocessing.Pipe()
        with socket.socket(socket.AF_UNIX) as listener, other:
            listener.bind(self._address)
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
            while (message := self._received()) is not None:
                if isinstance(message, logging.LogRecord):
                    LOGGER.handle(message)
                elif isinstance(message, dict):
                    self.stats = message
                elif isinstance(message, Served):
                    meter = closing.enter_context(GpuMeter(message.gpu)) if message.gpu else None
                    self._loading.set_result(message)
                elif not self._loading.done():
                    self._loading.set_exception(message)
        self.gpu = None if meter is None else meter.reading()
        process.join(_END_S)
        self._has_ended = True
        how = f"the process with the line reader on a GPU ended ({death(process.exitcode)})"
        if not self._loading.done():
            self._loading.set_exception(DeviceUnusableError(how))
        elif self.served is not None and not self._is_closed:
            self._tell(f"{how}; lines are read without it from here on")

    def _received(self) -> Any:
        """Returns the next message, None once the process is gone."""
        try:
            return self._run.recv()
        except (EOFError, OSError):
            return None

    def _tell(self, message: str) -> None:
        if not self._has_told:
            self._has_told = True
            LOGGER.warning(message)


def _serve(visible: str, *arguments: Any) -> None:
    if visible:
        os.environ["CUDA_VISIBLE_DEVICES"] = visible
    from pipeline.device.line_server import serve

    serve(*arguments)
