"""Findings of comparing an engine with a reference, and the file that keeps them."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.tokens.generate_reference import Reference

TOLERANCE = 1e-3  # of fp32 logits: closer ones may come out in either order
_SAVE_EVERY_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first difference of a page. reference, engine: the tokens, the end of the text as its id, None for an end for
    another reason. gap: between the two likeliest allowed logits of the reference, None if it chose nothing.
    """

    position: int
    reference: int | None
    engine: int | None
    gap: float | None
    is_second: bool

    @property
    def is_allowed(self) -> bool:
        return self.gap is not None and self.gap <= TOLERANCE


def first_difference(wanted: Reference, tokens: Sequence[int], finish: str, eos_id: int) -> Difference | None:
    """Returns the first difference, None if all tokens and the end are the same."""
    if list(tokens) == wanted.tokens and finish == wanted.finish:
        return None
    pairs = zip(tokens, wanted.tokens, strict=False)
    shorter = min(len(tokens), len(wanted.tokens))
    position = next((place for place, (ours, theirs) in enumerate(pairs) if ours != theirs), shorter)
    chose = position < len(wanted.gaps)
    ours = _at(tokens, finish, position, eos_id)
    return Difference(
        position=position,
        reference=_at(wanted.tokens, wanted.finish, position, eos_id),
        engine=ours,
        gap=wanted.gaps[position] if chose else None,
        is_second=chose and ours == wanted.seconds[position],
    )


def _at(tokens: Sequence[int], finish: str, position: int, eos_id: int) -> int | None:
    if position < len(tokens):
        return tokens[position]
    return eos_id if finish == "eos" else None


class Findings:
    """The findings so far, and their file. references: by the reading's name. runs: by engine and slots, None for a"""

    def __init__(self, file: Path, settings: dict[str, Any], *, again: bool) -> None:
        self._file = file
        self._saved = 0.0
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        if found.get("settings", settings) != settings:
            raise SystemExit(f"{file} is of another run, {found['settings']}: name another file")
        self.settings = settings
        self.references = {name: Reference(**one) for name, one in found.get("references", {}).items()}
        kept = {} if again else found.get("runs", {})
        self.runs: dict[str, dict[str, Difference | None]] = {
            run: {name: Difference(**one) if one else None for name, one in pages.items()}
            for run, pages in kept.items()
        }

    def save(self, *, now: bool = False) -> None:
        if not now and time.monotonic() - self._saved < _SAVE_EVERY_S:
            return
        self._saved = time.monotonic()
        told = {
            "settings": self.settings,
            "references": {name: asdict(one) for name, one in self.references.items()},
            "runs": {
                run: {name: asdict(one) if one else None for name, one in pages.items()}
                for run, pages in self.runs.items()
            },
        }
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(told), encoding="utf-8")
        part.replace(self._file)
