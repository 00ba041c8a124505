"""Scores the boxes of blocks that were read against the truth (`python -m ocr.training.heldout`):

python -m tests.benchmarks.layout.boxes held.db OUT/truth

The truth's blocks are the paragraphs of its text. Those that were read are split where their lines say
(ocr/line_reader), not always as in the truth: then their boxes cannot match, however well they are placed. So it also
reports how many of the truth's blocks were read as one block, by their texts, and how many of those have the right box.
"""

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz.distance import Levenshtein
from sqlite_utils import Database

from storage.database import open_for_reading

ENOUGH = 0.5  # intersection over union from which a block counts as found
ALIKE = 0.8  # share of letters and digits in common from which two blocks are the same text
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedBlock:
    """A block with its place. box: x0, y0, x1, y1 from 0 to 999 of the page, None if a block that was read has none."""

    box: Box | None
    text: str = ""

    def lies_on(self, other: "PlacedBlock") -> bool:
        return self.box is not None and other.box is not None and iou(self.box, other.box) >= ENOUGH


@dataclass(slots=True, kw_only=True)
class BoxScore:
    """Counts over pages. blocks, found: of the truth. predicted: boxes that were read.

    matched: the predicted boxes that lie on some block of the truth. whole: blocks of the truth that were read as one
    block; whole_found: those of them whose box lies on it.
    """

    pages: int = 0
    missing_pages: int = 0
    predicted: int = 0
    matched: int = 0
    whole: int = 0
    whole_found: int = 0
    blocks: int = 0
    found: int = 0

    def add(self, truth: list[PlacedBlock], read: list[PlacedBlock]) -> None:
        """Adds one page."""
        self.pages += 1
        placed = [block for block in read if block.box is not None]
        self.predicted += len(placed)
        self.matched += sum(any(block.lies_on(other) for other in truth) for block in placed)
        for block in truth:
            self.blocks += 1
            self.found += any(other.lies_on(block) for other in placed)
            if (same := _same_text(block, read)) is not None:
                self.whole += 1
                self.whole_found += same.lies_on(block)

    def lines(self) -> Iterable[str]:
        yield f"pages {self.pages}, not read {self.missing_pages}; blocks {self.blocks}, read {self.predicted}"
        yield f"blocks with a box of IoU >= {ENOUGH}: {_share(self.found, self.blocks)}"
        yield f"of the {self.whole} read as one block, its box: {_share(self.whole_found, self.whole)}"
        yield f"boxes on a block of the truth: {_share(self.matched, self.predicted)}"


def iou(a: Box, b: Box) -> float:
    """Returns the intersection over union of two boxes."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0.0, width) * max(0.0, height)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return shared / (sum(areas) - shared) if shared else 0.0


def _same_text(block: PlacedBlock, read: list[PlacedBlock]) -> PlacedBlock | None:
    """Returns the block that was read with the nearest text, if near enough; of ties the better place."""
    wanted = _letters(block.text)
    if not wanted:
        return None
    ranked = [
        (Levenshtein.normalized_similarity(wanted, _letters(other.text)), other.lies_on(block), -index)
        for index, other in enumerate(read)
    ]
    best = max(ranked, default=(0.0, False, 0))
    return read[-best[2]] if best[0] >= ALIKE else None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def score(db: Database, truth: Path) -> BoxScore:
    """Compares every `truth/<file name>/<page>.json` with the blocks of that page's current attempt."""
    total = BoxScore()
    attempts = {
        (Path(row["path"]).name, row["page"]): row for row in db.query("SELECT * FROM results ORDER BY path")
    }
    for file in sorted(truth.glob("*/*.json")):
        row = attempts.get((file.parent.name, int(file.stem)))
        was_read = row is not None and row["attempt_id"] is not None and bool(row["width_px"])
        total.missing_pages += not was_read
        wanted = [PlacedBlock(box=tuple(b["box"]), text=b["text"]) for b in json.loads(file.read_text())]
        total.add(wanted, _blocks(db, row) if row is not None and was_read else [])
    return total


def _blocks(db: Database, row: dict[str, object]) -> list[PlacedBlock]:
    found = db.query(
        "SELECT text, x0_px, y0_px, x1_px, y1_px FROM blocks WHERE attempt_id = ? ORDER BY block_index",
        [row["attempt_id"]],
    )
    width, height = row["width_px"], row["height_px"]
    assert isinstance(width, int), "a page with blocks has a size"
    assert isinstance(height, int), "a page with blocks has a size"
    across, down = 999 / width, 999 / height
    blocks = []
    for b in found:
        box = (b["x0_px"], b["y0_px"], b["x1_px"], b["y1_px"])
        scaled = None if None in box else (box[0] * across, box[1] * down, box[2] * across, box[3] * down)
        blocks.append(PlacedBlock(box=scaled, text=b["text"]))
    return blocks


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({part / whole:.1%})" if whole else "-"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.layout.boxes", description=__doc__)
    parser.add_argument("db", help="what `ocrbatch run` wrote")
    parser.add_argument("truth", type=Path, help="the truth folder that ocr.training.heldout wrote")
    args = parser.parse_args()
    for line in score(open_for_reading(args.db), args.truth).lines():
        print(line)


if __name__ == "__main__":
    main()
