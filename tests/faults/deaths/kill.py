"""Kills runs with kill -9 at random moments, and checks the database:

python -m tests.faults.deaths.kill --kills 100
python -m tests.faults.deaths.kill --kills 100 --model small --pages 40
python -m tests.faults.deaths.kill --kills 10 --fork

`ocrbatch run` reads documents in a process of its own. At a random moment that process is killed, or all its processes,
or one of its workers, and the run is started again, until it ends by itself; then all this starts over with another
database, until the given number of kills is reached. By default with a tiny model, all in float32.

After each kill: SQLite finds the database sound, pages that were there are still there, every page that is done equals
that of an uninterrupted run, and no process is left. After each end: every table equals that of an uninterrupted
run, row by row, except times, ids, counts per run, and the attempts which record that a worker was killed, or the
process with a page alone in it; no page is marked as being read; no file is left beside the database; documents are
unchanged, and temporary files gone. Prints JSON; the exit code is 1 if any of this does not hold.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.faults.rig import corpus, tables
from tests.faults.rig.launcher import Running, Starter
from tests.faults.rig.model import READS_WORDS, save_words

# A worker checks every second whether its parent lives, and its imports take another second or two.
ORPHANS_S = 20.0
# Longer than a run of a few pages ever takes.
HANG_S = 900.0
# A page alone in the model when `store.attempt_limit` runs died is given up with the text it has by then, perhaps that
# of a first reading. Kills from outside may well meet one page that often: the last one is alone, and is read last.
_NEVER_GIVEN_UP = f"store.attempt_limit={10**6}"
_ENDED = (0, 3)


@dataclass(slots=True, kw_only=True)
class Report:
    """The report. num_equal: kills after which all was as it should be. num_databases_equal: databases
    that were killed, finished in the end, and equal the uninterrupted one.
    """

    num_pages: int = 0
    uninterrupted_s: float = 0.0
    seconds: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    num_equal: int = 0
    num_databases: int = 0
    num_databases_equal: int = 0
    num_runs: int = 0
    finished_at_kill: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def num_kills(self) -> int:
        return self.kills.total()

    @property
    def is_sound(self) -> bool:
        return not self.faults and self.num_equal == self.num_kills

    def as_json(self) -> str:
        kills, moments = self.num_kills, sorted(self.finished_at_kill) or [0]
        found = asdict(self) | {
            "kills": dict(self.kills),
            "equal": f"{self.num_equal} of {kills} kills, {self.num_databases_equal} of {self.num_databases} databases",
            "finished_at_kill": {
                "least": moments[0],
                "median": moments[len(moments) // 2],
                "most": moments[-1],
            },
        }
        return json.dumps(found, indent=2)


class Killing:
    """The experiment. arguments: of `ocrbatch`, without the database. kinds: what is killed, and how often of all."""

    kinds: Mapping[str, int] = {"main": 5, "group": 3, "worker": 2}

    def __init__(
        self, starter: Starter, folder: Path, documents: Path, arguments: Sequence[str], seed: int
    ) -> None:
        self.report = Report()
        self._starter, self._folder, self._documents = starter, folder, documents
        self._arguments = arguments
        self._chance = random.Random(seed)
        self._before = _state(documents)

    def run(self, num_kills: int) -> Report:
        began = time.monotonic()
        reference = self._folder / "reference" / "results.db"
        running, started = self._start(reference), time.monotonic()
        if not running.wait(HANG_S) or running.exit_code not in _ENDED:
            raise SystemExit(f"the uninterrupted run failed:\n{running.log.read_text(errors='replace')}")
        self.report.uninterrupted_s = time.monotonic() - started
        self._expected = tables.contents(reference)
        self.report.num_pages = len(self._expected["pages"])
        while self.report.num_kills < num_kills:
            self._one_database(num_kills)
            said = f"{self.report.num_kills} kills, {self.report.num_databases_equal} of {self.report.num_databases}"
            print(f"{said} databases equal, {len(self.report.faults)} faults", file=sys.stderr, flush=True)
        self.report.seconds = time.monotonic() - began
        return self.report

    def _one_database(self, num_kills: int) -> None:
        """Kills until a run ends by itself or no kills are left, then checks the database."""
        self.report.num_databases += 1
        database = self._folder / f"killed-{self.report.num_databases:03d}" / "results.db"
        running = self._start(database)
        while not self._ends_first(running) and self.report.num_kills < num_kills:
            if self._kill(running, database) and self.report.num_kills <= num_kills:
                running = self._start(database)
        if not running.wait(HANG_S):
            self._fault(f"a run hung: {running.log}")
            running.kill(group=True)
        self._check_ended(running, database)
        # A killed worker costs its page an attempt, and the next run reads it again.
        for _ in range(3):
            if not tables.differences(self._expected, tables.contents(database)):
                break
            running = self._start(database)
            running.wait(HANG_S)
            self._check_ended(running, database)
        differing = tables.differences(self._expected, tables.contents(database))
        self.report.num_databases_equal += not differing
        if differing:
            differing = [*differing[:20], *tables.crashes(database)]
        self.report.faults += [f"database {self.report.num_databases}: {line}" for line in differing]

    def _start(self, database: Path) -> Running:
        database.parent.mkdir(exist_ok=True)
        self.report.num_runs += 1
        return self._starter.start(
            ["run", str(self._documents), "--db", str(database), "--quiet", *self._arguments]
        )

    def _ends_first(self, running: Running) -> bool:
        """Waits for a random moment; returns whether the run was over before."""
        return running.wait(self._chance.uniform(0, self.report.uninterrupted_s))

    def _kill(self, running: Running, database: Path) -> bool:
        """Kills something, and checks the rest; returns whether that ended the run."""
        kind = self._chance.choices(list(self.kinds), list(self.kinds.values()))[0]
        workers = self._workers_of(running)
        if kind == "worker" and not workers:
            kind = "main"
        finished = tables.num_finished(database)
        self.report.kills[kind] += 1
        self.report.finished_at_kill.append(finished)
        before = len(self.report.faults)
        is_over = self._end(kind, running, workers)
        self._check_database(database, finished, running_still=not is_over)
        self.report.num_equal += len(self.report.faults) == before
        return is_over

    def _workers_of(self, running: Running) -> list[int]:
        """Returns the processes that may be killed as workers."""
        return [process.pid for process in running.processes() if process.is_worker]

    def _end(self, kind: str, running: Running, workers: Sequence[int]) -> bool:
        """Kills something of a kind, and checks what it leaves; returns whether that ended the run."""
        if kind == "worker":
            end(self._chance.choice(workers))
            return False
        running.kill(group=kind == "group")
        running.wait(ORPHANS_S)
        self._check_killed(running)
        return True

    def _check_killed(self, running: Running) -> None:
        if running.exit_code not in (-9, *_ENDED):
            self._fault(
                f"exit code {running.exit_code} after a kill: {running.log.read_text(errors='replace')[-500:]}"
            )
        self._check_orphans(running)

    def _check_ended(self, running: Running, database: Path) -> None:
        """Checks everything after a run that ended by itself."""
        if running.exit_code not in _ENDED:
            self._fault(f"exit code {running.exit_code}: {running.log.read_text(errors='replace')[-500:]}")
        self._check_orphans(running)
        self._check_database(database, 0, running_still=False)
        self.report.faults += tables.marked(database)
        left = [path.name for path in database.parent.iterdir() if path.name != database.name]
        left += [str(path) for path in self._starter.temporary.rglob("*")]
        if left:
            self._fault(f"left behind: {', '.join(left)}")
        if _state(self._documents) != self._before:
            self._fault("the folder of documents was changed")

    def _check_orphans(self, running: Running) -> None:
        if not running.ends_without_orphans(ORPHANS_S):
            self._fault(f"still there {ORPHANS_S:g} s later: {running.processes()}")

    def _check_database(self, database: Path, finished: int, *, running_still: bool) -> None:
        where = f"kill {self.report.num_kills}"
        allowed = {database.name + suffix for suffix in ("", "-wal", "-shm", ".lock", "-journal")}
        if strange := {path.name for path in database.parent.iterdir()} - allowed:
            self._fault(f"{where}: beside the database: {strange}")
        if not database.exists() or not database.stat().st_size:
            return
        if not running_still:
            self.report.faults += [f"{where}: {fault}" for fault in tables.faults(database)]
        now = tables.num_finished(database)
        if now < finished:
            self._fault(f"{where}: of {finished} finished pages {now} are left")
        if now:
            differing = tables.finished_differences(self._expected, tables.contents(database))
            self.report.faults += [f"{where}: {line}" for line in differing[:20]]

    def _fault(self, text: str) -> None:
        self.report.faults.append(text)


def end(pid: int) -> None:
    """Kills a process, if it is still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # it was replaced meanwhile
        return


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    """Returns path -> size and time of change of everything in a folder."""
    return {
        str(path): (found.st_size, found.st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if (found := path.lstat())
    }


def arguments_of(args: argparse.Namespace, folder: Path) -> list[str]:
    """Returns the arguments of `ocrbatch run` beside documents and database."""
    tiny = args.model == "tiny"
    model = str(save_words(folder / "model")) if tiny else args.model
    dtypes = f"dtype={args.dtype}", f"encoder.dtype={args.dtype}"
    sets = [*(READS_WORDS if tiny else ()), *dtypes, _NEVER_GIVEN_UP, *args.sets]
    return ["--model", model, "--device", "cpu", *(part for text in sets for part in ("--set", text))]


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="python -m tests.faults.deaths.kill",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--kills", type=int, default=100)
    found.add_argument("--pages", type=int, default=40)
    found.add_argument("--model", default="tiny", help='"tiny", "small" or a directory')
    found.add_argument("--dtype", default="float32")
    found.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE")
    found.add_argument("--seed", type=int, default=0, help="of the documents and of the moments")
    found.add_argument("--fork", action="store_true", help="runs are forks of one process: quicker starts")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ocrbatch-kill-") as name:
        folder = Path(name)
        documents = corpus.build(folder / "documents", args.pages, args.seed)
        with Starter(folder / "work", fork=args.fork) as starter:
            killing = Killing(starter, folder, documents, arguments_of(args, folder), args.seed)
            report = killing.run(args.kills)
    print(report.as_json())
    return 0 if report.is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
