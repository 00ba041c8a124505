"""What Parquet's own reader gives back is what was written."""

import io
import json
import sys
from pathlib import Path

import pytest

from storage.database import open_for_reading
from storage.errors import MissingExtraError
from storage.export import parquet
from storage.export.export_files import export_to_file
from storage.export.formats import FORMATS
from storage.export.rows import export_rows
from storage.records.store import Store
from tests.storage.export.page_rows import a_failure, a_letter, a_row
from tests.storage.sample_records import a_page, new_run


def test_rows_come_back() -> None:
    reader = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    rows = [a_letter(), a_failure(), a_row("x", 3, timings={"decode": 0.5, "render": 0.25})]
    stream = io.BytesIO()
    assert parquet.write(rows, stream) == 3
    found = reader.read_table(io.BytesIO(stream.getvalue())).to_pylist()
    assert [{**row, "timings": dict(row["timings"])} for row in found] == json.loads(json.dumps(rows))


def test_row_groups_are_bounded() -> None:
    reader = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    stream = io.BytesIO()
    assert parquet.write((a_row("x", page) for page in range(1, 601)), stream) == 600
    file = reader.ParquetFile(io.BytesIO(stream.getvalue()))
    assert [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)] == [256, 256, 88]


def test_no_pages_are_a_file_with_the_columns_alone() -> None:
    reader = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    stream = io.BytesIO()
    assert parquet.write([], stream) == 0
    found = reader.read_table(io.BytesIO(stream.getvalue()))
    assert found.num_rows == 0
    assert found.column_names == list(a_row())


def test_a_database_becomes_a_file(path: Path) -> None:
    reader = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    with Store(path) as store:
        run_id = new_run(store)
        store.record_page(run_id, a_page("Één"))
        store.record_page(run_id, a_page(None, 1))
    target = path.with_name("pages.parquet")
    with open_for_reading(str(path)) as db:
        written = export_to_file(db, FORMATS["parquet"], str(target))
        rows = list(export_rows(db, with_words=True))
    assert (written.pages, written.files) == (2, 1)
    found = reader.read_table(target).to_pylist()
    assert [{**row, "timings": dict(row["timings"])} for row in found] == rows
    assert [row["text"] for row in rows] == ["Één", None]


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="pip install pyarrow"):
        parquet.write([], io.BytesIO())
