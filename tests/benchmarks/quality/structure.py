"""Measures how well the structure of composed pages is read from their lines: order, roles, tables.

python -m tests.benchmarks.quality.structure measure DIR --pages 400 [--network OUT] [--drawn]

DIR: what ocr.training.corpus made. Lines come from the truth, moved, torn, joined and lost as by a finder; --drawn:
from the line reader on the pages drawn at 150 dpi. --network: what a training wrote, beside what a run says.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ocr.line_reader.found_lines import LineWord, ReadLine, TextLine
from ocr.line_reader.line_structure import LineStructure
from ocr.line_reader.page_text import page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.line_reader.structure_network import StructureNetwork
from ocr.training.pages.compose import compose
from ocr.training.pages.genres import draw_form
from ocr.training.pages.page_source import USELESS_DRAW
from ocr.training.structure.composed_lines import NAMES, LinePage, LineSource, line_pages
from ocr.training.structure.structure_batches import tokens_of
from ocr.training.structure.structure_scores import Scores, decoded
from ocr.training.structure.true_lines import ROLES, TrueLine, true_lines

_SEED = 2_000_000  # of pages that no training composes
_PX = 150 / 72  # pixels a point
_WEIGHTS = Path("ocr/weights/small/lines")
# What a run calls blocks; a list has no other name than text.
_LABELS = {
    "figure_caption": "caption",
    "footnote": "footnote",
    "page_header": "page header",
    "page_footer": "page footer",
    "page_number": "page number",
    "title": "heading 1",
    "sub_title": "heading 2",
    "table": "table cell",
    "code": "code",
    "list": "list item",
}
HELD_OUT = frozenset({"newspaper", "dictionary", "invoice", "receipt"})  # of the first leg
_HELD_SHARE = 0.3  # of the pages measured

Reader = Callable[[LinePage], LineStructure]


def main(given: Sequence[str] | None = None) -> int:
    args = _arguments(given)
    readers: dict[str, Reader] = {"run": as_text}
    if args.network:
        network = StructureNetwork(args.network)
        readers["network"] = lambda page: decoded(page, *network.logits(tokens_of(page)))
    source = LineSource(args.folder, "valid")
    made = drawn_pages(source, args.weights) if args.drawn else lined_pages(source)
    print(*report(made, readers, args.pages), sep="\n")
    return 0


def report(pages: Iterator[LinePage], readers: dict[str, Reader], count: int) -> Iterator[str]:
    """Yields the figures of each reader, genre by genre, then of all genres trained on, and of those held out."""
    scores: dict[tuple[str, str], Scores] = {}
    spent = dict.fromkeys(readers, 0.0)
    for _, page in zip(range(count), pages, strict=False):
        held = "held out" if page.genre in HELD_OUT else "trained on"
        for name, reader in readers.items():
            begun = time.process_time()
            said = reader(page)
            spent[name] += time.process_time() - begun
            for group in (page.genre, f"all {held}", "all"):
                scores.setdefault((group, name), Scores()).add(page, said)
    figures = {key: score.as_dict() for key, score in scores.items()}
    columns = list(next(iter(figures.values())))
    yield f"{'genre':16} {'by':8} {'pages':>5} " + " ".join(f"{name[:9]:>9}" for name in columns)
    for group, name in sorted(figures):
        shown = " ".join(f"{figures[group, name][column]:9.3f}" for column in columns)
        yield f"{group:16} {name:8} {scores[group, name].pages:5} {shown}"
    for name, seconds in spent.items():
        yield f"{name}: {1000 * seconds / max(1, count):.1f} CPU ms a page"


def lined_pages(source: LineSource) -> Iterator[LinePage]:
    """Yields pages of lines as a finder finds them, always the same ones; every third of the genres held out."""
    for seed in range(_SEED, 10 * _SEED):
        rng = random.Random(seed)
        genres = HELD_OUT if rng.random() < _HELD_SHARE else NAMES - HELD_OUT
        yield from line_pages(rng, source, genres=genres)


def drawn_pages(source: LineSource, weights: Path) -> Iterator[LinePage]:
    """Yields pages of single genres as the line reader finds and reads their lines, in the order of the truth."""
    reader = LineReader.load(weights)
    for seed in range(_SEED, 10 * _SEED):
        rng = random.Random(seed)
        try:
            form = draw_form(rng)
            sheet = compose(rng, source, form)
            true = true_lines(sheet)
        except USELESS_DRAW:
            continue
        darkness = darkness_of(sheet.grey(_PX))
        read = [line for line in reader.read(darkness, reader.find(darkness)) if line.text.strip()]
        found = sorted(filter(None, (_matched(line, true) for line in read)), key=lambda line: line.order)
        if len(found) > 1:
            yield LinePage(
                genre=form.genre.name, width_pt=form.width_pt, height_pt=form.height_pt,
                lines=tuple(replace(line, order=number) for number, line in enumerate(found)),
            )  # fmt: skip


def _matched(read: ReadLine, true: Sequence[TrueLine]) -> TrueLine | None:
    """Returns a line that was read, in points, with the place of the true one that it covers most."""
    x0, x1 = read.line.left / _PX, read.line.right / _PX
    base, size = read.line.middle / _PX, read.line.size / _PX
    near = [line for line in true if abs(line.base - base) < 0.4 * line.size]
    best = max(near, key=lambda line: min(x1, line.x1) - max(x0, line.x0), default=None)
    if best is None or min(x1, best.x1) <= max(x0, best.x0):
        return None
    words = tuple((word.left / _PX, word.right / _PX) for word in read.words)
    # Pieces of one line are in order by where they begin.
    return replace(
        best, text=read.text, x0=x0, x1=x1, base=base, size=size, words=words, order=best.order + x0 / 1e6
    )  # type: ignore[arg-type]


def as_text(page: LinePage) -> LineStructure:
    """Returns what a run says of a page's lines: its blocks and tables, in the order of the shipped network."""
    order: list[int] = []
    count = len(page.lines)
    roles, blocks, rows, columns = (np.full(count, fill, np.int64) for fill in (0, -1, -1, -1))
    owners: dict[tuple[str, int, int], list[int]] = {}
    read = []
    for number, line in enumerate(page.lines):
        read.append(_as_read(line))
        for word in read[-1].words:
            owners.setdefault((word.text, round(word.left), round(word.right)), []).append(number)
    shuffled = random.Random(0).sample(read, len(read))
    parsed = page_text(shuffled)
    at = 0
    for block_number, block in enumerate(parsed.blocks):
        for row, text in enumerate(block.text.split("\n")):
            column = 0
            for _ in text.split():
                word = parsed.words[at]
                at += 1
                assert word.box_px is not None, "what was read has a place"
                near = owners.get((word.text, word.box_px[0], word.box_px[2]), [])
                own = min(
                    near,
                    key=lambda n: abs(page.lines[n].base * _PX - (word.box_px or (0, 0, 0, 0))[3]),
                    default=None,
                )
                if own is None or blocks[own] >= 0:
                    continue
                order.append(own)
                blocks[own], roles[own] = block_number, ROLES.index(_LABELS.get(block.label, "text"))
                if block.label == "table":
                    rows[own], columns[own], column = row, column, column + 1
    rest = [number for number in range(count) if blocks[number] < 0]
    blocks[rest] = len(parsed.blocks) + np.arange(len(rest))
    return LineStructure(
        order=np.array(order + rest), blocks=blocks, roles=roles, rows=rows, columns=columns, doubt=0.0
    )


def _as_read(line: TrueLine) -> ReadLine:
    """Returns a line as if it were read without an error."""
    left, right = round(line.x0 * _PX), max(round(line.x0 * _PX) + 1, round(line.x1 * _PX))
    base = np.full(right - left, line.base * _PX, np.float32)
    texts = line.text.split()
    ends = line.words if len(line.words) == len(texts) else ((line.x0, line.x1),) * len(texts)
    words = tuple(
        LineWord(text=text, left=max(0.0, x0 * _PX), right=max(x0 * _PX + 1, x1 * _PX), confidence=1.0)
        for text, (x0, x1) in zip(texts, ends, strict=True)
    )
    own = TextLine(left=left, right=right, baseline=base, size=line.size * _PX)
    return ReadLine(line=own, text=" ".join(texts), confidence=1.0, words=words)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.quality.structure", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="print the figures of a run, and of a network")
    one.add_argument("folder", type=Path, metavar="DIR", help="what ocr.training.corpus made")
    one.add_argument("--pages", type=int, default=400)
    one.add_argument("--network", type=Path, help="what ocr.training.structure.train wrote")
    one.add_argument("--drawn", action="store_true", help="lines of the line reader, on drawn pages")
    one.add_argument("--weights", type=Path, default=_WEIGHTS, help="of the line reader")
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
