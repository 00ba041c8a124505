"""Samples the work of a run's threads and worker processes every few milliseconds.

Threads of a stage are judged by the frames they are in, which tells a thread that waits for a lock, a queue or an event
from one that works, even on a GPU or while it waits for the interpreter: as the stages' own meters do. Work that holds
the interpreter for less than its switch interval is hardly ever seen that way, so their CPU time is read as well; for
threads in no stage that is all there is. Processes are judged by the system's word on whether they run.
"""

import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType, TracebackType

PERIOD_S, PROCESS_PERIOD_S = 0.01, 0.05
# Innermost frames of threads that wait: (file, function); None for any function of it.
WAITING = {
    ("threading.py", None),
    ("selectors.py", "select"),
    ("thread.py", "_worker"),  # concurrent.futures: an executor's thread without work
    ("connection.py", None),
    ("_bootstrap_external>", "acquire"),
    ("_bootstrap>", "acquire"),  # another thread imports the module this one needs
}
# Frames that show which stage a thread works for, whatever its name: (end of the file's path, function).
STAGES = {
    ("pipeline/device/threads/page_reader.py", "_read_all"): "encode",
    ("pipeline/device/threads/page_reader.py", "_decode_all"): "decode",
    ("pipeline/device/threads/page_reader.py", "_placed"): "place",
    ("asyncio/base_events.py", "run_forever"): "flow",
    ("pipeline/run/writer.py", "_metered"): "store",
    ("pipeline/device/threads/page_reader.py", "_run"): "loading",
    ("pipeline/device/threads/preload.py", "_import_all"): "loading",
}
OF_PROCESSES = {"ocrb-render": "render", "ocrb-read": "lines"}


class ThreadSamples:
    """Samples threads and processes, as a context manager.

    busy_s: seconds at work of each stage, and CPU seconds of threads in no stage under "(their name)". cpu_s: CPU
    seconds of each stage's threads, not of processes. wall_s: duration of the sampling.
    """

    def __init__(self) -> None:
        self.busy_s: Counter[str] = Counter()
        self.cpu_s: Counter[str] = Counter()
        self._last_cpu_s: dict[int, float] = {}
        self._last_name: dict[int, str] = {}
        self._starting_s: Counter[int] = Counter()
        self.wall_s = 0.0
        self.num_samples = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="samples", daemon=True)

    def __enter__(self) -> "ThreadSamples":
        for thread in threading.enumerate():
            if thread.ident is not None and thread.native_id is not None:
                self._last_cpu_s[thread.ident] = _cpu_s(thread.native_id)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _look_on(self) -> None:
        started = last = at_processes = time.monotonic()
        while not self._ended.wait(PERIOD_S):
            now = time.monotonic()
            self._see_threads(now - last)
            last = now
            if now - at_processes >= PROCESS_PERIOD_S:
                self._see_processes(now - at_processes)
                at_processes = now
            self.num_samples += 1
        self.wall_s = time.monotonic() - started

    def _see_threads(self, seconds: float) -> None:
        """Samples the threads. seconds: since the last sample, which this one stands for."""
        threads = {thread.ident: thread for thread in threading.enumerate()}
        for ident, frame in sys._current_frames().items():
            thread = threads.get(ident)
            if thread is None or thread is self._thread or thread.native_id is None:
                continue
            stage = stage_of(frame)
            # A thread without work is in no frame that tells its stage.
            name = stage or self._last_name.get(ident, f"({thread.name})")
            self._last_name[ident] = name
            cpu_s = _cpu_s(thread.native_id)
            spent_s = cpu_s - self._last_cpu_s.get(ident, 0.0)
            self._last_cpu_s[ident] = cpu_s
            if spent_s < 0:  # another thread with the same id
                spent_s = cpu_s
            self.cpu_s[name] += spent_s
            if name.startswith("("):
                self.busy_s[name] += spent_s
            elif stage is not None and not is_waiting(frame):
                self.busy_s[name] += seconds

    def _see_processes(self, seconds: float) -> None:
        for pid in children():
            self._see_process(
                pid, _text(f"/proc/{pid}/comm").strip(), seconds if _runs(f"/proc/{pid}/stat") else 0.0
            )

    def _see_process(self, pid: int, name: str, seconds: float) -> None:
        """Samples one process. It has no name until it has started, which takes a second: its stage gets that, too."""
        stage = OF_PROCESSES.get(name)
        if stage is None:
            self._starting_s[pid] += seconds
        else:
            self.busy_s[stage] += seconds + self._starting_s.pop(pid, 0.0)


def is_waiting(frame: FrameType) -> bool:
    """Returns whether a thread with this innermost frame is idle, by its last call."""
    file, function = os.path.basename(frame.f_code.co_filename), frame.f_code.co_name
    return bool({(file, function), (file, None)} & WAITING)


def stage_of(frame: FrameType | None) -> str | None:
    """Returns the stage that a thread works for, by its innermost frame that shows one; None if none does."""
    while frame is not None:
        path = frame.f_code.co_filename
        for (file, function), stage in STAGES.items():
            if frame.f_code.co_name == function and path.endswith(file):
                return stage
        frame = frame.f_back
    return None


def children() -> list[int]:
    """Returns the ids of this process's children; none if the system does not list them."""
    try:
        tasks = os.listdir("/proc/self/task")
    except OSError:
        return []
    return [int(pid) for task in tasks for pid in _text(f"/proc/self/task/{task}/children").split()]


def _cpu_s(native_id: int) -> float:
    """Returns a thread's CPU seconds so far."""
    fields = _text(f"/proc/self/task/{native_id}/schedstat").split()
    return int(fields[0]) / 1e9 if fields else 0.0


def _runs(stat: str) -> bool:
    """Returns whether the process runs, or waits for a CPU or a disk."""
    return _text(stat).rpartition(")")[2][1:2] in ("R", "D")


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has ended
        return ""
