"""Searchable PDFs of a database: made from the files that were read, or left out and named."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pymupdf
import pytest

from pipeline.cli.main import main
from pipeline.errors import ExitCode
from pipeline.export import searchable_export

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


def exported(database: Path, out: Path, *more: str) -> None:
    assert main(["export", "--db", str(database), "--format", "pdf", "-o", str(out), *more]) == ExitCode.OK


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


@pytest.mark.skipif(not find_spec("jsonschema"), reason="needs the extra pdfa")
@pytest.mark.parametrize("with_ghostscript", [False, True])
def test_pdfa_if_so_asked(
    read: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    with_ghostscript: bool,
) -> None:
    """Fonts that the check does not know go to Ghostscript; where there is none, the line names it."""
    if with_ghostscript and not searchable_export.has_ghostscript():
        pytest.skip("needs Ghostscript")
    if not with_ghostscript:
        monkeypatch.setenv("PATH", "")
    exported(read[1], tmp_path, "--pdfa")
    made = sorted(path.name for path in tmp_path.iterdir())
    errors = capsys.readouterr().err
    if with_ghostscript:
        assert made == ["letter.png.pdf", "report.pdf", "scanned.pdf"]
    else:
        assert made == ["letter.png.pdf", "scanned.pdf"]
        assert "report.pdf: cannot be made a PDF/A: " in errors
        assert "Ghostscript may help: apt install ghostscript" in errors
    for name in made:
        with pymupdf.open(tmp_path / name) as document:
            assert "pdfaid:part" in document.get_xml_metadata()
            assert document[0].get_text().split()


def test_pdfa_is_refused_where_it_cannot_be(
    read: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ["export", "--db", str(read[1]), "-o", str(tmp_path / "out"), "--pdfa", "--format"]
    assert main([*command, "md"]) == ExitCode.USAGE
    assert "--pdfa is of --format pdf only" in capsys.readouterr().err
    monkeypatch.setattr(searchable_export, "_PDFA_MODULES", ("no_such_module",))
    assert main([*command, "pdf"]) == ExitCode.FATAL
    assert "pip install 'pikepdf[pdfa]'" in capsys.readouterr().err


def test_names_in_any_encoding_are_read_found_again_and_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As bytes that are no UTF-8, as letters that look like their escape, and of 255 bytes."""
    folder, database = tmp_path / "in", str(tmp_path / "odd.db")
    folder.mkdir()
    names = [
        "caf\udce9.pdf", "caf\\udce9.pdf", "\udc83^.pdf", "m" * 251 + ".pdf", "\udce9" * 251 + ".pdf",
        "z.pdf",
    ]  # fmt: skip
    for name in names:
        with pymupdf.open() as document:
            page = document.new_page()
            page.insert_text((72, 100), f"Letter {names.index(name)} to the mayor of the town.")
            page.insert_text((72, 120), "It has a second line, so that there is a little more of it.")
            (folder / name).write_bytes(document.tobytes())
    run = ["run", str(folder), "--db", database, "--device", "cpu", "--log-file", str(tmp_path / "log")]
    assert main(run) == ExitCode.OK
    assert "6 embedded" in capsys.readouterr().out
    assert main(run) == ExitCode.OK
    assert "pages read before: 6" in capsys.readouterr().out
    assert main(["verify", "--db", database]) == ExitCode.OK
    assert "no problem" in capsys.readouterr().out
    assert main(["run", str(folder), "--db", database, "--plan", "--json"]) == ExitCode.OK
    assert main(["status", "--db", database, "--files", "--all"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "/caf\\udce9.pdf" in shown
    shown.encode()
    assert main(["report", "--db", database, "-o", str(tmp_path / "run.html")]) == ExitCode.OK
    exported(Path(database), tmp_path / "out")
    said = capsys.readouterr().err
    assert "6 pages in 6 files" in said
    assert "/caf\\udce9.pdf: caf\\udce9.pdf\n" in said
    texts = []
    for path in sorted((tmp_path / "out").iterdir()):
        with pymupdf.open(path) as document:
            texts.append(document[0].get_text())
    assert sorted(text.split()[1] for text in texts) == ["0", "1", "2", "3", "4", "5"]
