"""Computes character and word error rates of stored pages against true texts."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from statistics import median
from typing import Any

from rapidfuzz.distance import Levenshtein

from pipeline.errors import EvaluationError

PageKey = tuple[str, int]  # path, 1-based page number


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """The number of edits that turn a reading into the truth, and the truth's length. rate: edits / length.

    An empty truth counts as one unit long, so that invented text counts and the rate stays finite.
    """

    num_edits: int
    length: int

    @property
    def rate(self) -> float:
        """The error rate: edits per unit of the truth."""
        return self.num_edits / max(self.length, 1)


def normalise(text: str) -> str:
    """Returns the text in NFC, stripped, with every run of white space as one space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def character_edits(truth: str, text: str) -> Edits:
    """Returns the Levenshtein edits between the normalised texts, in characters."""
    truth, text = normalise(truth), normalise(text)
    return Edits(num_edits=Levenshtein.distance(truth, text), length=len(truth))


def word_edits(truth: str, text: str) -> Edits:
    """Returns the Levenshtein edits between the normalised texts, in words."""
    words = normalise(truth).split()
    return Edits(num_edits=Levenshtein.distance(words, normalise(text).split()), length=len(words))


def evaluate(truth_dir: Path, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the scores of exported rows (path, sha256, page, status, text) against DIR/<path of the file>/<page>.txt.

    A stored path matches the longest of its endings that has truth: for a/b/c.pdf, DIR/a/b/c.pdf comes before
    DIR/b/c.pdf. A page without text (failed) counts as an empty reading.

    pages: path, page, status, and its edits and error rates in characters and in words, of each page that has a truth.
    characters, words, cer, wer: those of all of them together; median_cer: over the pages. pages_without_truth,
    truth_without_pages: path and page of what could not be compared.

    Raises: EvaluationError where nothing can be compared, or two different files claim one truth.
    """
    truth = read_truth(truth_dir)
    folders = {path for path, _ in truth}
    claims: dict[str, Mapping[str, Any]] = {}
    scores: list[tuple[Mapping[str, Any], Edits, Edits]] = []
    unknown: list[PageKey] = []
    unread = set(truth)
    for row in rows:
        parts = PurePath(row["path"]).parts
        endings = ("/".join(parts[start:]) for start in range(len(parts)))
        folder = next((ending for ending in endings if ending in folders), None)
        key = (folder or "", row["page"])
        if folder is None or key not in truth:
            unknown.append((row["path"], row["page"]))
            continue
        if claims.setdefault(folder, row)["sha256"] != row["sha256"]:
            raise EvaluationError(
                f"{row['path']} and {claims[folder]['path']} both match the truth in {truth_dir / folder}; "
                "repeat more of their folders under the truth folder to tell them apart"
            )
        unread.discard(key)
        true, text = truth[key].read_text(encoding="utf-8-sig"), row["text"] or ""
        scores.append((row, character_edits(true, text), word_edits(true, text)))
    if not scores:
        raise EvaluationError(
            f"{truth_dir}: no stored page has truth here; expected {truth_dir}/<path of the file>/<page>.txt"
        )
    characters, words = _total(edits for _, edits, _ in scores), _total(edits for *_, edits in scores)
    return {
        "cer": characters.rate,
        "wer": words.rate,
        "median_cer": median(edits.rate for _, edits, _ in scores),
        "characters": asdict(characters),
        "words": asdict(words),
        "pages": [
            {name: row[name] for name in ("path", "page", "status")}
            | {"characters": asdict(edits), "words": asdict(others), "cer": edits.rate, "wer": others.rate}
            for row, edits, others in scores
        ],
        "pages_without_truth": unknown,
        "truth_without_pages": sorted(unread),
    }


def read_truth(truth_dir: Path) -> dict[PageKey, Path]:
    """Returns (path of the document, page) -> truth file. Raises: EvaluationError if truth_dir is not a folder."""
    if not truth_dir.is_dir():
        raise EvaluationError(f"{truth_dir}: no such folder; --truth names a folder of truth texts")
    found = (path for path in truth_dir.rglob("*.txt") if path.stem.isascii() and path.stem.isdecimal())
    return {(path.parent.relative_to(truth_dir).as_posix(), int(path.stem)): path for path in found}


def _total(parts: Iterable[Edits]) -> Edits:
    every = list(parts)
    return Edits(num_edits=sum(part.num_edits for part in every), length=sum(part.length for part in every))
