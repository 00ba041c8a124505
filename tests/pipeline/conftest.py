from collections.abc import Callable, Sequence
from pathlib import Path

import pymupdf
import pytest

from tests.pipeline.checkpoints import save_reader

MakePdf = Callable[[Path, Sequence[str]], Path]


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory; see tests.pipeline.checkpoints."""
    return save_reader(tmp_path_factory.mktemp("reader"))


@pytest.fixture
def make_pdf() -> MakePdf:
    """Writes a PDF with a page a text; an empty text is a blank page."""

    def make(path: Path, texts: Sequence[str]) -> Path:
        with pymupdf.open() as document:
            for text in texts:
                page = document.new_page(width=300, height=300)
                if text:
                    page.insert_text((40, 60), text, fontsize=18)
            document.save(path)
        return path

    return make
