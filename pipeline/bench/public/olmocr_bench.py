"""Scores pages by olmOCR-bench: the share of facts that hold in each file of facts, and the mean over the files."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.bench.public.page_facts import NOT_JUDGED, Fact, FactError, fact
from pipeline.errors import ConfigError

PAGES = "pdfs"
_BASELINE = "baseline"
_SAMPLES, _CONFIDENCE = 1000, 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Facts that hold, of those that were judged."""

    held: int
    judged: int

    @property
    def score(self) -> float:
        return self.held / self.judged if self.judged else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FactScores:
    """score: the mean over files, 0 to 1, between low and high with 95% confidence, by bootstrap within each file.

    files, types: the shares that hold by file of facts and by type. not_judged: by type. faults: lines that state no
    fact. num_missing: pages of facts that the database does not have; their facts do not hold.
    """

    score: float
    low: float
    high: float
    files: Mapping[str, Share]
    types: Mapping[str, Share]
    not_judged: Mapping[str, int]
    faults: tuple[str, ...]
    num_missing: int

    def to_json(self) -> Any:
        """Returns all of it as JSON values."""
        return {"benchmark": "olmOCR-bench", **asdict(self)}


def is_here(folder: Path) -> bool:
    """Returns whether a folder has the benchmark's files."""
    return (folder / PAGES).is_dir() and next(folder.glob("*.jsonl"), None) is not None


def scores(folder: Path, markdown: Callable[[Path, int], str | None]) -> FactScores:
    """Judges all facts. markdown: returns that of a page (its file, its 1-based number), None for one that is missing.

    A PDF without a baseline fact of its own gets one, as in the benchmark. Raises: ConfigError without any fact.
    """
    held: dict[str, list[bool]] = defaultdict(list)
    types: dict[str, list[bool]] = defaultdict(list)
    not_judged: Counter[str] = Counter()
    faults: list[str] = []
    missing: set[tuple[str, int]] = set()
    with_baseline: set[str] = set()

    def judge(one: Fact) -> None:
        page = markdown(folder / PAGES / one.pdf, one.page)
        if page is None:
            missing.add((one.pdf, one.page))
        verdict = page is not None and one.holds(page)
        held[one.source].append(verdict)
        types[one.type].append(verdict)

    for one in _facts(folder, faults):
        if one.type == _BASELINE:
            with_baseline.add(one.pdf)
        if one.type in NOT_JUDGED:
            not_judged[one.type] += 1
        else:
            judge(one)
    if not held and not not_judged:
        raise ConfigError(
            f"{folder}: no fact in any of its .jsonl files can be used; the first fault: {faults[:1]}"
        )
    for pdf in sorted((folder / PAGES).rglob("*.pdf")):
        name = pdf.relative_to(folder / PAGES).as_posix()
        if name not in with_baseline:
            judge(Fact(id=name, pdf=name, page=1, type=_BASELINE, source=_BASELINE, values={}))
    low, high = _interval(list(held.values()))
    files = _shares(held)
    return FactScores(
        score=float(np.mean([share.score for share in files.values()])) if files else 0.0,
        low=low,
        high=high,
        files=files,
        types=_shares(types),
        not_judged=dict(not_judged),
        faults=tuple(faults),
        num_missing=len(missing),
    )


def _facts(folder: Path, faults: list[str]) -> Iterator[Fact]:
    for file in sorted(folder.glob("*.jsonl")):
        with file.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    yield fact(json.loads(line), file.name)
                except (FactError, json.JSONDecodeError, RecursionError) as error:
                    faults.append(f"{file.name}, line {number}: {str(error)[:200]}")


def _shares(verdicts: Mapping[str, list[bool]]) -> dict[str, Share]:
    return {name: Share(held=sum(its), judged=len(its)) for name, its in sorted(verdicts.items())}


def _interval(files: list[list[bool]]) -> tuple[float, float]:
    """Returns the ends of the 95% interval of the mean over files."""
    if not files:
        return 0.0, 0.0
    random = np.random.default_rng(0)
    means = np.mean(
        [random.binomial(len(its), sum(its) / len(its), _SAMPLES) / len(its) for its in files], axis=0
    )
    rest = (1 - _CONFIDENCE) / 2
    return float(np.quantile(means, rest)), float(np.quantile(means, 1 - rest))
