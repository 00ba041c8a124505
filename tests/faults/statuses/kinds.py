"""The kinds of made pages, a row each: whoever adds one writes a function that yields its pages."""

from collections.abc import Callable, Iterator, Mapping

from tests.faults.statuses import damaged, handwriting, patterns, scripts
from tests.faults.statuses.pages import MadePage, Workshop

Kind = Callable[[Workshop], Iterator[MadePage]]

KINDS: Mapping[str, Kind] = {
    "script": scripts.whole,
    "half_script": scripts.half,
    "script_lines": scripts.lines,
    "hand_face": scripts.hands,
    "handwriting": handwriting.letters,
    "letterhead": handwriting.letterheads,
    "mirrored": scripts.mirrored,
    "pattern": patterns.patterns,
    "half_lost": damaged.half_lost,
    "whole_picture": damaged.whole,
}
