"""Reads the sets with both engines and scores the readings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.quality.readings import engines
from tests.benchmarks.quality.readings.engines import Reading, SetReading
from tests.benchmarks.quality.scoring.scores import Score, score
from tests.benchmarks.quality.scoring.summary import SetSummary, summarise
from tests.benchmarks.quality.sets.layout import MANIFEST, TRUTH, QualityError

ENGINES = ("ocrbatch", "tesseract")
_UNREAD = Reading(text="", status="missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The scope of measuring. stored: set -> database of ocrbatch to score instead of reading.

    limit: most pages of a set, spread over it. cache: of Tesseract's texts and costs.
    """

    sets: tuple[str, ...]
    engines: tuple[str, ...] = ENGINES
    model: str = "small"
    limit: int | None = None
    stored: Mapping[str, Path]
    cache: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A set read by one engine. num_missing: pages that the engine's readings lack; they count as read empty."""

    summary: SetSummary
    scores: tuple[Score, ...]
    num_missing: int


def measure(folder: Path, set_name: str, engine: str, options: Options) -> Measured:
    """Returns the figures of one engine on one set below `folder`.

    Raises QualityError where the set is not built or an engine fails.
    """
    pictures = spread(sorted(path for path in (folder / set_name).glob("*") if path.is_file()), options.limit)
    if not pictures:
        raise QualityError(
            f"{folder / set_name} holds no pages: python -m tests.benchmarks.quality build-unseen {folder}"
        )
    reading = _read(pictures, set_name, engine, options)
    pages = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["pages"]
    scores = tuple(
        score(
            name=picture.stem,
            category=pages[picture.stem]["category"],
            truth=(folder / TRUTH / picture.name / "1.txt").read_text(encoding="utf-8"),
            reading=reading.pages.get(picture.stem, _UNREAD),
            any_case=pages[picture.stem].get("any_case", False),
        )
        for picture in pictures
    )
    return Measured(
        summary=summarise(set_name, reading, scores),
        scores=scores,
        num_missing=sum(picture.stem not in reading.pages for picture in pictures),
    )


def spread(pictures: Sequence[Path], limit: int | None) -> list[Path]:
    """Returns `limit` pictures at even distances, so that all categories occur; all without a limit."""
    if limit is None or limit >= len(pictures):
        return list(pictures)
    return [pictures[index * len(pictures) // limit] for index in range(limit)]


def _read(pictures: Sequence[Path], set_name: str, engine: str, options: Options) -> SetReading:
    if engine == "tesseract":
        return engines.tesseract(pictures, options.cache)
    if set_name in options.stored:
        return engines.stored(options.stored[set_name])
    return engines.ocrbatch(pictures, options.model)
