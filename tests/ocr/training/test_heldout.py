import json
import random
from pathlib import Path

import pymupdf
import pytest

from ocr.training.heldout import Prompt, Sources, write_page
from ocr.training.pages.fonts import Fonts
from ocr.training.pages.words.text import TextSource
from ocr.training.pictures.source import Pictures


@pytest.mark.parametrize("prompt", ["plain", "grounded"])
def test_pages_are_pictures_with_their_truth_beside_them(
    corpus: Path, tmp_path: Path, prompt: Prompt
) -> None:
    rng = random.Random(0)
    sources = Sources(
        text=TextSource(corpus / "text", "valid"),
        fonts=Fonts(corpus / "fonts"),
        pictures=Pictures(corpus / "pictures"),
    )
    written = sum(write_page(rng, sources, tmp_path, i, (20, 4000), prompt) for i in range(5))
    files = sorted((tmp_path / "pages").glob("*.pdf"))
    assert len(files) == written > 0
    for file in files:
        with pymupdf.open(file) as document:
            assert not document[0].get_text().strip()
        truth = tmp_path / "truth" / file.name
        assert len((truth / "1.txt").read_text()) >= 20
        assert (truth / "1.json").exists() == (prompt == "grounded")
        if prompt == "grounded":
            for block in json.loads((truth / "1.json").read_text()):
                x0, y0, x1, y1 = block["box"]
                assert 0 <= x0 < x1 <= 999
                assert 0 <= y0 < y1 <= 999
                assert (block["kind"] == "image") == (not block["text"])
