"""Names the tasks of worker processes, so that their caller imports nothing that only the workers need.

A run's own process opens no files. Without PyMuPDF and everything that draws, cuts and judges pages it starts a third
of a second earlier. The tasks themselves are in pipeline.ingest.workers.worker.
"""

import pickle
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from pipeline.ingest.workers.limits import killed_if_hung
from pipeline.ingest.workers.plain_pickle import plain
from pipeline.ingest.workers.shared_memory import Slot, pack

Result = TypeVar("Result")


# The CPU seconds that this process took to start, until its first task has reported them.
_start_s: list[float] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed(Generic[Result]):
    """A task's result and the seconds it took. start_s: CPU time of starting the process, with its first task only."""

    result: Result
    seconds: float
    start_s: float


def start(memory_bytes: int | None, name: str = "ocrb-render") -> None:
    """Prepares a worker process, of this name: see pipeline.ingest.workers.process_start."""
    from pipeline.ingest.workers import process_start

    process_start.start(memory_bytes, name)
    _start_s[:] = [time.process_time()]


def timed(limit_s: float, slot: Slot | None, task: Callable[..., Result], *arguments: Any) -> bytes:
    """Runs a task and returns its Timed, pickled: the process pool opens messages, and not what is in them.

    slot: where the result's arrays are put, for Arena.unpack. Raises: what the task raises, as an error that the run
    can open.
    """
    start_s = _start_s.pop() if _start_s else 0.0
    began = time.perf_counter()
    try:
        with killed_if_hung(limit_s):
            result = pack(task(*arguments), slot)
        done = Timed(result=result, seconds=time.perf_counter() - began, start_s=start_s)
        return pickle.dumps(done, protocol=5)
    except Exception as error:
        traceback.clear_frames(error.__traceback__)  # the pool keeps the error, and so what its frames hold
        raise plain(error) from None


def call(task: str, *arguments: Any) -> Any:
    """Returns what a task of pipeline.ingest.workers.worker returns. task: its name."""
    from pipeline.ingest.workers import worker

    return getattr(worker, task)(*arguments)


probe_task, survey_task, render_task, layer_task, words_task, picture_task, figures_task = (
    partial(call, f"{name}_task")
    for name in ("probe", "survey", "render", "layer", "words", "picture", "figures")
)
