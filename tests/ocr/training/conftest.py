import json
from pathlib import Path

import pytest

from ocr.model_files.locate import LINES, SHIPPED, find_directory
from tests.ocr.training.sources import make_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus") / "data")


@pytest.fixture(scope="session")
def characters() -> str:
    shipped = json.loads((find_directory(SHIPPED) / LINES / "reader.json").read_text(encoding="utf-8"))
    return str(shipped["characters"])
