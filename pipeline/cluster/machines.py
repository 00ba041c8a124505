"""Asks each machine of a Ray cluster what a worker there would find. Needs the extra `cluster`."""

import os
import socket
from dataclasses import dataclass
from typing import Any

from pipeline.cluster.ray_workers import connected
from pipeline.config.schema import Config, completed, models_sha256
from pipeline.device.startup.loading import count_gpus
from pipeline.errors import is_explained
from pipeline.run.versions import versions
from storage.strings.urls import is_url

# Importing torch and hashing a large model from a slow disk take minutes.
_LONGEST_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a machine has. model: the hash of its weights. faults: of its model and of each input, in words.

    versions: of Python and of the packages that decide what is read.
    """

    host: str
    versions: dict[str, str]
    model: str | None
    num_gpus: int
    faults: tuple[str, ...]


def machines(config: Config, longest_s: float = _LONGEST_S) -> list[Machine]:
    """Returns what the machines of the cluster at `cluster.address` have; one that does not answer has a fault.

    Raises: ConfigError.
    """
    assert config.cluster.address is not None
    ray = connected(config.cluster.address)
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(num_cpus=0)(look)
    asked = {
        task.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=False)
        ).remote(config): node
        for node in ray.nodes()
        if node["Alive"]
    }
    done, _ = ray.wait(list(asked), num_returns=len(asked), timeout=longest_s)
    return [_answer(ray, reference, node, is_done=reference in done) for reference, node in asked.items()]


def _answer(ray: Any, reference: Any, node: Any, *, is_done: bool) -> Machine:
    fault = f"does not answer within {_LONGEST_S:.0f} s"
    if is_done:
        try:
            found: Machine = ray.get(reference)
            return found
        except ray.exceptions.RayError as error:  # ocrbatch is not installed there, for one
            fault = str(error).strip().rpartition("\n")[2][:300]
    return Machine(
        host=str(node["NodeManagerHostname"]), versions={}, model=None, num_gpus=0, faults=(fault,)
    )


def look(config: Config) -> Machine:
    """Returns what this machine has. Raises: what looking at the model raises and is not explained."""
    faults = list[str]()
    model: str | None = None
    try:
        model = models_sha256(completed(config))[1]
    except Exception as error:
        if not is_explained(error):
            raise
        faults.append(f"model {config.model}: {error}")
    own = (path for path in config.ingest.paths if not is_url(path))
    faults += [f"input {path}: {why}" for path in own if (why := unreadable(path)) is not None]
    return Machine(
        host=socket.gethostname(),
        versions=versions(),
        model=model,
        num_gpus=0 if config.device == "cpu" else count_gpus(),
        faults=tuple(faults),
    )


def unreadable(path: str) -> str | None:
    """Returns why a file or folder cannot be read; None where it can. Waits for no pipe's other end."""
    try:
        if os.path.isdir(path):
            os.scandir(path).close()
        else:
            with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                file.read(1)
    except OSError as error:
        return error.strerror or str(error)
    return None
