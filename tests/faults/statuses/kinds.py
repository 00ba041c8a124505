"""The kinds of made pages, a row each: whoever adds one writes a function that yields its pages."""

from collections.abc import Callable, Iterator, Mapping

from tests.faults.doubt import layer_pages, lost_pictures, print_pages
from tests.faults.statuses import damaged, faint, handwriting, ordinary, patterns, photographs, scripts
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
    "photograph": photographs.photographs,
    "half_lost": damaged.half_lost,
    "whole_picture": damaged.whole,
    "layer": layer_pages.pages,
    "lost_picture": lost_pictures.pages,
    "lone_print": print_pages.pages,
    "faint": faint.faint,
    "clear_ground": faint.clear,
    "out_of_size": faint.out_of_size,
}

# Pages that must be read, and not be doubted.
ORDINARY: Mapping[str, Kind] = {
    make.__name__: make
    for make in (
        ordinary.composed, ordinary.documents, ordinary.languages, ordinary.capitals, ordinary.small_print,
        ordinary.numbers, ordinary.codes, ordinary.names, ordinary.code,
    )
}  # fmt: skip
