"""How well the blocks that were read lie on those of the truth (`python -m ocr.training.heldout --prompt grounded`):

python -m tests.benchmarks.boxes held.db OUT/truth
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sqlite_utils import Database

from storage.database import open_for_reading

ENOUGH = 0.5  # intersection over union from which a block counts as found
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedBlock:
    """box: x0, y0, x1, y1 from 0 to 999 of the page."""

    kind: str
    box: Box


@dataclass(slots=True, kw_only=True)
class BoxScore:
    """Counts over pages. blocks, found, same_kind: of the truth, by its kinds. predicted: boxes that were read.

    matched: those of them that lie on some block of the truth.
    """

    pages: int = 0
    missing_pages: int = 0
    predicted: int = 0
    matched: int = 0
    blocks: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    same_kind: Counter[str] = field(default_factory=Counter)

    def add(self, truth: list[PlacedBlock], read: list[PlacedBlock]) -> None:
        """One page."""
        self.pages += 1
        self.predicted += len(read)
        self.matched += sum(any(iou(block.box, other.box) >= ENOUGH for other in truth) for block in read)
        for block in truth:
            best = max(read, key=lambda other: iou(block.box, other.box), default=None)
            self.blocks[block.kind] += 1
            if best is not None and iou(block.box, best.box) >= ENOUGH:
                self.found[block.kind] += 1
                self.same_kind[block.kind] += best.kind == block.kind

    def lines(self) -> Iterable[str]:
        total, found = self.blocks.total(), self.found.total()
        yield f"pages {self.pages}, not read {self.missing_pages}; blocks {total}, read {self.predicted}"
        yield f"blocks with a box of IoU >= {ENOUGH}: {_share(found, total)}"
        yield f"boxes on a block of the truth: {_share(self.matched, self.predicted)}"
        yield f"of the blocks found, named alike: {_share(self.same_kind.total(), found)}"
        for kind, count in self.blocks.most_common():
            yield (
                f"  {kind:14} {count:5}  found {_share(self.found[kind], count)}"
                f"  named alike {_share(self.same_kind[kind], self.found[kind])}"
            )


def iou(a: Box, b: Box) -> float:
    """Intersection over union of two boxes."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0.0, width) * max(0.0, height)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return shared / (sum(areas) - shared) if shared else 0.0


def score(db: Database, truth: Path) -> BoxScore:
    """Compares every `truth/<file name>/<page>.json` with the blocks of that page's current attempt."""
    total = BoxScore()
    attempts = {
        (Path(row["path"]).name, row["page"]): row for row in db.query("SELECT * FROM results ORDER BY path")
    }
    for file in sorted(truth.glob("*/*.json")):
        row = attempts.get((file.parent.name, int(file.stem)))
        if row is None or row["attempt_id"] is None or not row["width_px"]:
            total.missing_pages += 1
        wanted = [PlacedBlock(kind=b["kind"], box=tuple(b["box"])) for b in json.loads(file.read_text())]
        total.add(wanted, _blocks(db, row) if row else [])
    return total


def _blocks(db: Database, row: dict[str, object]) -> list[PlacedBlock]:
    found = db.query(
        "SELECT label, x0_px, y0_px, x1_px, y1_px FROM blocks"
        " WHERE attempt_id = ? AND x0_px IS NOT NULL ORDER BY block_index",
        [row["attempt_id"]],
    )
    width, height = row["width_px"], row["height_px"]
    assert isinstance(width, int), "a page with blocks has a size"
    assert isinstance(height, int), "a page with blocks has a size"
    across, down = 999 / width, 999 / height
    return [
        PlacedBlock(
            kind=b["label"],
            box=(b["x0_px"] * across, b["y0_px"] * down, b["x1_px"] * across, b["y1_px"] * down),
        )
        for b in found
    ]


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({part / whole:.1%})" if whole else "-"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.boxes", description=__doc__)
    parser.add_argument("db", help="what `ocrbatch run` wrote")
    parser.add_argument("truth", type=Path, help="the truth folder that ocr.training.heldout wrote")
    args = parser.parse_args()
    for line in score(open_for_reading(args.db), args.truth).lines():
        print(line)


if __name__ == "__main__":
    main()
