"""Workers in processes of this machine, one for each of its GPUs."""

import logging
import multiprocessing
import os
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from pipeline.cluster.worker_backend import Peer, WorkerBackend, WorkerLostError
from pipeline.cluster.worker_messages import Failed, FromWorker, ToWorker
from pipeline.config.schema import Config, reads_lines
from pipeline.device.gpu_meter import visible_gpus
from pipeline.device.startup.loading import calm_threads, is_model_likely, line_readers, render_workers
from pipeline.device.threads.preload import model_modules
from pipeline.ingest.workers.failed_tasks import death
from pipeline.ingest.workers.fork_servers import context

_END_S = 5.0
# What multiprocessing says where the server of forks is gone: the process may live.
_UNKNOWN = 255


class LocalWorkers(WorkerBackend):
    """Processes that share this machine's CPUs.

    num_gpus: each has one of them, which several share where they are more; 0: they have what the machine has.
    """

    def __init__(self, size: int, num_gpus: int) -> None:
        super().__init__(size)
        self._num_gpus = num_gpus

    def start(self, slot: int, config: Config, run_id: int, settings_hash: str) -> Peer:
        """Starts a process with its share of the machine."""
        gpu = None if self._num_gpus == 0 else visible_gpus(self._num_gpus)[slot % self._num_gpus]
        peer = _Process(slot, shared_out(config, self.size), run_id, settings_hash, gpu)
        self.peers.append(peer)
        return peer


def shared_out(config: Config, num_workers: int, cpus: int | None = None) -> Config:
    """Returns the configuration of one of so many workers: it has its share of the CPUs, None for this machine's."""
    all_render = render_workers(config) if cpus is None else config.render.workers or max(1, cpus // 2)
    all_threads = line_readers(config) if cpus is None else config.threads or max(1, cpus)
    render = config.render.model_copy(update={"workers": max(1, all_render // num_workers)})
    threads = max(1, all_threads // num_workers)
    cluster = config.cluster.model_copy(update={"workers": 1, "address": None})
    return config.model_copy(update={"render": render, "threads": threads, "cluster": cluster})


class _Process(Peer):
    def __init__(self, slot: int, config: Config, run_id: int, settings_hash: str, gpu: str | None) -> None:
        calm_threads()  # before torch is imported, for which the processes' server has this one's environment
        self._connection, other = multiprocessing.Pipe()
        self._sending = threading.Lock()
        level = logging.getLogger("ocrbatch").getEffectiveLevel()
        environment = {**os.environ} if gpu is None else os.environ | {"CUDA_VISIBLE_DEVICES": gpu}
        arguments = (other, environment, level, config, run_id, settings_hash)
        needs_model = is_model_likely(config) and not reads_lines(config)
        imports = ("pipeline.cluster.cluster_worker", *(model_modules() if needs_model else ()))
        # Not daemonic: workers have processes of their own.
        self._process = context(imports).Process(target=_serve, args=arguments, name=f"worker-{slot}")
        self._process.start()
        other.close()

    def receive(self) -> list[FromWorker]:
        """Returns the next message."""
        try:
            return [self._connection.recv()]
        except (EOFError, OSError):
            self._process.join(_END_S)
            raise WorkerLostError(death(self._process.exitcode)) from None

    def send(self, message: ToWorker) -> None:
        """Sends a message."""
        with suppress(OSError), self._sending:
            self._connection.send(message)

    def kill(self) -> None:
        """Kills the process and what it started."""
        if self._process.exitcode in (None, _UNKNOWN):
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        self._process.join(_END_S)


def _serve(connection: Connection, environment: dict[str, str], level: int, *reading: Any) -> None:
    # Signals reach the whole group: the worker's own processes would end before the run says so, and pages with them.
    if hasattr(os, "setsid"):
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.environ.update(environment)  # the server's is that of the first run
    from pipeline.cluster.cluster_worker import work
    from pipeline.cluster.worker_channel import WorkerChannel

    logging.getLogger("ocrbatch").setLevel(level)
    logging.getLogger("ocrbatch").propagate = False
    sending = threading.Lock()

    def send(message: FromWorker) -> None:
        with sending:
            try:
                connection.send(message)
            except OSError:  # the run is gone
                os._exit(1)
            except Exception as error:  # what cannot be pickled
                connection.send(Failed(error=RuntimeError(repr(error)[:500])))

    channel = WorkerChannel(send)
    threading.Thread(target=_listen, args=(connection, channel), name="run", daemon=True).start()
    work(channel, *reading)
    connection.close()


def _listen(connection: Connection, channel: Any) -> None:
    while True:
        try:
            channel.hear(connection.recv())
        except (EOFError, OSError):
            os._exit(1)  # nobody is left to read for
