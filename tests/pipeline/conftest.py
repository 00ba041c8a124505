from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.reports.summary import RunSummary
from tests.pipeline.checkpoints import READS_TEXT, save_reader
from tests.pipeline.runs import changed, run_quietly

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Documents in a folder, and the configuration with which the tiny reader reads them."""

    docs: Path
    config: Config
    make_pdf: MakePdf

    @property
    def database(self) -> str:
        return self.config.store.database

    def pdf(self, name: str, texts: Sequence[str]) -> Path:
        """Writes a PDF into the folder, as make_pdf does."""
        return self.make_pdf(self.docs / name, texts)

    def run(self, **sections: dict[str, Any]) -> RunSummary:
        """Reads them. sections: changed keys of the configuration."""
        return run_quietly(changed(self.config, **sections))


@pytest.fixture
def batch(docs: Path, config: Config, make_pdf: MakePdf) -> Batch:
    return Batch(docs=docs, config=config, make_pdf=make_pdf)
