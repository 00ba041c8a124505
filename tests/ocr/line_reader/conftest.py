import pytest

from ocr.line_reader.reading import LineReader
from tests.ocr.line_reader.printed import shipped


@pytest.fixture(scope="session")
def reader() -> LineReader:
    return shipped()
