import random
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from ocr.training.pages.blocks.makers import block
from ocr.training.pages.page_source import USELESS_DRAW
from ocr.training.structure.true_lines import ROLES, TrueLine, true_lines
from tests.ocr.training.writers import WIDTH_PT, Desk

_DATED = re.compile(
    r"\b(?:May|June|July|March|août|mars|Januar|Mai) (?:18|19|20)\d\d$|^(?:Your order|Betreff|Re:) "
)
_NUMBERED = re.compile(r"(?:[^\W\d_]+\.?|§) \d+\b(?!\. )")


def _written(corpus: Path, name: str, count: int, kind: str = "") -> Iterator[list[TrueLine]]:
    """Yields the lines of blocks of a maker; of those that are drawn of several kinds, of this one."""

    class Draws(random.Random):
        def choices(self, options, *args, **more):  # type: ignore[no-untyped-def, override]
            return [kind] if kind and kind in options else super().choices(options, *args, **more)

    for seed in range(count):
        desk = Desk(corpus, seed)
        desk.writer.rng = Draws(seed)
        with suppress(*USELESS_DRAW):
            yield true_lines(desk.sheet(block(name, desk.writer)))


def _role(line: TrueLine) -> str:
    return ROLES[line.place.role]


def _tops(lines: list[TrueLine]) -> Mapping[bool, list[int]]:
    """Returns where the blocks at the left and at the right begin."""
    first = {line.place.block: line for line in reversed(lines)}.values()
    return {side: sorted(round(o.base) for o in first if _is_right(o) == side) for side in (False, True)}


def _is_right(line: TrueLine) -> bool:
    return line.x0 > 20 + 0.45 * WIDTH_PT


def test_a_clauses_number_alone_is_a_heading_and_within_text_it_is_none(corpus: Path) -> None:
    """On many pages no larger than the text."""
    small, named = 0, 0
    for lines in _written(corpus, "clauses", 16):
        text = [line for line in lines if _role(line) == "text"]
        headings = [line for line in lines if _role(line).startswith("heading")]
        assert len(headings) >= 2
        assert text
        small += max(line.size for line in headings) <= 1.01 * text[0].size
        own = [line.text for line in text if _NUMBERED.match(line.text)]
        named += len(own)
        assert all(len(words.split()) > 4 for words in own)
    assert small > 3
    assert named


def test_names_with_values_are_a_row_each(corpus: Path) -> None:
    in_columns = 0
    for lines in _written(corpus, "keyed", 16):
        cells = [line.place for line in lines if line.place.table >= 0]
        in_columns += bool(cells)
        assert {_role(line) for line in lines} == {"table cell" if cells else "form"}
        assert len({place.rows for place in cells} if cells else lines) >= 2
        assert sorted(cells, key=lambda place: (place.rows, place.columns)) == cells
    assert in_columns > 1


def test_languages_as_wholes_are_read_one_after_the_other_and_are_not_level(corpus: Path) -> None:
    """Those that are level are read pair by pair."""
    for kind in ("wholes", "clauses", "announced", "steps"):
        level = whole = 0
        for lines in _written(corpus, "parallel", 14, kind):
            sides = [line.x0 for line in lines]
            if len({round(x / 150) for x in sides}) > 2 or not lines:
                continue  # three languages
            whole += [_is_right(line) for line in lines] == sorted(map(_is_right, lines))
            tops = _tops(lines)
            level += tops[False] == tops[True]
        assert whole > 2
        assert level <= 1


def test_where_and_when_what_a_letter_is_about_and_who_signs_are_no_headings(corpus: Path) -> None:
    """However large."""
    larger = dates = 0
    for name in ("letter", "closing"):
        for lines in _written(corpus, name, 40):
            sizes = sorted(line.size for line in lines if _role(line) == "text")
            larger += sizes[-1] > 1.1 * sizes[len(sizes) // 2]
            dated = [_role(line) for line in lines if _DATED.search(line.text)]
            assert set(dated) <= {"text"}
            dates += bool(dated)
    assert larger > 10
    assert dates > 10


def test_text_goes_on_in_small_letters_between_formulas(corpus: Path) -> None:
    goes_on = 0
    for lines in _written(corpus, "derivation", 16):
        assert {_role(line) for line in lines} == {"text", "formula"}
        for before, line in pairwise(lines):
            if _role(before) == "formula" and _role(line) == "text":
                goes_on += line.text[:1].islower()
    assert goes_on > 12


def test_words_in_figures_are_text_and_read_before_what_stands_below(corpus: Path) -> None:
    drawn = 0
    for lines in _written(corpus, "figure", 24):
        roles = [_role(line) for line in lines]
        assert set(roles) <= {"text", "caption"}
        drawn += "text" in roles
    assert drawn > 4


def test_a_head_of_a_page_with_its_number_is_no_heading(corpus: Path) -> None:
    numbered = 0
    for lines in _written(corpus, "header", 40):
        assert {_role(line) for line in lines} <= {"page header", "page number"}
        numbered += any(_role(o) == "page header" and re.search(r"^\d+\b|\b\d+$", o.text) for o in lines)
    assert numbered > 8
