import json
from pathlib import Path

import pytest

from ocr.types import Block
from storage.database import open_for_reading
from storage.records.store import Store
from tests.benchmarks.layout.boxes import BoxScore, PlacedBlock, iou, score
from tests.storage.sample_records import a_file, a_page, new_run


def test_iou_of_boxes() -> None:
    assert iou((0, 0, 10, 10), (0, 0, 10, 10)) == 1.0
    assert iou((0, 0, 10, 10), (0, 5, 10, 15)) == pytest.approx(1 / 3)
    assert iou((0, 0, 10, 10), (10, 0, 20, 10)) == 0.0


def test_blocks_are_found_by_the_best_box() -> None:
    total = BoxScore()
    truth = [
        PlacedBlock(box=(0, 0, 100, 100)),
        PlacedBlock(box=(0, 200, 100, 300)),
    ]
    read = [
        PlacedBlock(box=(0, 0, 100, 60)),
        PlacedBlock(box=(0, 0, 100, 98)),
        PlacedBlock(box=(0, 500, 100, 600)),
    ]
    total.add(truth, read)
    assert (total.blocks, total.found) == (2, 1)
    assert (total.predicted, total.matched) == (3, 2)


def test_blocks_read_as_one_are_told_from_those_that_came_apart() -> None:
    total = BoxScore()
    truth = [
        PlacedBlock(box=(0, 0, 100, 100), text="The first paragraph of all."),
        PlacedBlock(box=(0, 200, 100, 300), text="Another one, and placed badly."),
        PlacedBlock(box=(0, 400, 100, 500), text="one two three four"),
        PlacedBlock(box=(0, 600, 100, 700)),
    ]
    read = [
        PlacedBlock(box=(0, 0, 100, 90), text="The frst paragraph\nof all."),
        PlacedBlock(box=None, text="Another one, and placed badly"),
        PlacedBlock(box=(0, 400, 100, 440), text="one two"),
        PlacedBlock(box=(0, 440, 100, 500), text="three four"),
    ]
    total.add(truth, read)
    assert (total.whole, total.whole_found) == (2, 1)
    assert (total.found, total.predicted) == (2, 3)
    assert "of the 2 read as one block, its box: 1/2 (50.0%)" in list(total.lines())


def test_truth_is_compared_with_what_was_stored(tmp_path: Path) -> None:
    page = a_page(
        "x", page_index=0, width_px=1000, height_px=2000,
        blocks=(Block(label="text", text="x", box_px=(100, 200, 500, 400)),),
    )  # fmt: skip
    with Store(tmp_path / "read.db") as store:
        store.record_page(new_run(store, a_file("pages/one.pdf")), page)
    folder = tmp_path / "truth" / "one.pdf"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text(json.dumps([{"box": [100, 100, 500, 200], "text": "x"}]))
    (folder / "2.json").write_text(json.dumps([{"box": [0, 0, 9, 9], "text": "y"}]))
    result = score(open_for_reading(str(tmp_path / "read.db")), tmp_path / "truth")
    assert (result.pages, result.missing_pages, result.found, result.blocks) == (2, 1, 1, 2)
