"""Figures are cut out of the documents that were read, by the command that people use; a changed one has none."""

import hashlib
from pathlib import Path

import pymupdf
import pytest
from PIL import Image

from ocr.types import Block
from pipeline.cli.main import main
from pipeline.errors import ExitCode
from storage.records.store import Store
from tests.storage.sample_records import a_file, a_page, new_run


@pytest.fixture
def read(tmp_path: Path) -> Path:
    """The database of a PDF whose second page has a blue figure, and of a picture with a red one."""
    folder = tmp_path / "in"
    folder.mkdir()
    with pymupdf.open() as document:
        document.new_page(width=144, height=288)
        document.new_page(width=144, height=288).draw_rect(
            (36, 72, 108, 144), fill=(0, 0, 1), color=(0, 0, 1)
        )
        document.save(folder / "a.pdf")
    picture = Image.new("RGB", (200, 100), "white")
    picture.paste("red", (100, 20, 180, 80))
    picture.save(folder / "b.png")
    database = tmp_path / "read.db"
    with Store(database) as store:
        hashes = {
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("a.pdf", "b.png")
        }
        run_id = new_run(
            store,
            a_file(str(folder / "a.pdf"), hashes["a.pdf"], num_pages=2),
            a_file(str(folder / "b.png"), hashes["b.png"], kind="image", num_pages=1),
        )
        for name, index, box in (("a.pdf", 1, (100, 200, 300, 400)), ("b.png", 0, (100, 20, 180, 80))):
            page = a_page(
                "Blue.",
                index,
                sha256=hashes[name],
                markdown=f"![](images/{index + 1}_0.jpg)\n\nBlue.",
                blocks=(
                    Block(label="image", text="", box_px=box),
                    Block(label="image_caption", text="Blue."),
                ),
                width_px=400 if index else 200,
                height_px=800 if index else 100,
            )
            store.record_page(run_id, page)
    return database


def exported(database: Path, out: Path, form: str, *more: str) -> None:
    command = ["export", "--db", str(database), "--format", form, "--out-dir", str(out), *more]
    assert main(command) == ExitCode.OK


def test_figures_are_cut_out_and_named_after_captions(
    read: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    exported(read, out, "md")
    assert capsys.readouterr().err == f"exported: 2 pages in 2 files with 2 figures, {out}\n"
    assert "\n![Blue.](a.pdf.figures/0002_1.jpg)\n" in (out / "a.pdf.md").read_text()
    for name, size, colour in (
        ("a.pdf.figures/0002_1.jpg", (200, 200), (0, 0, 255)),
        ("b.png.figures/0001_1.jpg", (80, 60), (255, 0, 0)),
    ):
        with Image.open(out / name) as picture:
            assert picture.size == pytest.approx(size, abs=1)
            assert picture.getpixel((size[0] // 2, size[1] // 2)) == pytest.approx(colour, abs=8)


def test_a_changed_document_and_one_that_went_have_no_figures(
    read: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed, gone = tmp_path / "in" / "a.pdf", tmp_path / "in" / "b.png"
    changed.write_bytes(changed.read_bytes() + b"%")
    gone.unlink()
    exported(read, tmp_path / "out", "html")
    first, *others = capsys.readouterr().err.splitlines()
    assert first == f"exported: 2 pages in 2 files, {tmp_path / 'out'}"
    assert others[0] == (
        f"figures left as text: {changed}: page 2: has changed since it was read: run again, then export"
    )
    assert others[1].startswith(f"figures left as text: {gone}: page 1: ")
    assert "No such file" in others[1]
    assert '<span class="figure">[Blue.]</span>' in (tmp_path / "out" / "a.pdf.html").read_text()


def test_no_document_is_opened_if_so_asked(
    read: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in" / "a.pdf").unlink()
    exported(read, tmp_path / "out", "md", "--no-figures")
    assert capsys.readouterr().err == f"exported: 2 pages in 2 files, {tmp_path / 'out'}\n"
    assert "![](images/2_0.jpg)" in (tmp_path / "out" / "a.pdf.md").read_text()
