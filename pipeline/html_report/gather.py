"""Gathers the figures of one run from the database, and the pages that its report shows, with what to do about them.

The texts are those of advice.yaml.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from itertools import chain, count
from typing import Any

import yaml
from sqlite_utils import Database

from storage.database import Row, database_path, snapshot
from storage.errors import SelectionError
from storage.queries import run_pages, statistics
from storage.queries.statistics import RunStatus

CONFIDENCE_BINS = 20
# Files of a group that are listed.
_LISTED_FILES = 20
# Lengths of the intervals that pages over time are counted in; a run has at most _MOST_INTERVALS of them.
_LENGTHS_S = (1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)
_MOST_INTERVALS = 60


def gather(db: Database, run_id: int | None, *, most: int) -> Row:
    """Returns all that a report says of one run, from one snapshot, by the names that its template has for it.

    run_id: None for the last run that stored a page, or else the last. most: pages in each list.
    What run_pages.figures has is among it. now: page status -> number in the whole database. config, versions: as
    stored with the run. intervals: of interval_s each. groups: what needs a look, the most frequent first: advice, num,
    and those of their pages and files that are shown. named: all pages that are named, each once; places: page id ->
    where it is. last_run_id: of the database.
    Raises: SelectionError where there is no such run; StorageError.
    """
    path = database_path(db)
    with snapshot(db):
        runs = statistics.runs(db)
        run = _chosen(runs, run_id, path)
        config, versions = db.conn.execute(
            "SELECT config, versions FROM runs WHERE id = ?", (run.id,)
        ).fetchone()
        found = run_pages.figures(db, run.id, most=most, num_bins=CONFIDENCE_BINS)
        lengths_s = chain(_LENGTHS_S, (_LENGTHS_S[-1] * 2.0**times for times in count(1)))
        interval_s = next(length for length in lengths_s if found["span_s"] < length * _MOST_INTERVALS)
        groups = _groups(run_pages.unfine(db, run.id), found["refused"], most)
        listed = (page for group in groups for page in group["pages"])
        named = {page["page_id"]: page for page in (*found["slowest"], *found["unsure"], *listed)}
        return {
            **found,
            "database": path,
            "run": run,
            "last_run_id": runs[-1].id,
            "config": json.loads(config),
            "versions": json.loads(versions),
            "num_pages": sum(found["statuses"].values()),
            "now": statistics.pages_by_status(db),
            "interval_s": interval_s,
            "intervals": run_pages.throughput(db, run.id, interval_s),
            "groups": groups,
            "named": list(named.values()),
            "places": run_pages.places(db, named),
        }


def _chosen(runs: list[RunStatus], run_id: int | None, path: str) -> RunStatus:
    if not runs:
        raise SelectionError(f"{path}: no run to report on; `ocrbatch run PATH --db {path}` makes one")
    if run_id is None:
        return next((run for run in reversed(runs) if run.num_pages), runs[-1])
    for run in runs:
        if run.id == run_id:
            return run
    numbers = f"{runs[0].id} to {runs[-1].id}" if len(runs) > 1 else f"only {runs[0].id}"
    raise SelectionError(f"{path}: has no run {run_id}; its runs are {numbers}; see `ocrbatch status`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a fault means, and what to do about it. noun: of what is counted; status: of its pages or files."""

    title: str
    remedy: str
    status: str
    noun: str = "page"


_TABLES: dict[str, Any] = yaml.safe_load(
    resources.files("pipeline.html_report").joinpath("advice.yaml").read_text(encoding="utf-8")
)
FAILED: dict[str, list[str]] = _TABLES["failed"]
DOUBTFUL: list[list[str]] = _TABLES["doubtful"]


def advice_for(status: str, category: str | None, reason: str | None) -> Advice:
    """Returns the advice for a page, or for a file without pages ("encrypted" or "broken").

    category: of a failed page's error; reason: its error's message or its doubt.
    """
    if status == "doubtful":
        title, remedy = next(found for words, *found in DOUBTFUL if words in (reason or ""))
    elif status in _TABLES["statuses"]:
        title, remedy = _TABLES["statuses"][status]
    else:
        title, remedy = FAILED.get(category or "", FAILED["other"])
    remedy = remedy.replace("AGAIN", _TABLES["texts"]["again"])
    noun = "file" if status in ("encrypted", "broken") else "page"
    return Advice(title=title, remedy=remedy, status=status, noun=noun)


def _groups(pages: Iterable[Row], files: Iterable[Row], most: int) -> list[Row]:
    """Returns pages and files by what to do about them; each page is looked at once, and few are kept."""
    advised = chain(
        (
            (advice_for(page["status"], page["category"], page["reason"]), "pages", page, most)
            for page in pages
        ),
        ((advice_for(file["status"], None, None), "files", file, _LISTED_FILES) for file in files),
    )
    groups: dict[Advice, Row] = {}
    for advice, kind, row, most_listed in advised:
        group = groups.setdefault(advice, {"advice": advice, "num": 0, "pages": [], "files": []})
        group["num"] += 1
        if len(group[kind]) < most_listed:
            group[kind].append(row)
    return sorted(groups.values(), key=lambda group: (-group["num"], group["advice"].title))
