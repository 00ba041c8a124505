"""Runs ocrbatch on hundreds of hostile files with good ones among them:

python -m tests.faults.files.hostile build DIR
python -m tests.faults.files.hostile run DIR --db FILE
python -m tests.faults.files.hostile run DIR --db FILE --model small

`build` writes damaged and crafted PDFs and images, pixel bombs and decompression bombs, files that are not what their
names say, names with line breaks and escapes, links, pipes, sockets and devices; the same --seed makes the same files.
`run` has `ocrbatch run` read them, by default with a tiny model, and then the good ones alone. It prints JSON: how the
files and pages ended, seconds, and the faults found. Faults are: an exit
code other than 0 or 3, a run that hangs, an input without a row or without a reason, a page that is missing or without
an end, a good page that reads differently than it does alone, a corrupt database, a process or a file left behind,
documents that were changed, control characters on the terminal, an export that fails. The exit code is 1 if there
are any.
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from storage.strings.text import real_path
from tests.faults.files import hostile_files
from tests.faults.rig import tables
from tests.faults.rig.launcher import Running, Starter
from tests.faults.rig.model import READS_WORDS, save_words

_ENDED = (0, 3)
_MOST_PAGES = 20
_FINAL = {"ok", "blank", "doubtful", "repeated", "truncated", "failed", "embedded", "quarantined"}
_WITH_TEXT = {"ok", "blank", "doubtful", "repeated", "truncated", "embedded"}


@dataclass(slots=True, kw_only=True)
class Report:
    """The result of a run over the folder. documents, pages: status -> number. errors: of pages, category -> number.

    crashes, timeouts: reasons that name a worker which crashed, or took too long: contained, each at the cost of its
    page or file. faults: those listed above.
    """

    num_inputs: int = 0
    documents: dict[str, int] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    crashes: list[str] = field(default_factory=list)
    timeouts: list[str] = field(default_factory=list)
    num_good_pages: int = 0
    num_good_equal: int = 0
    exit_code: int | None = None
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


def run(args: argparse.Namespace) -> Report:
    """Reads the folder and its good documents alone, and compares. Raises SystemExit if nothing could be done."""
    report = Report(num_inputs=len(hostile_files.inputs(args.folder)))
    before = _state(args.folder)
    with tempfile.TemporaryDirectory(prefix="ocrbatch-hostile-") as name:
        work = Path(name)
        options = _options(args, work)
        with Starter(work / "work", fork=args.fork, prefix=_without_privileges()) as starter:
            running = starter.start(["run", str(args.folder), "--db", str(args.db), *options])
            _watch(running, report, args.time_limit)
            alone = args.db.with_name(f"{args.db.name}.alone")
            good = starter.start(
                [
                    "run",
                    str(args.folder),
                    "--db",
                    str(alone),
                    *options,
                    "--set",
                    f"ingest.include=[{hostile_files.GOOD}*]",
                ]
            )
            good.wait(args.time_limit)
            report.faults += _left(running, starter, args.folder, before)
            report.faults += _exports(starter, args.db, args.time_limit)
            report.faults += _on_terminal(running.log)
    report.faults += tables.faults(args.db)
    _count(args.db, report)
    report.faults += list(_unaccounted(args.folder, args.db))
    _compare(args.db, alone, report)
    return report


def _watch(running: Running, report: Report, time_limit_s: float) -> None:
    began = time.monotonic()
    if not running.wait(time_limit_s):
        report.faults.append(f"the run was still going on after {time_limit_s:g} s")
        running.kill(group=True)
        running.wait(60)
    report.seconds = round(time.monotonic() - began, 1)
    report.exit_code = running.exit_code
    if running.exit_code not in _ENDED:
        report.faults.append(
            f"exit code {running.exit_code}: {running.log.read_text(errors='replace')[-2000:]}"
        )


def _options(args: argparse.Namespace, work: Path) -> list[str]:
    tiny = args.model == "tiny"
    sets = [
        *((*READS_WORDS, "ladder.rungs=[]") if tiny else ()), "dtype=float32", "encoder.dtype=float32",
        f"ingest.max_pages_per_document={_MOST_PAGES}", f"ingest.probe_timeout_s={args.timeout}",
        f"render.page_timeout_s={args.timeout}", *args.sets,
    ]  # fmt: skip
    model = str(save_words(work / "model")) if tiny else args.model
    return ["--model", model, "--device", "cpu", *(part for text in sets for part in ("--set", text))]


def _without_privileges() -> tuple[str, ...]:
    """Returns a command prefix that drops root's right to read files without permission.

    Empty if this is not root, or if no such command is installed.
    """
    rights = "-dac_override,-dac_read_search"
    command = ("setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}")
    if os.geteuid() != 0 or shutil.which(command[0]) is None:
        return ()
    works = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return command if works else ()


def _left(
    running: Running, starter: Starter, folder: Path, before: dict[bytes, tuple[int, ...]]
) -> Iterator[str]:
    """Yields what a run left behind that it should not have."""
    if not running.ends_without_orphans(20.0):
        yield f"processes are still there: {running.processes()}"
    if left := [str(path) for path in starter.temporary.rglob("*")]:
        yield f"temporary files are left: {left}"
    after = _state(folder)
    for path in before.keys() | after.keys():
        if before.get(path) != after.get(path):
            yield f"{path!r} was changed"
    for place in (folder, starter.temporary.parent):
        if found := list(place.rglob("*pwned")):
            yield f"a document's command was run: {found}"


def _exports(starter: Starter, database: Path, time_limit_s: float) -> Iterator[str]:
    """Checks that every way to see the results works and prints no control characters; yields the faults."""
    for arguments in (
        ["export"],
        ["export", "--format", "md"],
        ["export", "--format", "txt"],
        ["status"],
        ["search", "w34"],
    ):
        running = starter.start([*arguments, "--db", str(database)])
        if not running.wait(time_limit_s) or running.exit_code != 0:
            said = running.log.read_text(errors="replace")[-500:]
            yield f"{' '.join(arguments)}: exit code {running.exit_code}: {said}"
        elif arguments == ["export"]:
            lines = running.log.read_bytes().split(b"\n")[:-1]
            if (rows := len(tables.contents(database)["results"])) != sum(
                1 for line in lines if json.loads(line)
            ):
                yield f"{len(lines)} lines were exported of {rows} rows"
        elif arguments[0] in ("status", "search"):
            yield from _on_terminal(running.log)


def _on_terminal(log: Path) -> Iterator[str]:
    """Yields control characters in the output that a terminal would have shown."""
    for line in log.read_text(encoding="utf-8", errors="backslashreplace").split("\n"):
        if any(not letter.isprintable() for letter in line):
            yield f"control characters are printed: {line[:200]!r}"


def _count(database: Path, report: Report) -> None:
    found = tables.contents(database)
    report.documents = dict(Counter(row["status"] for row in found["files"].values()))
    report.pages = dict(Counter(row["status"] for row in found["pages"].values()))
    rows = found["results"].values()
    report.errors = dict(Counter(row["error_category"] for row in rows if row["error_category"]))
    reasons = [(path, row["reason"] or "") for (path,), row in found["files"].items()]
    reasons += [(f"{row['path']} page {row['page']}", row["error_message"] or "") for row in rows]
    report.crashes = [f"{where}: {reason}" for where, reason in reasons if "crashed its worker" in reason]
    report.timeouts = [f"{where}: {reason}" for where, reason in reasons if "took longer than" in reason]


def _unaccounted(folder: Path, database: Path) -> Iterator[str]:
    """Yields inputs without a row or without a reason, and pages without a row or without an end."""
    found = tables.contents(database)
    files = {os.fsencode(real_path(path)): row for (path,), row in found["files"].items()}
    for path in hostile_files.inputs(folder):
        row = files.get(path)
        if row is None and not _is_told_elsewhere(path, files):
            yield f"{path!r} has no row"
        elif row is not None and row["status"] != "ok" and not row["reason"]:
            yield f"{path!r} is {row['status']} without a reason"
    with closing(sqlite3.connect(database)) as db:
        documents = db.execute("SELECT sha256, num_pages FROM documents WHERE status = 'ok'").fetchall()
    pages = defaultdict(list)
    for sha256, index in found["pages"]:
        pages[sha256].append(index)
    for sha256, num_pages in documents:
        if sorted(pages[sha256]) != list(range(num_pages)):
            yield f"document {sha256}: {num_pages} pages, {len(pages[sha256])} rows"
    for key, row in found["results"].items():
        yield from _without_end(key, row)


def _without_end(key: tuple[Any, ...], row: tables.Row) -> Iterator[str]:
    if row["status"] not in (_FINAL if row["page_index"] < _MOST_PAGES else {"pending"}):
        yield f"{key} is {row['status']}"
    elif row["status"] in _WITH_TEXT and row["text"] is None:
        yield f"{key} is {row['status']} without a text"
    elif row["status"] == "failed" and not (row["error_category"] and row["error_message"]):
        yield f"{key} failed without a reason"


def _is_told_elsewhere(path: bytes, files: dict[bytes, tables.Row]) -> bool:
    """Returns whether another row covers the input, as of a link to a folder or of a folder that may not be entered."""
    if os.path.islink(path) and os.path.isdir(path):
        return True
    parent = os.path.dirname(path)
    return parent in files and bool(files[parent]["reason"])


def _compare(database: Path, alone: Path, report: Report) -> None:
    """Compares the good pages of both runs."""
    expected, found = (tables.contents(path)["results"] for path in (alone, database))
    report.num_good_pages = len(expected)
    for key, row in expected.items():
        differing = tables.row_differences(row, found[key]) if key in found else ["there is no row"]
        report.num_good_equal += not differing
        report.faults += [f"good page {key}: {line}" for line in differing]
    if not expected or any(row["status"] not in tables.DONE for row in expected.values()):
        report.faults.append("not all good pages can be read alone")


def _state(folder: Path) -> dict[bytes, tuple[int, ...]]:
    found = {}
    for path in hostile_files.inputs(folder):
        seen = os.lstat(path)
        found[path] = (seen.st_mode, seen.st_size, seen.st_mtime_ns)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.files.hostile",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="write the files")
    building.add_argument("folder", type=Path)
    building.add_argument("--seed", type=int, default=0)
    building.add_argument("--quick", action="store_true", help="without what takes long")
    reading = commands.add_parser("run", help="read them")
    reading.add_argument("folder", type=Path)
    reading.add_argument("--db", type=Path, required=True)
    reading.add_argument("--fork", action="store_true", help="runs are forks of one process: quicker starts")
    reading.add_argument("--model", default="tiny", help='"tiny", "small" or a directory')
    reading.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE")
    reading.add_argument(
        "--timeout", type=float, default=30.0, help="seconds for a page, or a look into a file"
    )
    reading.add_argument(
        "--time-limit", type=float, default=3600.0, help="seconds after which a run counts as hanging"
    )
    args = parser.parse_args(arguments)
    if args.command == "build":
        print(
            f"{hostile_files.build(args.folder, seed=args.seed, quick=args.quick)} hostile inputs in {args.folder}"
        )
        return 0
    args.folder, args.db = args.folder.absolute(), args.db.absolute()
    report = run(args)
    print(json.dumps(asdict(report), indent=2))
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
