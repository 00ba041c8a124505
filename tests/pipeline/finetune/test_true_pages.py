"""Pages whose text is known: those found, those left out and why; corrected ones with the text that counts."""

import hashlib
from pathlib import Path

import pymupdf
import pytest
from PIL import Image, ImageDraw

from pipeline.finetune.true_pages import FinetuneError, LeftOut, TruePage, explain, find_corrected, find_pages
from storage.database import open_for_writing
from storage.errors import DatabaseNotFoundError, NotADatabaseError
from storage.records.corrections import correct, withdraw
from storage.records.store import Store
from tests.storage.sample_records import a_file, a_page, a_run


def picture(width: int = 90, height: int = 40) -> Image.Image:
    image = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(image).text((4, 4), "abc", "navy")
    return image


def write_pdf(path: Path, num_pages: int) -> None:
    with pymupdf.open() as document:
        for number in range(num_pages):
            document.new_page(width=300, height=420).insert_text((40, 60), f"page {number + 1}")
        document.save(path)


def only(folder: Path, truth: Path | None = None) -> TruePage:
    (pair,), left_out = find_pages(folder, truth)
    assert not left_out
    return pair


def reasons(left_out: list[LeftOut]) -> dict[str, str]:
    return {item.name: item.reason for item in left_out}


@pytest.mark.parametrize("name", ["page.png", "page.JPG", "page.tiff", "page.webp"])
def test_a_text_lies_beside_its_page(tmp_path: Path, name: str) -> None:
    picture().save(tmp_path / name)
    (tmp_path / "page.txt").write_bytes("\ufeff\r\nZu\u0308rich  \r\n\r\n 2nd line\r\n\n".encode())
    pair = only(tmp_path)
    assert (pair.name, pair.page.page_index, pair.page.kind) == (name, 0, "image")
    # Composed characters and the page's own lines; marks of the file format are no text.
    assert pair.text == "Zürich\n\n 2nd line"


def test_texts_of_many_pages_lie_as_for_eval(tmp_path: Path) -> None:
    folder, truth = tmp_path / "pages", tmp_path / "truth"
    for file in ("a/fax.tif", "b.pdf"):
        (truth / file).mkdir(parents=True)
        for number in (1, 3):
            (truth / file / f"{number}.txt").write_text(f"{file} {number}")
    (folder / "a").mkdir(parents=True)
    frames = [picture(90 + i) for i in range(3)]
    frames[0].save(folder / "a" / "fax.tif", save_all=True, append_images=frames[1:])
    write_pdf(folder / "b.pdf", 2)
    picture().save(folder / "c.png")

    pairs, left_out = find_pages(folder, truth)
    assert [(p.name, p.page.page_index, p.text) for p in pairs] == [
        ("a/fax.tif, page 1", 0, "a/fax.tif 1"),
        ("a/fax.tif, page 3", 2, "a/fax.tif 3"),
        ("b.pdf, page 1", 0, "b.pdf 1"),
    ]
    found = reasons(left_out)
    assert "no such page" in found.pop("b.pdf, page 3")
    assert "TRUTH" in found.pop("c.png")
    assert not found


def test_what_cannot_be_used_is_left_out_with_its_reason(tmp_path: Path) -> None:
    for name in ("good", "alone", "latin", "twice"):
        picture().save(tmp_path / f"{name}.png")
    picture().save(tmp_path / "twice.jpg")
    write_pdf(tmp_path / "long.pdf", 2)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    for name in ("good", "twice", "long", "broken", "orphan"):
        (tmp_path / f"{name}.txt").write_text("text")
    (tmp_path / "latin.txt").write_bytes("Größe".encode("latin-1"))

    pairs, left_out = find_pages(tmp_path)
    assert [pair.name for pair in pairs] == ["good.png"]
    found = reasons(left_out)
    for name, part in {
        "alone.png": "no text",
        "latin.png": "UTF-8",
        "twice.png": "share one text",
        "twice.jpg": "share one text",
        "long.pdf": "--truth",
        "broken.png": "cannot be opened",
        "orphan.txt": "without a page",
    }.items():
        assert part in found.pop(name)
    assert not found
    told = explain(left_out)
    assert len(told) == 6
    assert any("left out 2: twice.jpg, twice.png: several" in line for line in told)


def test_a_folder_without_pairs_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FinetuneError, match="no such folder"):
        find_pages(tmp_path / "nowhere")
    with pytest.raises(FinetuneError, match="put its text beside it"):
        find_pages(tmp_path)
    picture().save(tmp_path / "page.png")
    with pytest.raises(FinetuneError, match=r"left out 1: page\.png: no text"):
        find_pages(tmp_path)


NAMES = ("read.png", "fixed.png", "turned.png", "gone.png", "changed.png", "withdrawn.png")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A page a file; all but the first are corrected."""
    path = tmp_path / "results.db"
    with Store(str(path)) as store:
        run = store.start_run(a_run())
        for number, name in enumerate(NAMES):
            Image.new("RGB", (90, 40 + number), "white").save(tmp_path / name)
            sha256 = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
            store.record_file(run, a_file(str(tmp_path / name), sha256, kind="image", num_pages=1))
            store.record_page(run, a_page("as read", sha256=sha256, rotation_deg=90 * (name == "turned.png")))
    db = open_for_writing(str(path))
    for number in range(2, len(NAMES) + 1):
        correct(db, number, f"page {number}  \nas it is\n", made_by="ada", attempt_id=number)
    withdraw(db, len(NAMES))
    db.close()
    (tmp_path / "gone.png").unlink()
    (tmp_path / "changed.png").write_bytes(b"other")
    return path


def test_a_corrected_page_is_paired_with_its_text(database: Path, tmp_path: Path) -> None:
    pages, left_out = find_corrected(database)
    assert [(page.page.path, page.page.page_index, page.text) for page in pages] == [
        (str(tmp_path / "fixed.png"), 0, "page 2\nas it is"),
        (str(tmp_path / "turned.png"), 0, "page 3\nas it is"),
    ]
    reasons = {Path(item.name.split(",")[0]).name: item.reason for item in left_out}
    assert set(reasons) == {"gone.png", "changed.png"}
    assert (
        reasons["changed.png"]
        == reasons["gone.png"]
        == "its file is gone, or has other content than was read"
    )


def test_what_is_no_such_database_is_said(tmp_path: Path) -> None:
    with pytest.raises(DatabaseNotFoundError, match="no such database"):
        find_corrected(tmp_path / "nothing.db")
    (tmp_path / "text.db").write_text("no database")
    with pytest.raises(NotADatabaseError):
        find_corrected(tmp_path / "text.db")


def test_without_corrections_there_is_nothing_to_train_on(database: Path) -> None:
    db = open_for_writing(str(database))
    withdraw(db, 2)
    withdraw(db, 3)
    db.close()
    with pytest.raises(FinetuneError, match="no corrected page can be used"):
        find_corrected(database)
