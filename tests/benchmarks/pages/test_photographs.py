"""Photographs are taken out of the packages' files and put on sheets as they are."""

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from storage.records.store import Store
from tests.benchmarks.pages import photographs
from tests.benchmarks.pages.photographs import held, on_sheet
from tests.storage.sample_records import SETTINGS, a_file, a_page, a_run


def picture(width: int, height: int, form: str) -> bytes:
    noise = np.random.default_rng(width).integers(0, 256, (height, width, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, form)
    return file.getvalue()


def test_the_pictures_of_an_archive_are_found_between_other_bytes() -> None:
    data = (
        b"qres" + picture(320, 240, "WEBP") + b"// RIFF" + picture(64, 64, "WEBP") + picture(210, 260, "JPEG")
    )
    assert [found.size for found in held(data)] == [(320, 240), (210, 260)], "icons are left out"


def test_a_photograph_stands_in_the_middle_of_its_sheet() -> None:
    sheet = on_sheet(Image.new("RGB", (400, 600), "white"), Image.new("RGB", (60, 30), "black"))
    rows, columns = np.nonzero(np.asarray(sheet)[..., 0] == 0)
    assert (columns.min(), columns.max()) == (50, 349)
    assert (rows.min(), rows.max()) == (225, 374)


def test_what_became_of_them_is_counted_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = tmp_path / "run.sqlite"
    with Store(database) as store:
        run_id = store.start_run(a_run())
        for name, text, status in (("paper-cat", "", "blank"), ("paper-dog", "W0OF", "ok")):
            sha256 = hashlib.sha256(name.encode()).hexdigest()
            file = a_file(f"/sheets/{name}.png", sha256=sha256, kind="image", num_pages=1)
            store.record_file(run_id, file)
            store.record_page(run_id, a_page(text, sha256=sha256, status=status, settings_hash=SETTINGS))
    assert photographs.main([str(tmp_path), "--database", str(database)]) == 0
    told, *table = capsys.readouterr().out.splitlines()
    assert told.split() == ["paper-dog", "ok", "'W0OF'"]
    assert [line.split() for line in table] == [["paper", "1", "blank,", "1", "ok"]]
