from collections.abc import Callable, Sequence
from pathlib import Path

import pymupdf
import pytest

from pipeline.config import sources
from pipeline.config.schema import Config
from tests.pipeline.checkpoints import READS_TEXT, save_reader

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


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "results.db")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def config(docs: Path, database: str, reader: Path) -> Config:
    """Everything in docs is read by the tiny reader into the database."""
    values = {"ingest": {"paths": [str(docs)]}, "store": {"database": database}, "model": str(reader)}
    return sources.load(None, READS_TEXT, [("test", values)])
