"""Runs the two engines: Tesseract, a process a page, and ocrbatch, one run of its command line for a whole set."""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Any

from storage.database import open_for_reading
from storage.export.rows import export_rows
from storage.queries.statistics import runs
from tests.benchmarks.quality.readings import costs
from tests.benchmarks.quality.readings.costs import Cost
from tests.benchmarks.quality.sets.layout import QualityError

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An engine's reading of one picture. status: as ocrbatch stores it; confidence: 0..1, if there is one."""

    text: str
    status: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReading:
    """An engine's readings of a set by page name, and their total cost.

    cpu_s, wall_s: start and loading included; None if not measured here.
    """

    engine: str
    pages: dict[str, Reading]
    cpu_s: float | None = None
    wall_s: float | None = None


def tesseract(pictures: Sequence[Path], cache: Path | None = None) -> SetReading:
    """Reads pictures with Tesseract's defaults and English, one thread.

    cache: a folder that keeps texts and costs of pictures by their content.
    Raises QualityError where Tesseract is missing or fails.
    """
    version = _tesseract_version()
    pages: dict[str, Reading] = {}
    spent: list[Cost] = []
    for picture in pictures:
        text, cost = _cached(picture, cache, version) or _run_tesseract(picture)
        _keep(picture, cache, version, text, cost)
        pages[picture.stem] = Reading(text=text, status="ok")
        spent.append(cost)
    return SetReading(
        engine="tesseract",
        pages=pages,
        cpu_s=sum(cost.cpu_s for cost in spent),
        wall_s=sum(cost.wall_s for cost in spent),
    )


def ocrbatch(pictures: Sequence[Path], model: str) -> SetReading:
    """Reads pictures in one run of `ocrbatch run` on the CPU with one thread and one render worker.

    Raises QualityError where the run fails as a whole.
    """
    with tempfile.TemporaryDirectory() as scratch:
        database = Path(scratch) / "set.db"
        command = [sys.executable, "-m", "pipeline.cli", "run", "--db", str(database), "--model", model]
        command += ["--device", "cpu", "--set", "threads=1", "--set", "render.workers=1"]
        done = costs.run([*command, *map(str, pictures)], _ONE_THREAD, Path(scratch))
        if not database.exists():
            raise QualityError(f"ocrbatch run failed: {done.stderr.strip()[-800:]}")
        pages = stored(database).pages
    return SetReading(
        engine="ocrbatch",
        pages=pages,
        cpu_s=done.cost.cpu_s,
        wall_s=done.cost.wall_s,
    )


def stored(database: Path) -> SetReading:
    """Returns the readings of a database that ocrbatch wrote anywhere. wall_s: the sum of its runs."""
    with closing(open_for_reading(str(database))) as db:
        pages = {
            PurePath(row["path"]).stem: Reading(
                text=row["text"] or "", status=row["status"], confidence=row["confidence"]
            )
            for row in export_rows(db)
        }
        seconds = [run.seconds for run in runs(db)]
    wall_s = sum(value for value in seconds if value is not None)
    return SetReading(engine="ocrbatch", pages=pages, wall_s=wall_s or None)


def _tesseract_version() -> str:
    try:
        done = subprocess.run(["tesseract", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise QualityError("tesseract is missing: apt-get install tesseract-ocr tesseract-ocr-eng") from error
    return done.stdout.splitlines()[0]


def _run_tesseract(picture: Path) -> tuple[str, Cost]:
    with tempfile.TemporaryDirectory() as scratch:
        done = costs.run(["tesseract", str(picture), "stdout", "-l", "eng"], _ONE_THREAD, Path(scratch))
    if done.returncode:
        raise QualityError(f"tesseract failed on {picture}: {done.stderr.strip()[-400:]}")
    return done.stdout, done.cost


def _entry(picture: Path, cache: Path) -> Path:
    return cache / f"{hashlib.sha256(picture.read_bytes()).hexdigest()}.json"


def _cached(picture: Path, cache: Path | None, version: str) -> tuple[str, Cost] | None:
    if cache is None or not (entry := _entry(picture, cache)).is_file():
        return None
    kept: Mapping[str, Any] = json.loads(entry.read_text(encoding="utf-8"))
    if kept["version"] != version:
        return None
    return str(kept["text"]), Cost(cpu_s=kept["cost"]["cpu_s"], wall_s=kept["cost"]["wall_s"])


def _keep(picture: Path, cache: Path | None, version: str, text: str, cost: Cost) -> None:
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        entry = {"version": version, "text": text, "cost": asdict(cost)}
        _entry(picture, cache).write_text(json.dumps(entry), encoding="utf-8")
