"""Pages that were corrected are trained on: with the text that counts, from a file that is still what was read."""

import hashlib
from pathlib import Path

import pytest
from PIL import Image

from ocr.training.finetune.__main__ import arguments
from ocr.training.finetune.corrected_pages import find_corrected
from ocr.training.finetune.pairs import PairsError, page_image
from storage.database import open_for_writing
from storage.records.corrections import Correction, correct, withdraw
from storage.records.store import Store
from tests.storage.sample_records import a_file, a_page, a_run

NAMES = ("read.png", "fixed.png", "turned.png", "gone.png", "changed.png", "withdrawn.png")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A page a file; all but the first are corrected."""
    path = tmp_path / "results.db"
    with Store(str(path)) as store:
        run = store.start_run(a_run())
        for number, name in enumerate(NAMES):
            Image.new("RGB", (90, 40 + number), "white").save(tmp_path / name)
            sha256 = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
            store.record_file(run, a_file(str(tmp_path / name), sha256, kind="image", num_pages=1))
            store.record_page(run, a_page("as read", sha256=sha256, rotation_deg=90 * (name == "turned.png")))
    db = open_for_writing(str(path))
    for number in range(2, len(NAMES) + 1):
        correct(db, number, Correction(text=f"page {number}  \nas it is\n", made_by="ada"), attempt_id=number)
    withdraw(db, len(NAMES))
    db.close()
    (tmp_path / "gone.png").unlink()
    (tmp_path / "changed.png").write_bytes(b"other")
    return path


def test_a_corrected_page_is_paired_with_its_text(database: Path, tmp_path: Path) -> None:
    (pair,), left_out = find_corrected(database)
    assert (pair.file, pair.page_index, pair.text) == (tmp_path / "fixed.png", 0, "page 2\nas it is")
    assert page_image(pair).pixels.shape == (41, 90, 3)
    reasons = {Path(item.name.split(",")[0]).name: item.reason for item in left_out}
    assert set(reasons) == {"turned.png", "gone.png", "changed.png"}
    assert "turned" in reasons["turned.png"]
    assert (
        reasons["changed.png"]
        == reasons["gone.png"]
        == "its file is gone, or has other content than was read"
    )


def test_what_is_no_such_database_is_said(tmp_path: Path) -> None:
    with pytest.raises(PairsError, match="no such database"):
        find_corrected(tmp_path / "nothing.db")
    (tmp_path / "text.db").write_text("no database")
    with pytest.raises(PairsError, match="not a database"):
        find_corrected(tmp_path / "text.db")


def test_without_corrections_there_is_nothing_to_train_on(database: Path) -> None:
    db = open_for_writing(str(database))
    withdraw(db, 2)
    db.close()
    with pytest.raises(PairsError, match="no corrected page can be used"):
        find_corrected(database)


def test_a_folder_or_a_database_is_named() -> None:
    assert arguments(["--from-db", "a.db", "--out", "m"]).from_db == Path("a.db")
    for wrong in (["--out", "m"], ["pages", "--from-db", "a.db", "--out", "m"]):
        with pytest.raises(SystemExit):
            arguments(wrong)
