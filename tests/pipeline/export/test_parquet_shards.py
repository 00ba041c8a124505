from pathlib import Path

import pytest

from pipeline.export.parquet_shards import export_shards
from storage.database import open_for_reading
from storage.errors import ExportPathError
from storage.export.export_files import Written
from storage.records.store import Store
from tests.pipeline.ingest.objects.faulty_store import FaultyStore, fresh
from tests.storage.sample_records import a_file, a_page, new_run

pytest.importorskip("pyarrow", reason="needs the extra parquet")


def export(database: Path, folder: str, pages: int = 2) -> Written:
    with open_for_reading(str(database)) as db:
        return export_shards(db, folder, pages)


def texts(folder: Path) -> list[list[str | None]]:
    from pyarrow import parquet

    assert all(path.suffix == ".parquet" for path in folder.iterdir())
    return [parquet.read_table(path)["text"].to_pylist() for path in sorted(folder.iterdir())]


def store_pages(database: Path, *pages: tuple[str, int]) -> None:
    with Store(database) as store:
        run_id = new_run(store, a_file(num_pages=9))
        for text, index in pages:
            store.record_page(run_id, a_page(text, index))


def test_what_is_new_is_added(tmp_path: Path) -> None:
    database, folder = tmp_path / "a.db", tmp_path / "out"
    store_pages(database, ("c", 2), ("a", 0), ("b", 1))
    assert (export(database, str(folder)).pages, texts(folder)) == (3, [["c", "a"], ["b"]])
    assert export(database, str(folder)).files == 0
    store_pages(database, ("d", 3), ("A", 0))
    assert export(database, str(folder)).pages == 2
    assert texts(folder) == [["c", "a"], ["b"], ["d", "A"]]


def test_shards_go_to_a_store_too(tmp_path: Path) -> None:
    fresh()
    store_pages(tmp_path / "a.db", ("a", 0), ("b", 1), ("c", 2))
    assert export(tmp_path / "a.db", "faulty://box/out").files == 2
    assert export(tmp_path / "a.db", "faulty://box/out").files == 0
    assert FaultyStore().find("faulty://box") == [
        "/box/out/pages-000001.parquet",
        "/box/out/pages-000002.parquet",
    ]


def test_shards_of_another_database_are_not_added_to(tmp_path: Path) -> None:
    store_pages(tmp_path / "a.db", ("a", 0), ("b", 1))
    export(tmp_path / "a.db", str(tmp_path / "out"))
    store_pages(tmp_path / "b.db", ("a", 0))
    with pytest.raises(ExportPathError, match="not of this database"):
        export(tmp_path / "b.db", str(tmp_path / "out"))
