"""What Parquet's own reader gives back is what was written."""

import io
import json
import sys

import pytest

from storage.errors import MissingExtraError
from storage.export import parquet
from tests.storage.export.page_rows import a_failure, a_letter, a_row


def test_rows_come_back() -> None:
    reader = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    rows = [a_letter(), a_failure(), a_row("x", 3, timings={"decode": 0.5, "render": 0.25})]
    stream = io.BytesIO()
    parquet.write(rows, stream)
    found = reader.read_table(io.BytesIO(stream.getvalue())).to_pylist()
    assert [{**row, "timings": dict(row["timings"])} for row in found] == json.loads(json.dumps(rows))


def test_row_groups_are_bounded() -> None:
    reader = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    stream = io.BytesIO()
    parquet.write((a_row("x", page) for page in range(1, 601)), stream)
    file = reader.ParquetFile(io.BytesIO(stream.getvalue()))
    assert [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)] == [256, 256, 88]


def test_no_pages_are_a_file_with_the_columns_alone() -> None:
    reader = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    stream = io.BytesIO()
    parquet.write([], stream)
    found = reader.read_table(io.BytesIO(stream.getvalue()))
    assert found.num_rows == 0
    assert found.column_names == list(a_row())


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="pip install pyarrow"):
        parquet.write([], io.BytesIO())
