"""Print larger than lines is seen on posters, and not on sheets without any."""

import numpy as np
import pytest
from PIL import Image

from ocr.line_reader.reading import darkness_of
from tests.benchmarks.pages.empty_sheets import sheets
from tests.faults.doubt.print_pages import posters
from tests.ocr.line_reader.printed import shipped


@pytest.mark.parametrize(("name", "page"), [(name, page) for name, _, page in posters()])
def test_posters_show_print(name: str, page: Image.Image) -> None:
    assert shipped().shows_large_print(darkness_of(np.asarray(page.convert("L")))), name


def test_empty_sheets_show_none() -> None:
    pages = {kind: darkness_of(np.asarray(sheet)[..., 0]) for kind, sheet in sheets(150, seed=7).items()}
    assert [kind for kind, page in pages.items() if shipped().shows_large_print(page)] == []
