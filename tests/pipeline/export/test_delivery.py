"""Searchable PDFs as documents end, and files that leave their folder once they were read."""

import os
from contextlib import closing
from pathlib import Path

import pymupdf
import pytest

from pipeline.cli.main import main
from pipeline.errors import ExitCode
from storage.database import open_for_reading
from tests.pipeline.conftest import MakePdf


@pytest.fixture
def inbox(tmp_path: Path, make_pdf: MakePdf) -> Path:
    """Two documents with a text of their own whose PDFs would have one name, and one that cannot be read."""
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    make_pdf(folder / "sub" / "a.pdf", ["the first document has this text"])
    make_pdf(folder / "sub" / "a", ["another one has this text instead"])
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing else")
    return folder


def run(inbox: Path, *options: str) -> int:
    database = str(inbox.parent / "a.db")
    return main(["run", str(inbox), "--db", database, "--quiet", *options])


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def text(path: Path) -> str:
    with pymupdf.open(stream=path.read_bytes()) as document:
        return str(document[0].get_text())


def test_pdfs_are_written_and_files_moved_below_folders_like_theirs(inbox: Path) -> None:
    """The target folders lie in the watched one, and are no inputs."""
    pdfs, done = inbox / "pdf", inbox / "done"
    options = ("--pdf-to", str(pdfs), "--move-to", str(done))
    assert run(inbox, *options) == ExitCode.INCOMPLETE
    names = files(pdfs)
    assert {"sub/a.pdf"} < names
    assert len(names) == 2, "two documents share no file"
    found = "\n".join(text(pdfs / name) for name in names)
    assert "the first document" in found
    assert "another one" in found
    assert files(done) == {"sub/a.pdf", "sub/a"}
    assert (inbox / "broken.pdf").exists(), "what was not read stays"
    with closing(open_for_reading(str(inbox.parent / "a.db"))) as db:
        paths = {path for (path,) in db.conn.execute("SELECT path FROM files WHERE status = 'ok'")}
    assert paths == {str(done / "sub" / "a.pdf"), str(done / "sub" / "a")}, "the database follows"


def test_a_second_document_of_the_same_name_replaces_nothing(inbox: Path, make_pdf: MakePdf) -> None:
    options = ("--pdf-to", str(inbox / "pdf"), "--move-to", str(inbox / "done"))
    run(inbox, *options)
    make_pdf(inbox / "sub" / "a.pdf", ["the scanner began its numbers anew"])
    run(inbox, *options)
    assert len(files(inbox / "pdf")) == len(files(inbox / "done")) == 3
    assert "the first document" in text(inbox / "done" / "sub" / "a.pdf")


def test_a_pdf_whose_name_would_be_too_long_has_a_shorter_one(inbox: Path, make_pdf: MakePdf) -> None:
    make_pdf(inbox / ("n" * 254), ["this name leaves no room for an ending"])
    run(inbox, "--pdf-to", str(inbox / "pdf"))
    (name,) = (name for name in files(inbox / "pdf") if name.startswith("nnn"))
    assert len(name) == 255
    assert "no room" in text(inbox / "pdf" / name)


def test_names_that_are_not_utf8_are_kept(inbox: Path) -> None:
    name = os.fsdecode(b"Stra\xdfe/M\xfcller.pdf")
    (inbox / name).parent.mkdir()
    (inbox / "sub" / "a.pdf").rename(inbox / name)
    run(inbox, "--pdf-to", str(inbox / "pdf"), "--move-to", str(inbox / "done"))
    assert files(inbox / "pdf") == {name, "sub/a.pdf"}
    assert "the first document" in text(inbox / "pdf" / name)
    assert files(inbox / "done") == {name, "sub/a"}


def test_a_run_that_reads_nothing_writes_only_what_is_not_there(inbox: Path) -> None:
    run(inbox)
    pdfs = inbox.parent / "pdf"
    run(inbox, "--pdf-to", str(pdfs))
    assert len(files(pdfs)) == 2
    before = {name: (pdfs / name).stat().st_mtime_ns for name in files(pdfs)}
    run(inbox, "--pdf-to", str(pdfs))
    assert {name: (pdfs / name).stat().st_mtime_ns for name in files(pdfs)} == before
