"""The facts that olmOCR-bench states of pages, one JSON object a line, and whether a page's markdown bears them out.

Source: https://github.com/allenai/olmocr, olmocr/bench/README.md.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rapidfuzz import fuzz

from pipeline.bench.public.cell_facts import SIDES, Cells, cell_stands
from pipeline.bench.public.comparable_text import comparable, is_near, near_starts
from storage.export.rendering import tables
from storage.export.tables import Table, parts

# Formulas are compared as KaTeX draws them in a browser, which is not done here.
NOT_JUDGED = frozenset({"math"})
_MOST_REPEATS, _LONGEST_REPEAT = 30, 5
# Han, kana, emoji: in no page of the benchmark.
_FOREIGN = re.compile(
    "[\u4e00-\u9fff\u3040-\u30ff\U0001f600-\U0001f64f\U0001f300-\U0001f5ff\U0001f680-\U0001f6ff\U0001f1e6-\U0001f1ff]"
)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_BESIDE = 200


class FactError(ValueError):
    """A line that states no fact; its message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact. pdf: below the folder "pdfs". page: 1-based. source: name of its file. values: all of its keys."""

    id: str
    pdf: str
    page: int
    type: str
    source: str
    values: Mapping[str, Any]

    def holds(self, markdown: str) -> bool:
        """Returns whether a page's markdown bears it out."""
        return _JUDGES[self.type](self.values, markdown)


def fact(values: Any, source: str) -> Fact:
    """Returns the fact in a line's JSON value. Raises: FactError."""
    if not isinstance(values, dict):
        raise FactError("not a JSON object")
    for key, kind in (("pdf", str), ("id", str), ("type", str), ("page", int)):
        if not isinstance(values.get(key), kind):
            raise FactError(f"{key!r} is missing or of the wrong kind")
    name = values["type"]
    if name not in _JUDGES and name not in NOT_JUDGED:
        raise FactError(f"type {name!r} is not known")
    for key in _NEEDED.get(name, ()):
        if not isinstance(values.get(key), str) or not values[key].strip():
            raise FactError(f"{key!r} is missing or empty")
    if name == "format" and values["format"] not in _FORMATS:
        raise FactError(f"format {values['format']!r} is not known")
    edits = values.get("max_diffs", 0)
    if not isinstance(edits, int) or edits < 0:
        raise FactError("'max_diffs' is no whole number from 0 on")
    return Fact(
        id=values["id"], pdf=values["pdf"], page=values["page"], type=name, source=source, values=values
    )


def _is_present(values: Mapping[str, Any], markdown: str) -> bool:
    wanted, text = comparable(values["text"]), comparable(markdown)
    if values.get("case_sensitive") is False:
        wanted, text = wanted.lower(), text.lower()
    first, last = values.get("first_n"), values.get("last_n")
    if first or last:
        text = (text[:first] if first else "") + (text[-last:] if last else "")
    edits = values.get("max_diffs", 0)
    # partial_ratio looks for the shorter in the longer, so a short page would be found in what is wanted.
    return len(text) >= len(wanted) - edits and is_near(wanted, fuzz.partial_ratio(wanted, text), edits)


def _is_absent(values: Mapping[str, Any], markdown: str) -> bool:
    return not _is_present(values, markdown)


def _is_in_order(values: Mapping[str, Any], markdown: str) -> bool:
    text, edits = comparable(markdown), values.get("max_diffs", 0)
    before = near_starts(comparable(values["before"]), text, edits)
    after = near_starts(comparable(values["after"]), text, edits)
    return bool(before and after) and before[0] < after[-1]


def _is_baseline(values: Mapping[str, Any], markdown: str) -> bool:
    if (most := values.get("max_length")) is not None:
        if values.get("max_length_skips_image_alt_tags"):
            markdown = _IMAGE.sub("", markdown)
        return sum(map(str.isalnum, markdown)) <= int(most)
    if not any(map(str.isalnum, markdown)):
        return False
    if any(
        _repeats(markdown, size) > values.get("max_repeats", _MOST_REPEATS)
        for size in range(1, _LONGEST_REPEAT + 1)
    ):
        return False
    return values.get("check_disallowed_characters") is False or _FOREIGN.search(markdown) is None


def _repeats(text: str, size: int) -> int:
    """Returns how often the last letters of a text stand at its end, one after another."""
    last, count = text[-size:], 0
    while len(text) >= size and text.endswith(last, 0, len(text) - count * size):
        count += 1
        if count * size >= len(text):
            break
    return count


def _has_format(values: Mapping[str, Any], markdown: str) -> bool:
    found = [text for pattern in _FORMATS[values["format"]] for text in pattern.findall(markdown)]
    wanted, edits = comparable(values["text"]), values.get("max_diffs", 0)
    texts = [comparable(text) for text in found]
    if values.get("case_sensitive") is False:
        wanted, texts = wanted.lower(), [text.lower() for text in texts]
    return any(is_near(wanted, fuzz.partial_ratio(wanted, text), edits) for text in texts)


def _has_footnote(values: Mapping[str, Any], markdown: str) -> bool:
    marker = values["marker"]
    patterns = [rf"\[\^{re.escape(marker)}\](?!:)", rf"<sup[^>]*>{re.escape(marker)}</sup>"]
    if marker.isascii() and marker.isdigit():
        patterns.append(re.escape(marker.translate(_RAISED)))
    found = [match.span() for pattern in patterns for match in re.finditer(pattern, markdown, re.IGNORECASE)]
    edits = values.get("max_diffs", 0)

    def beside(key: str, texts: Iterator[str], of: Callable[[str, int], str]) -> bool:
        wanted = values.get(key)
        if not wanted:
            return True
        letters = _letters(wanted)
        parts = (of(_letters(text), 2 * len(letters)) for text in texts)
        return any(part and is_near(wanted, fuzz.partial_ratio(letters, part), edits) for part in parts)

    before = (markdown[max(0, start - _BESIDE) : start] for start, _ in found)
    after = (markdown[end : end + _BESIDE] for _, end in found)
    return (
        bool(found)
        and beside("appears_before_marker", before, lambda text, size: text[-size:])
        and beside("appears_after_marker", after, lambda text, size: text[:size])
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, comparable(text))).lower()


def _has_cell(values: Mapping[str, Any], markdown: str) -> bool:
    wanted = {key: comparable(values[key]) for key in ("cell", *SIDES) if values.get(key)}
    edits = values.get("max_diffs", 0)
    if values.get("ignore_markdown_tables"):
        found = [part for part in parts(markdown) if isinstance(part, Table)]
    else:
        found = tables(markdown)
    return any(cell_stands(Cells(table), wanted, edits) for table in found)


_NEEDED = {
    "present": ("text",),
    "absent": ("text",),
    "order": ("before", "after"),
    "table": ("cell",),
    "format": ("text", "format"),
    "footnote": ("marker",),
}
_FORMATS = {
    "heading": [re.compile(r"(?m)^#{1,6}\s+(.+)$"), re.compile(r"(?is)<h[1-6][^>]*>(.*?)</h[1-6]>")],
    "bold": [
        re.compile(r"(?s)\*\*(.*?)\*\*"),
        re.compile(r"(?s)__(.*?)__"),
        re.compile(r"(?is)<(?:b|strong)>(.*?)</(?:b|strong)>"),
    ],
    "italic": [
        re.compile(r"(?s)(?<!\*)\*(?!\*)(.*?)(?<!\*)\*(?!\*)"),
        re.compile(r"(?is)<(?:i|em)>(.*?)</(?:i|em)>"),
    ],
}
_JUDGES: dict[str, Callable[[Mapping[str, Any], str], bool]] = {
    "present": _is_present,
    "absent": _is_absent,
    "order": _is_in_order,
    "table": _has_cell,
    "baseline": _is_baseline,
    "format": _has_format,
    "footnote": _has_footnote,
}
