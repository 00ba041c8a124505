import json
import random
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ocr.training.corpus.packages import CorpusError
from ocr.training.heldout import Pages, kinds_of, write
from tests.ocr.training.sources import make_corpus

REAL = "A real page of a real document, line {}."


def add_document(folder: Path, package: str, split: str, text: str, num_pages: int = 1) -> None:
    """Adds a document of equal pages to the corpus."""
    (folder / "pdfs").mkdir(exist_ok=True)
    name = f"{package}-{split}.pdf"
    with pymupdf.open() as document:
        for _ in range(num_pages):
            page = document.new_page(width=300, height=400)
            for line in range(9):
                page.insert_text((30, 50 + 14 * line), text.format(line))
        document.save(folder / "pdfs" / name)
    index = folder / "pdfs" / "index.json"
    entries = json.loads(index.read_text()) if index.exists() else []
    entries.append({"file": name, "split": split, "package": package, "pages": list(range(num_pages))})
    index.write_text(json.dumps(entries))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_corpus(tmp_path_factory.mktemp("validation") / "data")
    add_document(folder, "some-doc", "valid", REAL, num_pages=6)
    add_document(folder, "some-doc", "train", "trained on")
    add_document(folder, "texlive-latex-base-doc", "valid", "of the evaluation")
    return folder


def test_pages_come_from_the_validation_split_and_never_from_the_evaluation(data: Path) -> None:
    pages = Pages(data, random.Random(0))
    texts = {pages.draw("real").text for _ in range(6)}
    assert texts == {"\n".join(REAL.format(line) for line in range(9))}
    with pytest.raises(CorpusError, match="no page of kind 'real'"):
        pages.draw("real")  # all six have been drawn, and none twice


def test_degraded_pages_keep_size_and_text(data: Path) -> None:
    page = Pages(data, random.Random(3)).draw("degraded")
    assert page.text.strip()
    assert page.pixels.dtype == np.uint8
    assert page.pixels.std() > 1


def test_pages_are_written_with_their_truth(data: Path, tmp_path: Path) -> None:
    write(Pages(data, random.Random(1), characters=(20, 2500)), tmp_path, kinds_of(5))
    names = sorted(file.name for file in (tmp_path / "pages").iterdir())
    kinds = [name.split("-")[0] for name in names]
    assert kinds == ["composed", "composed", "degraded", "empty", "real", "real"]
    for name in names:
        text = (tmp_path / "truth" / name / "1.txt").read_text(encoding="utf-8")
        with Image.open(tmp_path / "pages" / name) as image:
            assert image.mode == "L"
            assert image.info["dpi"][0] == pytest.approx(image.info["dpi"][1])
        assert (20 <= len(text) <= 2500) == (not name.startswith("empty"))
