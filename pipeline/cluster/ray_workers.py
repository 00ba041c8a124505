"""Workers on a Ray cluster: an actor for each GPU, or for each machine without one. Needs the extra `cluster`.

Ray starts, places and watches the actors; what is done is what the database says, so none of Ray's own checkpoints is
used. An actor runs a whole worker in a thread. The run asks it for its messages, so that no worker needs to reach the
run's process by name.
"""

import math
import queue
import threading
from contextlib import suppress
from typing import Any

from pipeline.cluster.local_workers import shared_out
from pipeline.cluster.worker_backend import Peer, WorkerBackend, WorkerLostError
from pipeline.cluster.worker_messages import FromWorker, ToWorker
from pipeline.config.schema import Config
from pipeline.errors import ConfigError

# A worker with nothing to say answers after so long; a lost one is noticed by Ray itself.
_PATIENCE_S = 1.0
_MOST = 256


class RayWorkers(WorkerBackend):
    """Actors of a Ray cluster. size: None for as many as the cluster has GPUs, or machines if it has none."""

    def __init__(self, address: str, size: int | None = None) -> None:
        self._ray = ray = connected(address)
        found = ray.cluster_resources()
        self._num_gpus = int(found.get("GPU", 0))
        machines = sum(bool(node["Alive"]) for node in ray.nodes())
        super().__init__(size or self._num_gpus or machines)
        self._cpus_each = max(1, int(found.get("CPU", 1)) // self.size)

    def start(self, slot: int, config: Config, run_id: int, settings_hash: str) -> Peer:
        """Starts an actor where there is room; waits for that."""
        options = {
            "num_cpus": 1,
            "num_gpus": 1 / math.ceil(self.size / self._num_gpus) if self._num_gpus else 0,
            "max_concurrency": 4,
            "max_restarts": 0,
        }
        actor = self._ray.remote(_Worker).options(**options).remote(
            shared_out(config, self.size, self._cpus_each * self.size), run_id, settings_hash
        )  # fmt: skip
        peer = _Actor(self._ray, actor)
        self.peers.append(peer)
        return peer


def connected(address: str) -> Any:
    """Returns the package ray, connected to a cluster. Raises: ConfigError."""
    try:
        import ray
    except ModuleNotFoundError:
        raise ConfigError("a cluster needs Ray: pip install ray") from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, logging_level="warning", log_to_driver=False)
        except (ConnectionError, ValueError) as error:
            raise ConfigError(f"cluster.address {address}: {error}; start it with `ray start`") from None
    return ray


class _Actor(Peer):
    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def receive(self) -> list[FromWorker]:
        """Returns messages, none if there were none for a while."""
        try:
            found: list[FromWorker] | None = self._ray.get(self._actor.messages.remote())
        except self._ray.exceptions.RayError as error:
            raise WorkerLostError(str(error).split("\n", 1)[0][:200]) from None
        if found is None:
            raise WorkerLostError("it has ended")
        return found

    def send(self, message: ToWorker) -> None:
        """Sends a message."""
        with suppress(self._ray.exceptions.RayError):
            self._actor.answer.remote(message)

    def kill(self) -> None:
        """Kills the actor."""
        with suppress(Exception):
            self._ray.kill(self._actor)


class _Worker:
    """The actor: a worker's thread, and its messages."""

    def __init__(self, config: Config, run_id: int, settings_hash: str) -> None:
        from pipeline.cluster.worker_channel import WorkerChannel
        from pipeline.device.startup.loading import calm_threads

        calm_threads()
        self._said: queue.SimpleQueue[FromWorker | None] = queue.SimpleQueue()
        self._channel = WorkerChannel(self._said.put)
        self._is_over = False
        arguments = (config, run_id, settings_hash)
        threading.Thread(target=self._work, args=arguments, name="worker", daemon=True).start()

    def messages(self) -> list[FromWorker] | None:
        """Returns what the worker said since; None once it has ended and all was taken."""
        if self._is_over:
            return None
        found: list[FromWorker] = []
        with suppress(queue.Empty):
            while len(found) < _MOST:
                one = self._said.get(timeout=0 if found else _PATIENCE_S)
                if one is None:
                    self._is_over = True
                    break
                found.append(one)
        return found

    def answer(self, message: ToWorker) -> None:
        """Takes what the run sends."""
        self._channel.hear(message)

    def _work(self, config: Config, run_id: int, settings_hash: str) -> None:
        from pipeline.cluster.cluster_worker import work

        try:
            work(self._channel, config, run_id, settings_hash)
        finally:
            self._said.put(None)
