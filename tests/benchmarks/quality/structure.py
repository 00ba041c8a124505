"""Measures how well the structure network reads pages from their lines: order, roles, tables.

python -m tests.benchmarks.quality.structure measure CORPUS --pages 80
python -m tests.benchmarks.quality.structure order DIR --sets composed,digital,scans
python -m tests.benchmarks.quality.structure tables CORPUS --pages 80
python -m tests.benchmarks.quality.structure level --pages 40

measure: on composed pages, whose lines are moved, torn, joined and lost as by a finder; of what ships also which
headings a run writes; --genres: such that a training was --without.
CORPUS: a folder that ocr.training.corpus made. order: the share of characters that is otherwise
than the truth, punctuation folded, on the sets in DIR that `quality build-unseen` writes, whose lines the line reader
reads once and DIR/lines keeps. tables: how like those of composed pages are, drawn at 100 to 200 dpi and read by the
line reader, to the true ones. level: what is moved on menus, price lists, labels, cards and sheets in two languages, by
level_pages, lines noised as in training.
--network: what a training wrote, in place of what ships.
"""

import argparse
import json
import pickle
import random
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ocr.line_reader.faint_print import darkened
from ocr.line_reader.found_lines import Box, LineWord, ReadLine, TextLine
from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.page_text import lines_of_text, page_parts, page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.line_reader.reading_order import in_reading_order
from ocr.line_reader.structure_network import ROLES, StructureNetwork, shipped
from ocr.model_files.locate import LINES, find_directory
from ocr.paragraphs.line_tables import Rule
from ocr.training.pages.compose import compose
from ocr.training.pages.genres import GENRES, draw_form
from ocr.training.pages.page_source import USELESS_DRAW, PageSource
from ocr.training.pages.page_truth import Sheet
from ocr.training.structure.composed_lines import NAMES, line_pages, line_source
from ocr.training.structure.moved_lines import decoded, heaviest_rise
from ocr.training.structure.placed_lines import LinePage
from ocr.training.structure.structure_batches import tokens_of
from ocr.training.structure.true_lines import TrueLine, true_lines
from tests.benchmarks.quality.level_pages import level_pages
from tests.benchmarks.quality.readings.engines import Reading
from tests.benchmarks.quality.scoring.scores import score
from tests.benchmarks.quality.scoring.structure_scores import GROUPS, Scores, f1
from tests.benchmarks.quality.scoring.table_scores import Rows, TableCell, best_likenesses, tables_in
from tests.benchmarks.quality.sets.layout import MANIFEST, TRUTH

_GOOD = 0.9
_PX = 2.0  # of a point
_SEED = 2_000_000  # of pages that no training composes


def main(given: Sequence[str] | None = None) -> int:
    args = _arguments(given)
    network = StructureNetwork(args.network) if args.network else shipped()
    if args.command == "tables":
        print(*table_figures(line_source(args.folder, "valid"), args.pages, args.kept), sep="\n")
    elif args.command == "order":
        print(*order_lines(args.folder, args.sets.split(","), network), sep="\n")
    elif args.command == "level":
        print(*level_figures(args.pages, network), sep="\n")
    else:
        pages = lined_pages(line_source(args.folder, "valid"), args.genres)
        print(*report(pages, network, args.pages), sep="\n")
    return 0


def report(pages: Iterator[LinePage], network: StructureNetwork, count: int) -> Iterator[str]:
    """Yields the figures of each genre and of all."""
    scores: dict[str, Scores] = defaultdict(Scores)
    begun, written = time.process_time(), np.zeros((2, 2), int)
    for _, page in zip(range(count), pages, strict=False):
        said = decoded(page, *network.logits(tokens_of(page)))
        if network is shipped():
            np.add.at(written, tuple(_headings(page).T), 1)
        for group in (page.genre, "all"):
            scores[group].add(page, said)
    yield f"{'genre':12} {'pages':>5} " + " ".join(f"{name[:9]:>9}" for name in Scores().as_dict())
    for group, found in sorted(scores.items()):
        yield f"{group:12} {found.pages:5} " + " ".join(f"{share:9.3f}" for share in found.as_dict().values())
    (_, wrong), (missed, right) = written
    yield f"headings that a run writes: F1 {f1((right, wrong, missed)):.3f}"
    yield f"{1000 * (time.process_time() - begun) / max(1, count):.1f} CPU ms a page, scoring included"


def lined_pages(source: PageSource, genres: Collection[str] = NAMES) -> Iterator[LinePage]:
    """Yields pages of lines as a finder finds them, always the same ones. genres: of which alone."""
    drawn = genres if any(genre.name in genres for genre in GENRES) else NAMES
    for seed in range(_SEED, 10 * _SEED):
        made = line_pages(random.Random(seed), source, genres=drawn)
        yield from (page for page in made if page.genre in genres)


def level_figures(count: int, network: StructureNetwork) -> Iterator[str]:
    """Yields for each kind of page: the share of characters that is moved, and of how many pages over a twentieth."""
    for kind, pages in groupby(level_pages(count), key=lambda page: page.genre):
        whole = [(page, _num_moved(page, network)) for page in pages]
        share = sum(moved for _, moved in whole) / sum(page.num_characters for page, _ in whole)
        much = sum(moved > 0.05 * page.num_characters for page, moved in whole)
        yield f"{kind:10} {len(whole):4} pages {share:8.2%} moved, {much} pages over 5%"


def _num_moved(page: LinePage, network: StructureNetwork) -> int:
    """Returns how many characters of a page stand elsewhere, as all of what puts lines in order has them."""
    reads = random.Random(0).sample(lines := _found(page), len(page.lines))
    numbers = {id(read): number for number, read in enumerate(lines)}
    units = in_reading_order(reads, (_PX * page.width_pt, _PX * page.height_pt), network)
    order = [numbers[id(read)] for unit in units for row in unit.rows for read in row]
    return page.num_characters - heaviest_rise(order, [len(line.text) for line in page.lines])


def _headings(page: LinePage) -> np.ndarray:
    """Returns [N, 2] for each line 1 where it is a heading, and where it is written as one."""
    reads, at = _found(page), dict[tuple[int, int], int]()
    for number, read in enumerate(reads):
        at |= {_corner(read.line.box_of(word)): number for word in read.words}
    boxes = [tuple(_PX * side for side in box) for box in page.rules]
    across = [Rule(x0=x0, x1=x1, y=(y0 + y1) / 2) for x0, y0, x1, y1 in boxes if x1 - x0 > y1 - y0]
    uprights = [box for box in boxes if box[2] - box[0] <= box[3] - box[1]]
    found = np.array([[ROLES[line.place.role] in GROUPS["headings"], False] for line in page.lines], int)
    for block, words, _ in page_parts(reads, across, uprights, (_PX * page.width_pt, _PX * page.height_pt)):
        corners = (_corner(word.box_px) for word in words if word.box_px)
        found[[at[corner] for corner in corners if corner in at], 1] |= block.label in ("title", "sub_title")
    return found


def _corner(box: Sequence[float]) -> tuple[int, int]:
    return max(0, round(box[0])), max(0, round(box[1]))


def _found(page: LinePage) -> list[ReadLine]:
    """Returns a page's lines as if they had been found and read for sure."""
    reads = []
    for own in page.lines:
        left, right = round(_PX * own.x0), round(_PX * own.x1)
        baseline = np.full(right - left, _PX * own.base, np.float32)
        line = TextLine(left=left, right=right, baseline=baseline, size=_PX * own.size)
        words = tuple(
            LineWord(text=text, left=round(_PX * x0), right=round(_PX * x1), confidence=1.0)
            for text, (x0, x1) in zip(own.text.split(), own.words, strict=False)
        )
        reads.append(ReadLine(line=line, text=own.text, confidence=1.0, words=words))
    return reads


def order_lines(folder: Path, sets: Iterable[str], network: StructureNetwork) -> Iterator[str]:
    """Yields for each set and kind of page: pages, characters, and the share of these that is otherwise."""
    entries = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["pages"]
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for set_name in sets:
        for picture in sorted((folder / set_name).iterdir()):
            entry = entries[picture.stem]
            lines, size_px, rules = _read(picture, folder / "lines" / f"{picture.name}.pickle")
            units = in_reading_order(lines, size_px, network, rules=rules)
            rows = (row for unit in units for row in unit.rows)
            text = "\n".join(" ".join(line.text for line in row) for row in rows)
            truth = (folder / TRUTH / picture.name / "1.txt").read_text(encoding="utf-8")
            read = Reading(text=text, status="ok")
            edits = score(picture.name, "", truth, read, any_case=entry["any_case"]).folded
            for kind in (entry["category"], "all")[: 1 if entry["handwriting"] else 2]:
                for at, number in enumerate((1, edits.length, edits.num_edits)):
                    counts[f"{set_name} {kind}"][at] += number
    for kind, (pages, length, wrong) in sorted(counts.items()):
        yield f"{kind:28} {pages:4} pages {length:8} characters {wrong / max(1, length):8.2%} otherwise"


def table_figures(source: PageSource, count: int, kept: Path | None = None) -> Iterator[str]:
    """Yields for each genre, and for all: tables, how like them what was read is, how much was read as more tables.

    count: of pages with tables. kept: where what was read of each page is kept.
    """
    counts: dict[str, list[float]] = defaultdict(lambda: [0.0] * 4)
    for number, (genre, sheet, true) in zip(range(count), sheets_with_tables(source), strict=False):
        read = tables_in(page_text(*_seen(sheet, kept and kept / f"{number}.pickle")).markdown)
        alike = best_likenesses(true, read)
        good, more = sum(share > _GOOD for share in alike), len(read) - np.count_nonzero(alike)
        figures = len(true), sum(alike), good, more
        for group in (genre, "all"):
            counts[group] = [a + b for a, b in zip(counts[group], figures, strict=True)]
    for group, (number, likeness, good, more) in sorted(counts.items()):
        shares = f"{likeness / number:.3f} alike, {good / number:.3f} over {_GOOD}"
        yield f"{group:12} {number:4.0f} tables, {shares}, {more:.0f} more"


def sheets_with_tables(source: PageSource) -> Iterator[tuple[str, Sheet, list[Rows]]]:
    """Yields composed pages that have tables, always the same ones: genre, page, tables."""
    for seed in range(_SEED, 10 * _SEED):
        rng = random.Random(seed)
        form = draw_form(rng)
        try:
            sheet = compose(rng, source, form)
            lines = true_lines(sheet)
        except USELESS_DRAW:
            continue
        if true := list(true_tables(lines)):
            yield form.genre.name, sheet, true


def true_tables(lines: Sequence[TrueLine]) -> Iterator[Rows]:
    """Yields the tables among lines in reading order, but for those of one row or that go on in another column."""
    in_tables = (line for line in lines if line.place.table >= 0)
    for _, group in groupby(in_tables, key=lambda line: line.place.table):
        texts: dict[tuple[tuple[int, int], tuple[int, int]], list[str]] = defaultdict(list)
        tops: dict[int, float] = {}
        for line in group:
            texts[line.place.rows, line.place.columns].append(line.text)
            tops[line.place.rows[0]] = min(line.base, tops.get(line.place.rows[0], line.base))
        if len(tops) < 2 or sorted(tops, key=tops.__getitem__) != sorted(tops):
            continue
        cells: dict[tuple[int, int], TableCell | None] = {}  # None where one of a row above or before goes on
        for ((top, bottom), (left, right)), text in texts.items():
            cells |= dict.fromkeys(product(range(top, bottom + 1), range(left, right + 1)))
            cells[top, left] = TableCell(" ".join(text), bottom - top + 1, right - left + 1)
        columns = range(1 + max(column for _, column in cells))
        rows = ([cells.get((row, column), TableCell("")) for column in columns] for row in sorted(tops))
        yield [[cell for cell in row if cell] for row in rows]


def _seen(sheet: Sheet, kept: Path | None) -> tuple[Any, ...]:
    """Returns what the line reader sees of a sheet, as page_text takes it."""
    if kept and kept.is_file():
        found: tuple[Any, ...] = pickle.loads(kept.read_bytes())
        return found
    scale = random.Random(str(sheet.markup)).uniform(100, 200) / 72
    grey = sheet.grey(scale)
    darkness, ink = darkness_of(grey), PageInk.of(grey)
    reader = _reader()
    lines = lines_of_text(reader.read(darkness, reader.find(darkness)))
    seen = lines, (), ink.rules, ink.uprights, grey.shape[::-1]
    if kept:
        kept.parent.mkdir(exist_ok=True, parents=True)
        kept.write_bytes(pickle.dumps(seen))
    return seen


def _read(picture: Path, kept: Path) -> tuple[list[ReadLine], tuple[float, float], list[Box]]:
    """Returns the lines of text that the line reader reads on a picture, its size and its rules; a file keeps them."""
    if not kept.is_file():
        kept.parent.mkdir(exist_ok=True)
        with Image.open(picture) as image:
            grey = darkened(np.asarray(image.convert("L")))
        darkness, ink, reader = darkness_of(grey), PageInk.of(grey), _reader()
        rules = [*((rule.x0, rule.y, rule.x1, rule.y) for rule in ink.rules), *ink.uprights]
        lines = lines_of_text(reader.read(darkness, reader.find(darkness)))
        kept.write_bytes(pickle.dumps((lines, darkness.shape[::-1], rules)))
    found: tuple[list[ReadLine], tuple[float, float], list[Box]] = pickle.loads(kept.read_bytes())
    return found


@cache
def _reader() -> LineReader:
    return LineReader.load(find_directory("small") / LINES)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.quality.structure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="print the figures on composed pages")
    measuring.add_argument("--pages", type=int, default=400)
    measuring.add_argument("--genres", nargs="*", default=NAMES, help="of which alone")
    ordering = commands.add_parser("order", help="print how much of the unseen sets' pages is in order")
    ordering.add_argument("--sets", default="composed,digital,scans")
    tabling = commands.add_parser("tables", help="print how like tables are to the true ones")
    tabling.add_argument("--pages", type=int, default=80)
    tabling.add_argument("--kept", type=Path, help="where what was read of each page is kept")
    level = commands.add_parser("level", help="print how much is moved on menus, labels and the like")
    level.add_argument("--pages", type=int, default=40)
    for command in (measuring, ordering, tabling):
        command.add_argument("folder", type=Path)
    for command in (measuring, ordering, tabling, level):
        command.add_argument("--network", type=Path, help="what ocr.training.structure.train wrote")
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
