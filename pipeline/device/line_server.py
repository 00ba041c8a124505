"""Runs the line reader's networks for the processes that read lines: of all these only this one uses the GPU.

What they ask for while a batch runs makes up the next one, so lines of many pages share a batch.
"""

import logging
import mmap
import os
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch

from encoders.graphs.settings import GraphSettings
from ocr.line_networks.graph_networks import GraphNetworks, LinePaths
from ocr.line_reader.stacks import Stack
from pipeline.device.faults import before_any_page, page_error
from pipeline.device.gpu_meter import Served
from pipeline.device.run_encoder import RunGraphs
from pipeline.device.served_networks import Request
from pipeline.device.startup.loading import choose_device
from pipeline.device.threads.streams import gpu_name, share_cpus, try_device

LOGGER = logging.getLogger("ocrbatch")
# A graph of these networks is captured and tried in some 50 ms, and spares 3 to 5 each time: after so many batches,
# with the median of so many trials.
_CAPTURE_AFTER, _REPEATS = 4, 3
# The most of its time that a server captures graphs, as nobody is served meanwhile; how often it looks for due ones.
_CAPTURING_SHARE, _CAPTURING_S = 0.3, 0.2


def serve(
    listener: socket.socket, run: Connection, folder: str, device: str, settings: GraphSettings, level: int
) -> None:
    """Serves until the run sends anything or is gone, or the GPU is lost. device: "auto", "cuda" or "cpu".

    Tells the run Served, or the error that keeps it from serving, and what is logged; at the end the
    statistics of both paths. folder: of the line reader. level: of what is logged.
    """
    for kind in (signal.SIGINT, signal.SIGTERM):  # sent to all processes of a run, which ends this one itself
        signal.signal(kind, signal.SIG_IGN)
    log = logging.getLogger()
    log.handlers, log.level = [_ToRun(run)], level
    try:
        began = time.perf_counter()
        with before_any_page():
            graphs, networks, told = _loaded(Path(folder), device, settings)
        load_s = time.perf_counter() - began
        name = torch.cuda.get_device_name(told) if told.type == "cuda" else "CPU"
        run.send(Served(device=told.type, name=name, gpu=gpu_name(told), load_s=load_s))
        _Server(listener, run, graphs, networks).serve()
        graphs.close()
    except (BrokenPipeError, EOFError):  # the run is gone
        return
    except Exception as error:
        with suppress(OSError):
            run.send(error if len(error.args) == 1 else RuntimeError(str(error)))


def _loaded(
    folder: Path, asked: str, settings: GraphSettings
) -> tuple[RunGraphs, GraphNetworks, torch.device]:
    device = torch.device(choose_device(asked))
    share_cpus(device, 1)
    try_device(device)
    lines = LinePaths(folder, device)
    settings = replace(settings, capture_after=_CAPTURE_AFTER, repeats=_REPEATS)
    graphs = RunGraphs(lines.paths, settings, device, lines.num_bytes, lines.usual_axes)
    graphs.warm_up()
    return graphs, GraphNetworks(lines, graphs.run), device


@dataclass(slots=True, eq=False)
class _Client:
    """A process that reads lines. memory: that it puts images into, which has no name in any file system."""

    connection: Connection
    memory: mmap.mmap | None = None

    def asked(self) -> Request | None:
        """Returns the next request; None where it was for memory, which the process has then."""
        asked = Request.parsed(self.connection.recv_bytes())
        if isinstance(asked, Request):
            return asked
        file = os.memfd_create("ocrbatch-lines", os.MFD_CLOEXEC)
        try:
            os.ftruncate(file, asked)
            self.memory = mmap.mmap(file, asked)
            self.connection.send_bytes(f"/proc/{os.getpid()}/fd/{file}".encode())
            self.connection.recv_bytes()  # once it is open
        finally:
            os.close(file)
        return None


_Job = tuple[_Client, Request]


class _Server:
    def __init__(
        self, listener: socket.socket, run: Connection, graphs: RunGraphs, networks: GraphNetworks
    ) -> None:
        self._listener, self._run = listener, run
        self._graphs, self._networks = graphs, networks
        self._clients: dict[Connection, _Client] = {}

    def serve(self) -> None:
        """Serves until the run ends it. Raises: EOFError where the run is gone; DeviceLostError."""
        began = looked = time.monotonic()
        capturing_s = 0.0
        while True:
            ready: Sequence[Any] = wait([self._listener, self._run, *self._clients])
            if self._run in ready:
                self._run.recv()
                self._run.send(self._graphs.stats())
                return
            if self._listener in ready:
                connection = Connection(self._listener.accept()[0].detach())
                self._clients[connection] = _Client(connection)
            jobs = [job for one in ready if one in self._clients for job in self._asked(self._clients[one])]
            if jobs:
                self._answer(jobs)
            now = time.monotonic()
            if now - looked > _CAPTURING_S and capturing_s < _CAPTURING_SHARE * (now - began):
                self._graphs.begin_batch()
                looked = time.monotonic()
                capturing_s += looked - now

    def _asked(self, client: _Client) -> list[_Job]:
        """Returns what a client asks for, nothing where it is gone or asks for what cannot be."""
        try:
            asked = client.asked()
        except (EOFError, OSError, ValueError, TypeError):  # gone, or no process of ours any more
            del self._clients[client.connection]
            client.connection.close()
            return []
        return [] if asked is None else [(client, asked)]

    def _answer(self, jobs: Sequence[_Job]) -> None:
        """Runs all that was asked for together; each by itself where that fails, to tell whose fault it is."""
        message = b""
        try:
            self._run_all(jobs)
        except Exception as error:
            if len(jobs) > 1:
                for job in jobs:
                    self._answer([job])
                return
            message = page_error("lines", error).message.encode()
            LOGGER.warning("lines could not be read on the GPU and are on the CPU: %s", message.decode())
        for client, _ in jobs:
            with suppress(OSError):  # it is gone, which the next look at it tells
                client.connection.send_bytes(message)

    def _run_all(self, jobs: Sequence[_Job]) -> None:
        sizes = self._networks.sizes
        arrays = [own for client, asked in jobs for own in asked.arrays(client.memory, sizes)]
        paths = [path for _, asked in jobs for path, _, _ in asked.stacks]
        stacks = [
            Stack(path=path, pixels=own["pixels"], sizes=own["sizes"], members=())
            for path, own in zip(paths, arrays, strict=True)
        ]
        for own, outputs in zip(arrays, self._networks.run(stacks), strict=True):
            for name, output in outputs.items():
                own[name][:] = output


class _ToRun(logging.Handler):
    """Sends what is logged to the run."""

    def __init__(self, run: Connection) -> None:
        super().__init__()
        self._run = run

    def emit(self, record: logging.LogRecord) -> None:
        record.msg, record.args, record.exc_info = record.getMessage(), (), None
        with suppress(OSError):
            self._run.send(record)
