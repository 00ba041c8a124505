"""No two documents of an export share a file, and no name costs a document."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ocr.types import Block
from pipeline.cli.export_options import lines_of
from storage.database import open_for_reading
from storage.export.export_files import Written, export_to_folder
from storage.export.formats import FORMATS, Format
from storage.export.selection import Selection
from storage.records.store import Store
from tests.storage.sample_records import a_file, a_page, new_run

SEARCHABLE = replace(FORMATS["txt"], ending=".pdf", one_file="document")
NFC, NFD = "\u00e9.pdf", "e\u0301.pdf"
_TIME = re.compile(r"20\d\d-\d\d-\d\dT[\d:]{8}")  # in PAGE's files
FIGURE = Block(label="image", text="", box_px=(1, 2, 3, 4))


def filled(path: Path, *names: str) -> Path:
    with Store(path) as store:
        hashes = [f"{number:064}" for number in range(len(names))]
        files = [
            a_file(f"/in/{name}", sha256, num_pages=1) for name, sha256 in zip(names, hashes, strict=True)
        ]
        run_id = new_run(store, *files)
        for name, sha256 in zip(names, hashes, strict=True):
            text = f"text of {name}"
            page = a_page(text, markdown=f"{text}\n\n![](images/1_0.jpg)", sha256=sha256, blocks=(FIGURE,))
            store.record_page(run_id, page)
    return path


def exported(
    database: Path, folder: Path, form: Format, selection: Selection | None = None
) -> tuple[Written, dict[str, str]]:
    """Returns what an export says it wrote, and the text of each file by its name, without the time of writing."""
    with open_for_reading(str(database)) as db:
        done = export_to_folder(db, form, str(folder), selection, lambda _, boxes: [b"jpeg"] * len(boxes))
    files = {str(file.relative_to(folder)): file for file in folder.rglob("*") if file.is_file()}
    texts = {name: file.read_bytes().decode(errors="replace") for name, file in files.items()}
    return done, {name: _TIME.sub("", text) for name, text in texts.items()}


@pytest.mark.parametrize(
    ("form", "names"),
    [
        (SEARCHABLE, ["letter.png", "letter.png.pdf", "report.pdf", "REPORT.PDF"]),
        (FORMATS["md"], ["doc", "doc.md", "Doc", "a/x.pdf", "A/x.pdf"]),
        (FORMATS["md"], ["doc", "doc.md/x.pdf", "x", "x.figures/0001_1.jpg"]),
        (FORMATS["html"], [NFC, NFD, "STRASSE.pdf", "straße.pdf"]),
        (FORMATS["page"], ["a", "A", "a.0001", "a.0001.page.xml"]),
        (FORMATS["alto"], ["a", "a.alto.xml", "b.pdf"]),
        (FORMATS["parquet"], ["a", "a.parquet", "A.PARQUET"]),
    ],
)
def test_every_document_has_a_file_of_its_own(
    form: Format, names: list[str], path: Path, tmp_path: Path
) -> None:
    database = filled(path, *names)
    done, files = exported(database, tmp_path / "out", form)
    assert (done.files, done.left_out) == (len(names), [])
    assert (
        len(files)
        == len({name.casefold() for name in files})
        == done.files + (0 if form.figures == "within" else done.figures)
    )
    assert len({text for name, text in files.items() if not name.endswith(".jpg")}) == len(names)
    again, of_one = exported(
        database, tmp_path / "one", form, Selection(wants_path=f"/in/{names[-1]}".__eq__)
    )
    assert again.files == 1
    assert of_one.items() <= files.items(), "an export of some documents calls them as one of all does"


def test_the_document_itself_keeps_its_name_and_the_other_is_told(path: Path, tmp_path: Path) -> None:
    done, files = exported(filled(path, "letter.png", "letter.png.pdf"), tmp_path / "out", SEARCHABLE)
    assert "text of letter.png.pdf" in files["letter.png.pdf"]
    (other,) = files.keys() - {"letter.png.pdf"}
    assert "text of letter.png\n" in files[other]
    assert lines_of(done, "out") == [
        "exported: 2 pages in 2 files, out",
        f"named otherwise: /in/letter.png: {other}",
    ]


def test_a_name_that_somebody_chose_to_be_the_other_is_not_shared_either(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        run_id = new_run(store, a_file("/in/doc", "1" * 64), a_file("/in/doc.md", "2" * 64))
        store.record_page(run_id, a_page("one", sha256="1" * 64))
        store.record_page(run_id, a_page("two", sha256="2" * 64))
    done, _ = exported(path, tmp_path / "first", FORMATS["md"])
    chosen = done.renamed[0].rpartition(": ")[2].removesuffix(".md")
    with Store(path) as store:
        store.record_file(run_id, a_file(f"/in/{chosen}", "3" * 64))
        store.record_page(run_id, a_page("three", sha256="3" * 64))
    done, files = exported(path, tmp_path / "second", FORMATS["md"])
    assert done.files == len(files) == 3


@pytest.mark.parametrize("form", [*FORMATS.values(), SEARCHABLE], ids=[*FORMATS, "pdf"])
@pytest.mark.parametrize("name", ["m" * 251 + ".pdf", "é" * 125 + "a.pdf", "\udce9" * 251 + ".pdf"])
def test_a_long_name_costs_no_document(name: str, form: Format, path: Path, tmp_path: Path) -> None:
    done, files = exported(filled(path, "a first.pdf", name, "z last.pdf"), tmp_path / "out", form)
    figures = 0 if form.figures == "within" else done.figures
    assert (done.files, done.left_out, len(files)) == (3, [], 3 + figures)
    assert max(len(os.fsencode(part)) for name in files for part in name.split("/")) <= 255
    assert len(done.renamed) == (0 if form is SEARCHABLE and "\udce9" not in name else 1)
