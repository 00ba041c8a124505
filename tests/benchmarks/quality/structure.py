"""Measures how well the structure network reads pages from their lines: order, roles, tables.

python -m tests.benchmarks.quality.structure measure CORPUS --pages 80
python -m tests.benchmarks.quality.structure order DIR --sets composed,digital,scans

measure: on composed pages, whose lines are moved, torn, joined and lost as by a finder. CORPUS: a folder that
ocr.training.corpus made. order: the share of characters that is otherwise than the truth, punctuation folded, on the
sets in DIR that `quality build-unseen` writes, whose lines the line reader reads once and DIR/lines keeps. --network:
what a training wrote, in place of what ships.
"""

import argparse
import json
import pickle
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from ocr.line_reader.faint_print import darkened
from ocr.line_reader.found_lines import ReadLine
from ocr.line_reader.page_text import lines_of_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.line_reader.reading_order import in_reading_order
from ocr.line_reader.structure_network import StructureNetwork, shipped
from ocr.model_files.locate import LINES, find_directory
from ocr.training.pages.page_source import PageSource
from ocr.training.structure.composed_lines import LinePage, line_pages, line_source
from ocr.training.structure.structure_batches import tokens_of
from ocr.training.structure.structure_scores import Scores, decoded
from tests.benchmarks.quality.readings.engines import Reading
from tests.benchmarks.quality.scoring.scores import score
from tests.benchmarks.quality.sets.layout import MANIFEST, TRUTH

_SEED = 2_000_000  # of pages that no training composes


def main(given: Sequence[str] | None = None) -> int:
    args = _arguments(given)
    network = StructureNetwork(args.network) if args.network else shipped()
    if args.command == "order":
        print(*order_lines(args.folder, args.sets.split(","), network), sep="\n")
    else:
        print(*report(lined_pages(line_source(args.folder, "valid")), network, args.pages), sep="\n")
    return 0


def report(pages: Iterator[LinePage], network: StructureNetwork, count: int) -> Iterator[str]:
    """Yields the figures of each genre and of all."""
    scores: dict[str, Scores] = defaultdict(Scores)
    begun = time.process_time()
    for _, page in zip(range(count), pages, strict=False):
        said = decoded(page, *network.logits(tokens_of(page)))
        for group in (page.genre, "all"):
            scores[group].add(page, said)
    yield f"{'genre':12} {'pages':>5} " + " ".join(f"{name[:9]:>9}" for name in Scores().as_dict())
    for group, found in sorted(scores.items()):
        yield f"{group:12} {found.pages:5} " + " ".join(f"{share:9.3f}" for share in found.as_dict().values())
    yield f"{1000 * (time.process_time() - begun) / max(1, count):.1f} CPU ms a page, scoring included"


def lined_pages(source: PageSource) -> Iterator[LinePage]:
    """Yields pages of lines as a finder finds them, always the same ones."""
    for seed in range(_SEED, 10 * _SEED):
        yield from line_pages(random.Random(seed), source)


def order_lines(folder: Path, sets: Iterable[str], network: StructureNetwork) -> Iterator[str]:
    """Yields for each set and kind of page: pages, characters, and the share of these that is otherwise."""
    entries = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["pages"]
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for set_name in sets:
        for picture in sorted((folder / set_name).iterdir()):
            entry = entries[picture.stem]
            lines, size_px = _read(picture, folder / "lines" / f"{picture.name}.pickle")
            rows = (row for unit in in_reading_order(lines, size_px, network) for row in unit.rows)
            text = "\n".join(" ".join(line.text for line in row) for row in rows)
            truth = (folder / TRUTH / picture.name / "1.txt").read_text(encoding="utf-8")
            read = Reading(text=text, status="ok")
            edits = score(picture.name, "", truth, read, any_case=entry["any_case"]).folded
            for kind in (entry["category"], "all")[: 1 if entry["handwriting"] else 2]:
                for at, number in enumerate((1, edits.length, edits.num_edits)):
                    counts[f"{set_name} {kind}"][at] += number
    for kind, (pages, length, wrong) in sorted(counts.items()):
        yield f"{kind:28} {pages:4} pages {length:8} characters {wrong / max(1, length):8.2%} otherwise"


def _read(picture: Path, kept: Path) -> tuple[list[ReadLine], tuple[float, float]]:
    """Returns the lines of text that the line reader reads on a picture, and its size; both are kept in a file."""
    if not kept.is_file():
        kept.parent.mkdir(exist_ok=True)
        with Image.open(picture) as image:
            darkness = darkness_of(darkened(np.asarray(image.convert("L"))))
        reader = _reader()
        lines = lines_of_text(reader.read(darkness, reader.find(darkness)))
        kept.write_bytes(pickle.dumps((lines, darkness.shape[::-1])))
    found: tuple[list[ReadLine], tuple[float, float]] = pickle.loads(kept.read_bytes())
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
    ordering = commands.add_parser("order", help="print how much of the unseen sets' pages is in order")
    ordering.add_argument("--sets", default="composed,digital,scans")
    for command in (measuring, ordering):
        command.add_argument("folder", type=Path)
        command.add_argument("--network", type=Path, help="what ocr.training.structure.train wrote")
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
