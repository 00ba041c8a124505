"""Print larger than lines is seen on posters, and not on sheets without any."""

import numpy as np
import pytest

from ocr.line_reader.large_print import shows_large_print
from ocr.line_reader.reading import LineReader
from ocr.model_files.locate import LINES, find_directory
from tests.benchmarks.pages.empty_sheets import sheets
from tests.faults.doubt.print_pages import posters


@pytest.fixture(scope="module")
def reader() -> LineReader:
    return LineReader.load(find_directory("small") / LINES)


@pytest.mark.parametrize(("name", "page"), [(name, page) for name, _, page in posters()])
def test_posters_show_print(name: str, page: object, reader: LineReader) -> None:
    grey = np.asarray(page.convert("L"))  # type: ignore[attr-defined]
    assert shows_large_print(grey, reader), name


def test_empty_sheets_show_none(reader: LineReader) -> None:
    greys = {kind: np.asarray(sheet)[..., 0] for kind, sheet in sheets(150, seed=7).items()}
    assert [kind for kind, grey in greys.items() if shows_large_print(grey, reader)] == []
