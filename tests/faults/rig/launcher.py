"""Starts runs of `ocrbatch` in processes of their own, which can be killed, and finds the processes they leave.

`Starter(fork=False)` executes the command line. With fork=True one process imports what a run imports, and each run is
a fork of it: the same code from the command line on, without the seconds of importing torch.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

REPOSITORY = Path(__file__).parents[3]
_PROC = Path("/proc")
_POLL_S = 0.02
_FORKED_IMPORTS = (
    "torch", "pipeline.cli.main", "pipeline.run.runner", "pipeline.device.startup.loading",
    "pipeline.device.run_encoder", "pipeline.device.threads.encoder_thread", "pipeline.device.threads.decoder_thread",
    "pipeline.device.threads.streams", "pipeline.device.gpu_meter",
    "pipeline.stages.decode", "ocr.checkpoints.checkpoint",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Process:
    """A process. session: its leader. name: its own. command: its command line, arguments separated by spaces."""

    pid: int
    parent: int
    session: int
    name: str
    command: str

    @property
    def is_worker(self) -> bool:
        """Returns whether it opens files, renders pages or reads them, by the names of such processes."""
        return self.name.startswith("ocrb-")


class Running:
    """A started run, the leader of a session of its own. log: its output."""

    def __init__(self, starter: "Starter", pid: int, log: Path) -> None:
        self._starter = starter
        self.pid = pid
        self.log = log
        self.exit_code: int | None = None

    def wait(self, seconds: float) -> bool:
        """Waits at most this long; returns whether it has ended.

        exit_code is then as in subprocess: -9 after a kill.
        """
        end = time.monotonic() + seconds
        while self.exit_code is None:
            self.exit_code = self._starter.poll(self.pid)
            left = end - time.monotonic()
            if self.exit_code is None and left <= 0:
                return False
            if self.exit_code is None:
                time.sleep(min(_POLL_S, left))
        return True

    def kill(self, *, group: bool = False) -> None:
        """Kills the process with kill -9, or the process and all that it started."""
        (os.killpg if group else os.kill)(self.pid, signal.SIGKILL)

    def processes(self) -> list[Process]:
        """Returns the living processes of its session."""
        return list(session(self.pid))

    def ends_without_orphans(self, seconds: float) -> bool:
        """Returns whether no process of the session is left after at most this long."""
        end = time.monotonic() + seconds
        while self.processes():
            if time.monotonic() > end:
                return False
            time.sleep(_POLL_S)
        return True


class Starter:
    """Starts runs. Used as a context manager; runs still alive at its end are killed."""

    def __init__(self, folder: Path, *, fork: bool = False, prefix: Sequence[str] = ()) -> None:
        """Makes a starter.

        folder: where runs start, and put temporary files, in folder/tmp. prefix: a command that starts the one after
        it, for example with fewer rights.
        """
        self._folder, self._prefix = folder, tuple(prefix)
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        (folder / "logs").mkdir(exist_ok=True)
        self._environment = {
            **os.environ,
            "TMPDIR": str(folder / "tmp"),
            "PYTHONPATH": str(REPOSITORY),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._started: dict[int, subprocess.Popen[bytes] | None] = {}
        self._template = self._start_template() if fork else None

    def __enter__(self) -> "Starter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in self._started:
            for process in session(pid):
                os.kill(process.pid, signal.SIGKILL)
        if self._template is not None:
            self._template.communicate(timeout=60)

    @property
    def temporary(self) -> Path:
        return self._folder / "tmp"

    def start(self, arguments: Sequence[str]) -> Running:
        """Starts `ocrbatch ARGUMENTS`."""
        log = self._folder / "logs" / f"{len(self._started):04d}.txt"
        if self._template is not None:
            pid = int(self._ask({"start": list(arguments), "log": str(log)}))
            self._started[pid] = None
        else:
            command = [*self._prefix, sys.executable, "-m", "pipeline.cli", *arguments]
            with log.open("wb") as output:
                process = subprocess.Popen(
                    command, cwd=self._folder, env=self._environment, start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                )  # fmt: skip
            pid = process.pid
            self._started[pid] = process
        return Running(self, pid, log)

    def poll(self, pid: int) -> int | None:
        process = self._started[pid]
        if process is not None:
            return process.poll()
        code = self._ask({"poll": pid})
        return None if code is None else int(code)

    def _start_template(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*self._prefix, sys.executable, "-m", "tests.faults.rig.launcher"], cwd=self._folder, env=self._environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def _ask(self, question: dict[str, object]) -> int | None:
        template = self._template
        assert template is not None
        assert template.stdin is not None
        assert template.stdout is not None
        template.stdin.write(json.dumps(question) + "\n")
        template.stdin.flush()
        answer: int | None = json.loads(template.stdout.readline())
        return answer


def living() -> Iterator[Process]:
    """Yields all living processes. Source: proc(5), /proc/PID/stat."""
    for entry in _PROC.glob("[0-9]*"):
        try:
            begin, _, rest = (entry / "stat").read_text(errors="replace").rpartition(")")
            fields, name = rest.split(), begin.partition("(")[2]
            command = (entry / "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:  # it has ended
            continue
        if fields[0] not in "ZX":
            yield Process(int(entry.name), int(fields[1]), int(fields[3]), name, command)


def session(leader: int) -> Iterator[Process]:
    """Yields the living processes of a session."""
    return (process for process in living() if process.session == leader)


def _serve() -> None:
    """Runs the template's loop: a JSON object a line, answered by a number or null."""
    import importlib

    for name in _FORKED_IMPORTS:
        importlib.import_module(name)
    for line in sys.stdin:
        question = json.loads(line)
        answer = _fork(question["start"], question["log"]) if "start" in question else _poll(question["poll"])
        print(json.dumps(answer), flush=True)


def _poll(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _fork(arguments: list[str], log: str) -> int:
    if pid := os.fork():
        return pid
    code = 70
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        output = os.open(log, os.O_WRONLY | os.O_CREAT, 0o644)
        os.dup2(output, 1)
        os.dup2(output, 2)
        from pipeline.cli.main import main

        code = main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve()
