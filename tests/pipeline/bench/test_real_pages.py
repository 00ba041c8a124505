"""Copies make as many pages as are wanted, all of them new to a run."""

import hashlib
import shutil
from pathlib import Path

import pymupdf
import pytest

from pipeline.bench.real_pages import copy_pages, readable_documents
from pipeline.errors import ConfigError
from tests.pipeline.conftest import MakePdf

SAMPLES = Path(__file__).parents[2] / "samples"


def test_copies_hold_just_the_pages_that_are_wanted(tmp_path: Path, make_pdf: MakePdf) -> None:
    made = make_pdf(tmp_path / "three.pdf", ["one", "two", "three"])
    shutil.copy(SAMPLES / "letter.png", tmp_path)
    copies = tmp_path / "copies"
    copies.mkdir()
    assert copy_pages([str(made), str(tmp_path / "letter.png")], 10, copies) == 10
    found = list(readable_documents([str(copies)]))
    assert [document.num_pages for document in found] == [3, 1, 3, 1, 2]
    assert len({document.sha256 for document in found}) == 5
    with pymupdf.open(found[-1].path) as last:
        assert [page.get_text().strip() for page in last] == ["one", "two"]


def test_real_samples_of_every_kind_stay_readable(tmp_path: Path) -> None:
    originals = list(readable_documents([str(SAMPLES)]))
    num_pages = sum(document.num_pages for document in originals)
    copies = tmp_path / "copies"
    copies.mkdir()
    assert copy_pages([str(SAMPLES)], num_pages, copies) == num_pages
    found = list(readable_documents([str(copies)]))
    assert [document.num_pages for document in found] == [document.num_pages for document in originals]
    hashes = {hashlib.sha256(Path(document.path).read_bytes()).hexdigest() for document in originals}
    assert not hashes & {document.sha256 for document in found}


def test_nothing_to_copy_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no page")
    with pytest.raises(ConfigError, match="no document that can be read"):
        copy_pages([str(tmp_path)], 3, tmp_path)
