"""Builds the text part of the corpus: clean paragraphs by category, from the sources of texts.yaml."""

import itertools
import lzma
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ocr.training.corpus.extract import READERS, files
from ocr.training.corpus.markup import clean, keep, split_long, unique
from ocr.training.corpus.packages import CorpusError, Package

ENGLISH = ("en_prose", "en_tech")
MEGABYTE = 1_000_000
_SEED = 20260


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Files of one kind, from `packages`, for one category; at most `max_bytes` of UTF-8."""

    category: str
    kind: str
    packages: Sequence[str]
    patterns: Sequence[str]
    max_bytes: int
    skip: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPlan:
    """All sources in reading order, and the bytes each category may hold."""

    sources: tuple[Source, ...]
    limits_bytes: Mapping[str, int] = field(default_factory=dict)


def load_plan(path: Path) -> TextPlan:
    """Returns the sources of a YAML table, its language entries expanded. Raises CorpusError for a wrong kind."""
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    folders: dict[str, list[str]] = table["folders"]
    sources: list[Source] = []
    for entry in table["sources"]:
        if entry["kind"] not in READERS:
            raise CorpusError(f"{path.name}: unknown kind {entry['kind']}: use one of {', '.join(READERS)}")
        sources += _expand(entry, folders)
    limits = {name: int(megabytes * MEGABYTE) for name, megabytes in table["limits_mb"].items()}
    other = limits.pop("other")
    return TextPlan(sources=tuple(sources), limits_bytes={**dict.fromkeys(folders, other), **limits})


def _expand(entry: Mapping[str, Any], folders: Mapping[str, list[str]]) -> Iterator[Source]:
    if "languages" not in entry:
        chosen = {entry["category"]: entry["packages"]}
    elif entry["languages"]:
        chosen = {language: [package] for language, package in entry["languages"].items()}
    else:
        chosen = dict.fromkeys(folders, entry["packages"])
    for category, packages in chosen.items():
        names = folders.get(category, [""])
        spelled = [pattern.replace("{lang}", name) for pattern in entry["files"] for name in names]
        yield Source(
            category=category,
            kind=entry["kind"],
            packages=packages,
            patterns=list(dict.fromkeys(spelled)),
            max_bytes=int(entry.get("max_mb", 1000) * MEGABYTE),
            skip=entry.get("skip", ()),
        )


def paragraphs(source: Source, packages: Mapping[str, Package], seen: set[int]) -> Iterator[str]:
    """Yields the clean, not yet seen paragraphs of a source, file by file in a seeded random order."""
    found = [path for name in source.packages for path in files(packages[name].root, source.patterns)]
    found = [path for path in found if path.name not in source.skip]
    random.Random(_SEED).shuffle(found)
    english = source.category in ENGLISH
    for path in found:
        raw = READERS[source.kind](path)
        if source.kind == "code":
            yield from unique(raw, seen)
            continue
        cleaned = (clean(text) for text in raw)
        kept = (text for text in cleaned if keep(text, english=english))
        yield from unique(itertools.chain.from_iterable(split_long(text) for text in kept), seen)


def build_texts(plan: TextPlan, packages: Mapping[str, Package], out: Path) -> dict[str, dict[str, object]]:
    """Writes out/<category>.txt.xz; returns bytes, paragraphs and bytes by package for the manifest.

    Each source contributes up to its own limit; a category that then lacks text is filled from its sources in order.

    Paragraphs are separated by a blank line and shuffled in runs of eight, so that any part of a file is a fair
    sample of its sources while neighbouring paragraphs still belong together.
    """
    seen: set[int] = set()
    taken: dict[str, list[str]] = defaultdict(list)
    sizes: dict[str, int] = defaultdict(int)
    shares: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    streams = [(source, paragraphs(source, packages, seen)) for source in plan.sources]
    for fills_up in (False, True):
        for source, stream in streams:
            room = plan.limits_bytes[source.category] - sizes[source.category]
            texts, used = _take(stream, room if fills_up else min(source.max_bytes, room))
            taken[source.category] += texts
            sizes[source.category] += used
            shares[source.category][" ".join(source.packages)] += used
    out.mkdir(parents=True, exist_ok=True)
    for category, texts in taken.items():
        data = "\n\n".join(_in_runs(texts)).encode() + b"\n"
        (out / f"{category}.txt.xz").write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    return {
        category: {"bytes": sizes[category], "paragraphs": len(texts), "sources": dict(shares[category])}
        for category, texts in taken.items()
    }


def _take(stream: Iterator[str], room: int) -> tuple[list[str], int]:
    """Takes paragraphs from `stream` until `room` bytes are nearly full; returns them and their bytes."""
    texts: list[str] = []
    used = 0
    while used < room - 400 and (text := next(stream, None)) is not None:
        size = len(text.encode()) + 2
        if used + size <= room:
            texts.append(text)
            used += size
    return texts, used


def _in_runs(texts: list[str], length: int = 8) -> list[str]:
    runs = [texts[start : start + length] for start in range(0, len(texts), length)]
    random.Random(_SEED).shuffle(runs)
    return list(itertools.chain.from_iterable(runs))
