"""Searchable PDFs of a database: made from the files that were read, or left out and named."""

import shutil
from pathlib import Path

import pymupdf
import pytest

from pipeline.cli.main import main
from pipeline.errors import ExitCode

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of documents, and the database that they were read into."""
    folder = tmp_path_factory.mktemp("in")
    for name in ("scanned.pdf", "letter.png", "report.pdf"):
        shutil.copy(SAMPLES / name, folder / name)
    database = folder.with_name("read.db")
    code = main(
        ["run", str(folder), "--db", str(database), "--quiet", "--device", "cpu", "--set", "threads=1"]
    )
    assert code == ExitCode.OK
    return folder, database


def exported(database: Path, out: Path) -> None:
    assert main(["export", "--db", str(database), "--format", "pdf", "-o", str(out)]) == ExitCode.OK


def test_pages_that_were_read_have_their_words(
    read: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, database = read
    exported(database, tmp_path / "out")
    assert capsys.readouterr().err == f"exported: 6 pages in 3 files, {tmp_path / 'out'}\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "letter.png.pdf",
        "report.pdf",
        "scanned.pdf",
    ]
    with pymupdf.open(tmp_path / "out" / "letter.png.pdf") as letter:
        assert "Greenfield Bakery" in letter[0].get_text()
    with (
        pymupdf.open(folder / "scanned.pdf") as before,
        pymupdf.open(tmp_path / "out" / "scanned.pdf") as after,
    ):
        assert before[0].get_text().split() == []
        assert len(after[0].get_text().split()) > 50
        assert before[0].get_pixmap(dpi=50).samples == after[0].get_pixmap(dpi=50).samples


def test_a_document_with_a_text_of_its_own_is_copied(read: tuple[Path, Path], tmp_path: Path) -> None:
    folder, database = read
    exported(database, tmp_path)
    assert (tmp_path / "report.pdf").read_bytes() == (folder / "report.pdf").read_bytes()


def test_a_file_that_changed_or_went_is_left_out_and_named(
    read: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, database = read
    letter, scanned = folder / "letter.png", folder / "scanned.pdf"
    content = letter.read_bytes()
    try:
        letter.write_bytes(content + b"\0")
        scanned.rename(folder / "gone")
        exported(database, tmp_path)
    finally:
        letter.write_bytes(content)
        (folder / "gone").rename(scanned)
    assert [path.name for path in tmp_path.iterdir()] == ["report.pdf"]
    first, *left_out = capsys.readouterr().err.splitlines()
    assert first == f"exported: 3 pages in 1 file, {tmp_path}; documents left out: 2"
    assert f"left out: {letter}: has changed since it was read: run again, then export" in left_out
    assert f"left out: {scanned}: cannot be read any more: No such file or directory" in left_out


def test_documents_are_not_written_over(read: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder, database = read
    content = (folder / "report.pdf").read_bytes()
    assert main(["export", "--db", str(database), "--format", "pdf", "-o", str(folder)]) == ExitCode.FATAL
    assert "is one of the documents; choose another place" in capsys.readouterr().err
    assert (folder / "report.pdf").read_bytes() == content
    (folder / "letter.png.pdf").unlink(missing_ok=True)
