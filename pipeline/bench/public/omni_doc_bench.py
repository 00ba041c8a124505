"""Scores pages by OmniDocBench's annotations: text, reading order and tables of each page.

Its own program pairs blocks of the page with paragraphs of the markdown before it compares them, and draws formulas
with LaTeX. Here a page's text is compared as a whole, and formulas are not: figures compare runs of this program with
one another, not with its leaderboard. Source: https://github.com/opendatalab/OmniDocBench.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from pipeline.bench.public.table_trees import MOST_CELLS, num_cells, teds
from pipeline.errors import ConfigError
from storage.export.rendering import tables
from storage.export.tables import Table, parts

IMAGES = "images"
# Whose text belongs into a page's text; furniture of the page, figures, formulas and masks do not.
_TEXT = frozenset(
    {
        *("title", "text_block", "text", "code_txt", "code_txt_caption", "reference", "list_group"),
        *("figure_caption", "figure_footnote", "table_caption", "table_footnote"),
        *("equation_caption", "equation_explanation"),
    }
)
_MARKS = re.compile(r"[#*_`|>$\\]|!\[[^\]]*\]\([^)]*\)|<[^<>]*>")
# A block that is found worse than this is not there, so it has no place in the order.
_FOUND = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageScore:
    """text, order: normalised edit distances, 0 is best. tables: TEDS of each annotated table, 1 is best."""

    image: str
    text: float | None
    order: float | None
    tables: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageScores:
    """text, order, tables: means over pages and over tables; None where nothing was scored.

    num_formulas: annotated and not scored. num_large: tables with too many cells to be scored. missing: images that the
    database does not have, which count as read without any text. faults: entries that are no pages.
    """

    pages: tuple[PageScore, ...]
    text: float | None
    order: float | None
    tables: float | None
    num_formulas: int
    num_large: int
    missing: tuple[str, ...]
    faults: tuple[str, ...]

    def to_json(self) -> Any:
        """Returns all of it as JSON values."""
        return {"benchmark": "OmniDocBench", **asdict(self)}


def annotations(folder: Path) -> Path | None:
    """Returns the file of a folder that has the benchmark's annotations, None if it has none."""
    if not (folder / IMAGES).is_dir():
        return None
    return next((file for file in sorted(folder.glob("*.json")) if '"layout_dets"' in _beginning(file)), None)


def scores(folder: Path, markdown: Callable[[Path, int], str | None]) -> PageScores:
    """Scores all annotated pages. markdown: as in olmocr_bench.scores. Raises: ConfigError for annotations of none."""
    file = annotations(folder)
    assert file is not None
    pages: list[PageScore] = []
    missing: list[str] = []
    faults: list[str] = []
    num_formulas = num_large = 0
    for number, entry in enumerate(_entries(file), 1):
        try:
            image = str(entry["page_info"]["image_path"])
            blocks = [block for block in entry["layout_dets"] if not block.get("ignore")]
            blocks.sort(
                key=lambda block: block["order"] if isinstance(block.get("order"), int | float) else 1e9
            )
            texts = [str(block.get("text") or "") for block in blocks if block["category_type"] in _TEXT]
            html = [str(block.get("html") or "") for block in blocks if block["category_type"] == "table"]
            num_formulas += sum(block["category_type"] == "equation_isolated" for block in blocks)
        except (KeyError, TypeError, AttributeError) as error:
            faults.append(f"{file.name}, page {number}: {type(error).__name__}: {error}")
            continue
        found = markdown(folder / IMAGES / Path(image).name, 1)
        if found is None:
            missing.append(image)
        wanted = [table for text in html for table in parts(text) if isinstance(table, Table)]
        small = [table for table in wanted if num_cells(table) <= MOST_CELLS]
        num_large += len(wanted) - len(small)
        pages.append(_page(image, [text for text in map(_plain, texts) if text], small, found or ""))
    if not pages:
        raise ConfigError(f"{file}: it annotates no page; the first fault: {faults[:1]}")
    all_tables = [score for page in pages for score in page.tables]
    return PageScores(
        pages=tuple(pages),
        text=_mean([page.text for page in pages if page.text is not None]),
        order=_mean([page.order for page in pages if page.order is not None]),
        tables=_mean(all_tables),
        num_formulas=num_formulas,
        num_large=num_large,
        missing=tuple(missing),
        faults=tuple(faults),
    )


def _page(image: str, blocks: Sequence[str], wanted: Sequence[Table], markdown: str) -> PageScore:
    text = _plain("\n".join(part for part in parts(markdown) if isinstance(part, str)))
    return PageScore(
        image=image,
        text=Levenshtein.normalized_distance("".join(blocks), text) if blocks else None,
        order=_order(blocks, text) if len(blocks) > 1 else None,
        tables=tuple(_best(wanted, [table for table in tables(markdown) if num_cells(table) <= MOST_CELLS])),
    )


def _order(blocks: Sequence[str], text: str) -> float:
    """Returns the edit distance between the blocks' order and that in which a text has them, over their number."""
    places = []
    for number, block in enumerate(blocks):
        found = fuzz.partial_ratio_alignment(block, text)
        if found is not None and found.score >= _FOUND and len(text) >= len(block) / 2:
            places.append((found.dest_start, number))
    return Levenshtein.distance([number for _, number in sorted(places)], range(len(blocks))) / len(blocks)


def _best(wanted: Sequence[Table], found: list[Table]) -> Iterator[float]:
    """Yields the TEDS of each wanted table with the likest one that was found, which counts once."""
    rest = list(found)
    for table in wanted:
        alike = [(teds(table, other), number) for number, other in enumerate(rest)]
        score, number = max(alike, default=(0.0, -1))
        if score:
            del rest[number]
        yield score


def _plain(text: str) -> str:
    """Returns a text without marks of markdown and without white space, in which languages differ."""
    return "".join(_MARKS.sub("", text).split())


def _entries(file: Path) -> list[Any]:
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: cannot be read as JSON: {error}") from None
    if not isinstance(entries, list):
        raise ConfigError(f"{file}: expected a list of pages")
    return entries


def _beginning(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(4096)
    except OSError:
        return ""


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
