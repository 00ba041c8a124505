"""A file appears whole or not at all, and never over the database or a document."""

import io
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from storage.database import open_for_reading
from storage.errors import ExportPathError, NotExportedError
from storage.export.export_files import export_to_file, export_to_folder
from storage.export.formats import FORMATS, export
from storage.records.store import Store
from tests.storage.sample_records import SHA_A, SHA_B, a_file, a_page, new_run

TEXT = FORMATS["txt"]
ONE_FILE = [name for name, form in FORMATS.items() if form.one_file == "all" and not form.is_binary]


@pytest.fixture
def filled(path: Path) -> Path:
    with Store(path) as store:
        run_id = new_run(store, a_file("a.pdf"), a_file("b.pdf", SHA_B))
        for index in range(3):
            store.record_page(run_id, a_page(f"Één {index}", index))
        store.record_page(run_id, a_page("cut", 0, status="truncated", sha256=SHA_B))
    return path


def written(path: Path, format_name: str) -> str:
    stream = io.StringIO()
    with open_for_reading(str(path)) as db:
        assert export(db, FORMATS[format_name], stream) == 4
    return stream.getvalue()


@pytest.mark.parametrize("format_name", ONE_FILE)
def test_a_file_holds_what_a_stream_gets(filled: Path, format_name: str) -> None:
    target = filled.with_name("out")
    with open_for_reading(str(filled)) as db:
        assert export_to_file(db, FORMATS[format_name], str(target)).pages == 4
    assert target.read_bytes().decode() == written(filled, format_name)
    assert sorted(os.listdir(filled.parent)) == sorted([filled.name, "out"])


def test_a_file_is_replaced_whole_or_not_at_all(filled: Path) -> None:
    target = filled.with_name("out")
    target.write_text("earlier export")
    target.chmod(0o640)

    def broken(rows: object, stream: io.TextIOBase) -> None:
        stream.write("half")
        raise KeyboardInterrupt

    with open_for_reading(str(filled)) as db:
        with pytest.raises(KeyboardInterrupt):
            export_to_file(db, replace(TEXT, write=broken), str(target))
        assert target.read_text() == "earlier export"
        assert [name for name in os.listdir(filled.parent) if name.endswith(".part")] == []
        export_to_file(db, FORMATS["md"], str(target))
    assert target.read_text().startswith("# a.pdf")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", ".lock"])
def test_the_database_is_never_overwritten(filled: Path, suffix: str) -> None:
    content = filled.read_bytes()
    with open_for_reading(str(filled)) as db, pytest.raises(ExportPathError, match="is the database"):
        export_to_file(db, TEXT, str(filled) + suffix)
    assert filled.read_bytes() == content


def test_nor_under_another_name(filled: Path) -> None:
    link, hard = filled.with_name("link"), filled.with_name("hard")
    link.symlink_to(filled)
    hard.hardlink_to(filled)
    for name in (link, hard):
        with open_for_reading(str(filled)) as db, pytest.raises(ExportPathError, match="is the database"):
            export_to_file(db, TEXT, str(name))


def test_where_nothing_can_be_written_is_named(filled: Path) -> None:
    with open_for_reading(str(filled)) as db:
        target = filled.parent / "no" / "out"
        with pytest.raises(
            ExportPathError, match=f"{target}: cannot write the export: .*; choose another place"
        ):
            export_to_file(db, TEXT, str(target))


def test_a_pipe_is_written_to_and_not_replaced(filled: Path) -> None:
    pipe = filled.with_name("pipe")
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    with open_for_reading(str(filled)) as db:
        export_to_file(db, TEXT, str(pipe))
    reader.join(timeout=10)
    assert read == [written(filled, "txt")]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_gets_a_file_for_each_document_below_the_folder_they_share(
    path: Path, tmp_path: Path
) -> None:
    with Store(path) as store:
        run_id = new_run(store, a_file("/in/x/a.pdf"), a_file("/in/y/a.pdf", SHA_B))
        for index, sha256 in ((0, SHA_A), (1, SHA_A), (0, SHA_B)):
            store.record_page(run_id, a_page(f"page {index}", index, sha256=sha256))
    with open_for_reading(str(path)) as db:
        done = export_to_folder(db, TEXT, str(tmp_path / "out"))
        assert (done.pages, done.files, done.left_out) == (3, 2, [])
        with pytest.raises(ExportPathError, match=r"test\.db: is a file; .*name a folder"):
            export_to_folder(db, TEXT, str(path))
    found = {str(file.relative_to(tmp_path)): file for file in (tmp_path / "out").rglob("*.txt")}
    assert sorted(found) == ["out/x/a.pdf.txt", "out/y/a.pdf.txt"]
    assert "page 1" in found["out/x/a.pdf.txt"].read_text(encoding="utf-8")


def test_a_format_of_pages_has_a_file_for_each(filled: Path, tmp_path: Path) -> None:
    with open_for_reading(str(filled)) as db:
        done = export_to_folder(db, FORMATS["page"], str(tmp_path / "out"))
    assert (done.pages, done.files) == (4, 4)
    assert sorted(os.listdir(tmp_path / "out")) == [
        "a.pdf.0001.page.xml", "a.pdf.0002.page.xml", "a.pdf.0003.page.xml", "b.pdf.0001.page.xml",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("txt", str, "is a folder; name a file, or use --out-dir"),
        ("txt", "{}/".format, "is a folder; name a file, or use --out-dir"),
        ("hocr", lambda folder: f"{folder}/x.hocr", "a file for each document; name a folder with --out-dir"),
        ("page", lambda folder: f"{folder}/x.xml", "a file for each page; name a folder with --out-dir"),
    ],
)
def test_a_place_of_the_wrong_kind_is_told_the_right_option(
    filled: Path, name: str, place: Callable[[Path], str], message: str
) -> None:
    with open_for_reading(str(filled)) as db, pytest.raises(ExportPathError, match=message):
        export_to_file(db, FORMATS[name], place(filled.parent))


def test_a_document_is_never_overwritten(path: Path, tmp_path: Path) -> None:
    document = tmp_path / "in" / "a.pdf"
    document.parent.mkdir()
    document.write_bytes(b"%PDF-1.7")
    with Store(path) as store:
        store.record_page(new_run(store, a_file(str(document))), a_page("text"))
    searchable = replace(TEXT, ending=".pdf", one_file="document")
    with open_for_reading(str(path)) as db:
        with pytest.raises(ExportPathError, match=r"a\.pdf: is one of the documents"):
            export_to_file(db, TEXT, str(document))
        with pytest.raises(ExportPathError, match=r"a\.pdf: is one of the documents"):
            export_to_folder(db, searchable, str(document.parent))
        assert export_to_folder(db, searchable, str(tmp_path / "out")).files == 1
    assert document.read_bytes() == b"%PDF-1.7"
    assert (tmp_path / "out" / "a.pdf").exists()  # not a.pdf.pdf


def test_a_document_that_a_format_cannot_hold_is_left_out_and_named(filled: Path, tmp_path: Path) -> None:
    def write(rows: object, stream: io.TextIOBase) -> None:
        stream.write("half")
        raise NotExportedError("a.pdf: has changed since it was read")

    with open_for_reading(str(filled)) as db:
        done = export_to_folder(db, replace(TEXT, write=write), str(tmp_path / "out"))
    assert (done.pages, done.files, len(done.left_out)) == (0, 0, 2)
    assert os.listdir(tmp_path / "out") == []
