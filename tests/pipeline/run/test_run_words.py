"""A model that says nothing of places: its words get boxes where the page's layer or the line reader has them."""

from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from pipeline.config import sources
from storage.database import open_for_reading
from storage.export.rows import export_rows
from tests.pipeline.checkpoints import READS_TEXT, save_reader
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import run_quietly

PLACES = {"Greenfield": (100, 200), "Bakery": (330, 200)}


def letter(path: Path) -> dict[str, tuple[int, int, int, int]]:
    """Saves a picture of a page with a few lines, and returns the boxes of the words of the first."""
    image = Image.new("L", (850, 1100), 255)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(40)
    for name, place in PLACES.items():
        draw.text(place, name, fill=0, font=font)
    for row in range(4):
        draw.text((100, 300 + 60 * row), "is open on all days of the week", fill=0, font=font)
    image.save(path)
    return {
        name: tuple(map(round, draw.textbbox(place, name, font=font)))  # type: ignore[misc]
        for name, place in PLACES.items()
    }


def test_words_of_scans_and_of_pdfs_get_boxes_and_those_not_on_the_page_none(
    batch: Batch, tmp_path: Path
) -> None:
    """The model writes four words, of which two stand on the pages."""
    true = letter(batch.docs / "scan.png")
    batch.pdf("digital.pdf", ["Greenfield Bakery is open on all days of the week and at night"])
    model = save_reader(tmp_path / "reader", ("Greenfield", "Bakery"))
    on = ["words=auto", "text_layer=fallback", "threads=1", "device=cpu", "ladder.rungs=[]"]
    values = {
        "ingest": {"paths": [str(batch.docs)]},
        "store": {"database": batch.database},
        "model": str(model),
    }
    summary = run_quietly(sources.load(None, [*READS_TEXT, *on], [("test", values)]))

    assert "words" in [stage.name for stage in summary.stages]
    with closing(open_for_reading(batch.database)) as db:
        found = {Path(row["path"]).name: dict(row) for row in export_rows(db, with_words=True)}
    for row in found.values():
        names = [word["text"] for word in row["words"]]
        assert names == ["Greenfield", "Greenfield", "Bakery", "Greenfield"]
        assert [word["box"] is not None for word in row["words"]] == [False, True, True, False]
    scan = {word["text"]: word["box"] for word in found["scan.png"]["words"] if word["box"]}
    for name, box in true.items():
        assert scan[name] == pytest.approx(box, abs=12)
    assert "words" in found["scan.png"]["timings"]
    assert "words" not in found["digital.pdf"]["timings"], "it has a layer"
    assert found["digital.pdf"]["timings"]["layer"] > 0
