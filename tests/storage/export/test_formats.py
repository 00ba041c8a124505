"""Every format writes every page; a file appears whole or not at all, and never over the database."""

import io
import json
import os
import stat
import threading
from pathlib import Path

import pytest

from storage.database import open_for_reading
from storage.errors import ExportPathError
from storage.export import formats
from storage.export.formats import FORMATS, export, export_to, export_to_file
from storage.records.store import Store
from storage.types import PageError
from tests.storage.sample_records import SHA_A, SHA_B, a_file, a_page, new_run


@pytest.fixture
def filled(path: Path) -> Path:
    with Store(path) as store:
        run_id = new_run(store, a_file("a.pdf"), a_file("b\n.pdf", SHA_B))
        store.record_page(run_id, a_page("Één\u2028one\n", markdown="# Één\n\none\n"))
        error = PageError(stage="render", category="crash", message="bad --> <b>\nline two")
        store.record_page(run_id, a_page(None, 1, error=error))
        store.record_page(run_id, a_page("", 2, status="blank"))
        store.record_page(run_id, a_page("cut", 0, status="truncated", sha256=SHA_B))
    return path


def written(path: Path, format_name: str) -> str:
    stream = io.StringIO()
    with open_for_reading(str(path)) as db:
        assert export(db, format_name, stream) == 4
    return stream.getvalue()


def test_jsonl_is_one_object_a_line(filled: Path) -> None:
    lines = written(filled, "jsonl").split("\n")
    assert lines.pop() == ""
    pages = [json.loads(line) for line in lines]
    assert [(page["path"], page["page"], page["status"]) for page in pages] == [
        ("a.pdf", 1, "ok"),
        ("a.pdf", 2, "failed"),
        ("a.pdf", 3, "blank"),
        ("b\n.pdf", 1, "truncated"),
    ]
    assert pages[0]["text"] == "Één\u2028one\n"
    assert "Één" in lines[0]
    assert pages[0]["sha256"] == SHA_A
    fields = "path sha256 page status text markdown confidence blocks timings error"
    fields += " source rung rotation_deg layer_agreement script doubt superseded"
    fields += " words width_px height_px dpi corrected_by corrected_at"
    assert list(pages[0]) == fields.split()


def test_markdown(filled: Path) -> None:
    assert written(filled, "md") == (
        "# a.pdf\n"
        "\n<!-- page 1 -->\n\n# Één\n\none\n"
        "\n<!-- page 2: failed: render: crash: bad - -&gt; <b&gt; line two -->\n"
        "\n<!-- page 3: blank -->\n"
        "\n# b\\n.pdf\n"
        "\n<!-- page 1: truncated -->\n\ncut\n"
    )


def test_text(filled: Path) -> None:
    assert written(filled, "txt") == (
        "==== a.pdf, page 1 ====\nÉén\u2028one\n"
        "\n==== a.pdf, page 2 ====\n[failed: render: crash: bad --> <b> line two]\n"
        "\n==== a.pdf, page 3 ====\n[blank]\n"
        "\n==== b\\n.pdf, page 1 ====\n[truncated]\ncut\n"
    )


@pytest.mark.parametrize(
    ("format_name", "mark"),
    [
        ("jsonl", '"status": "doubtful", "text": "Pycckuu"'),
        ("md", "<!-- page 1: doubtful: confidence 0.11 below 0.35 - -&gt; -->\n\nPycckuu\n"),
        ("txt", "[doubtful: confidence 0.11 below 0.35 -->]\nPycckuu\n"),
    ],
)
def test_every_format_marks_a_doubtful_page_and_keeps_its_text(
    store: Store, path: Path, format_name: str, mark: str
) -> None:
    doubt = "confidence 0.11 below 0.35 -->"
    store.record_page(new_run(store), a_page("Pycckuu", status="doubtful", confidence=0.11, doubt=doubt))
    stream = io.StringIO()
    with open_for_reading(str(path)) as db:
        assert export(db, format_name, stream) == 1
    assert mark in stream.getvalue()
    assert format_name != "jsonl" or json.loads(stream.getvalue())["doubt"] == doubt


@pytest.mark.parametrize("format_name", FORMATS)
def test_an_empty_database_exports_nothing(store: Store, path: Path, format_name: str) -> None:
    stream = io.StringIO()
    with open_for_reading(str(path)) as db:
        assert export(db, format_name, stream) == 0
    assert stream.getvalue() == ""


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_file_holds_what_a_stream_gets(filled: Path, format_name: str) -> None:
    target = filled.with_name("out")
    with open_for_reading(str(filled)) as db:
        assert export_to_file(db, format_name, str(target)) == 4
    assert target.read_bytes().decode() == written(filled, format_name)
    assert sorted(os.listdir(filled.parent)) == sorted([filled.name, "out"])


def test_a_file_is_replaced_whole_or_not_at_all(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = filled.with_name("out")
    target.write_text("earlier export")
    target.chmod(0o640)

    def broken(rows: object, stream: io.TextIOBase) -> int:
        stream.write("half")
        raise KeyboardInterrupt

    with open_for_reading(str(filled)) as db:
        monkeypatch.setitem(formats.FORMATS, "txt", broken)
        with pytest.raises(KeyboardInterrupt):
            export_to_file(db, "txt", str(target))
        assert target.read_text() == "earlier export"
        assert [name for name in os.listdir(filled.parent) if name.endswith(".part")] == []
        export_to_file(db, "md", str(target))
    assert target.read_text().startswith("# a.pdf")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", ".lock"])
def test_the_database_is_never_overwritten(filled: Path, suffix: str) -> None:
    content = filled.read_bytes()
    with open_for_reading(str(filled)) as db, pytest.raises(ExportPathError, match="is the database"):
        export_to_file(db, "txt", str(filled) + suffix)
    assert filled.read_bytes() == content


def test_nor_under_another_name(filled: Path) -> None:
    link, hard = filled.with_name("link"), filled.with_name("hard")
    link.symlink_to(filled)
    hard.hardlink_to(filled)
    for name in (link, hard):
        with open_for_reading(str(filled)) as db, pytest.raises(ExportPathError, match="is the database"):
            export_to_file(db, "txt", str(name))


def test_where_nothing_can_be_written_is_named(filled: Path) -> None:
    with open_for_reading(str(filled)) as db:
        for target in (filled.parent / "no" / "out", filled.parent):
            with pytest.raises(
                ExportPathError, match=f"{target}: cannot write the export: .*; choose another -o"
            ):
                export_to_file(db, "txt", str(target))


def test_a_pipe_is_written_to_and_not_replaced(filled: Path) -> None:
    pipe = filled.with_name("pipe")
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    with open_for_reading(str(filled)) as db:
        export_to_file(db, "txt", str(pipe))
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
        assert export_to(db, "txt", f"{tmp_path / 'out'}/") == 3
        with pytest.raises(ExportPathError, match=r"a\.pdf\.txt: cannot write the export: Not a directory"):
            export_to(db, "txt", f"{path}/")
    found = {str(file.relative_to(tmp_path)): file for file in (tmp_path / "out").rglob("*.txt")}
    assert sorted(found) == ["out/x/a.pdf.txt", "out/y/a.pdf.txt"]
    assert "page 1" in found["out/x/a.pdf.txt"].read_text(encoding="utf-8")
