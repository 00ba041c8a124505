"""Scans are drawn with their lines where they stand; handwriting is cut out as ink, and is nothing to read."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ocr.training.lines.page_lines import HEIGHT_PX, UNKNOWN_TEXT, WIDTH_PX
from ocr.training.lines.page_streams import line_batch
from ocr.training.lines.scan_pages import Scans
from tests.ocr.training.lines.printed_lines import printed

WORDS = [
    ("first line", 60, 100, 30),
    ("a second one", 60, 200, 30),
    ("parted here", 60, 300, 30),
    ("no", 60, 400, 30),
]
PAGE = printed(WORDS, (512, 640))
KINDS = ("text", "text", "parted", "unsure")


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    index = []
    for kind, kinds in (("print", KINDS), ("handwriting", ("hand",) * 4)):
        lines = [
            [*map(float, place), of, text if of != "hand" else ""]
            for place, of, (text, *_) in zip(PAGE.places, kinds, WORDS, strict=True)
        ]
        Image.fromarray(PAGE.pixels).save(tmp_path / f"{kind}.webp", lossless=True)
        index.append(
            {"file": f"{kind}.webp", "kind": kind, "split": "train", "source": "a/b:c", "lines": lines}
        )
    (tmp_path / "index.json").write_text(json.dumps(index))
    return tmp_path


def test_no_scans(tmp_path: Path) -> None:
    none = Scans(tmp_path / "missing", "train")
    assert (none.printed, none.handwritten) == ([], [])
    assert none.handwriting(random.Random(0)) is None


def test_lines_stand_where_their_ink_is(scans: Path) -> None:
    own = Scans(scans, "train")
    assert Scans(scans, "valid").printed == []
    sizes = set()
    for seed in range(8):
        page = own.draw(random.Random(seed), 0.0)
        assert page is not None
        assert page.pixels.shape == (HEIGHT_PX, WIDTH_PX)
        assert page.texts == ("first line", "a second one")
        assert page.read_texts == ("parted here", UNKNOWN_TEXT)
        assert len(page.others) == 2  # the parted one, for the finder, and the unsure one
        sizes.add(round(float(page.places[0, 4])))
        for x0, x1, baseline, _, size in page.places.tolist():
            above = page.pixels[int(baseline - 0.3 * size), int(x0) : int(x1)]
            below = page.pixels[int(baseline + 0.6 * size), int(x0) : int(x1)]
            assert above.min() < 140 < below.min()
    assert len(sizes) > 3


def test_handwriting_is_no_text_to_find_and_none_to_read(scans: Path) -> None:
    page = Scans(scans, "train").draw(random.Random(1), 1.0)
    assert page is not None
    assert (len(page.places), len(page.others), page.read_texts) == (0, 0, ("",) * 4)
    batch = line_batch([page], {" ": 1})
    assert batch.lengths.tolist() == [0] * 4
    assert batch.labels.numel() == 0


def test_handwriting_is_cut_out_as_ink(scans: Path) -> None:
    own, rng = Scans(scans, "train"), random.Random(3)
    seen = 0
    for _ in range(10):
        found = own.handwriting(rng)
        if found is None:
            continue
        ink, baseline, size = found
        assert size == 30
        assert ink.max() > 200
        assert np.median(ink) == 0
        rows = np.flatnonzero((ink > 128).any(1))
        assert rows[0] < baseline
        seen += 1
    assert seen > 5
