"""An encoder in a number format of its own, with the shipped model."""

from pathlib import Path

import pytest

from pipeline.config import sources
from pipeline.evaluate import character_edits
from pipeline.reports.progress import Silent
from pipeline.run.runner import run
from pipeline.stop import Stop
from storage.database import open_for_reading
from storage.export.rows import export_rows

TESTS = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_bfloat16_encoder_reads_for_a_float32_decoder(tmp_path: Path) -> None:
    database = str(tmp_path / "a.db")
    values = {
        "ingest": {"paths": [str(TESTS / "samples" / "letter.png")]},
        "store": {"database": database},
        "device": "cpu",
        "dtype": "float32",
        "encoder": {"dtype": "bfloat16"},
    }
    run(sources.load(None, [], [("test", values)]), Silent(), Stop())
    (row,) = export_rows(open_for_reading(database))
    truth = (TESTS / "truth" / "letter.png" / "1.txt").read_text(encoding="utf-8")
    assert row["status"] == "ok"
    assert character_edits(truth, row["text"]).rate < 0.05
