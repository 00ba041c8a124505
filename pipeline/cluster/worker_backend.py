"""Defines where workers come from: processes of this machine, or a cluster."""

from abc import ABC, abstractmethod

from pipeline.cluster.worker_messages import FromWorker, ToWorker
from pipeline.config.schema import Config


class WorkerLostError(Exception):
    """A worker has ended, in order or not. Its message says how."""


class Peer(ABC):
    """One worker, as its run sees it."""

    @abstractmethod
    def receive(self) -> list[FromWorker]:
        """Returns what the worker sent, in order; waits for it. For one thread. Raises: WorkerLostError."""

    @abstractmethod
    def send(self, message: ToWorker) -> None:
        """Sends a message; does nothing if the worker is gone. For any thread."""

    @abstractmethod
    def kill(self) -> None:
        """Ends the worker at once; harmless if it is gone."""


class WorkerBackend(ABC):
    """Starts workers. size: slots for them. peers: all that were started."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.peers: list[Peer] = []

    @abstractmethod
    def start(self, slot: int, config: Config, run_id: int, settings_hash: str) -> Peer:
        """Adds a worker that begins to read to the peers, and returns it. slot: from 0, below size.

        Raises: ConfigError, PipelineError.
        """

    def close(self) -> None:
        """Ends all workers that have not."""
        for peer in self.peers:
            peer.kill()
