import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocr.training.pages.blocks.page_writer import Writer, visible
from ocr.training.pages.blocks.slips import slip
from ocr.training.pages.words.text import TextSource
from ocr.training.pictures.source import Pictures


@pytest.fixture
def slips(corpus: Path, tmp_path: Path) -> Iterator[list[str]]:
    source = TextSource(corpus / "text")

    def made() -> Iterator[list[str]]:
        for seed in range(200):
            writer = Writer(
                rng=random.Random(seed), source=source, pictures=Pictures(tmp_path), category="en_prose",
                width_pt=180.0, size_pt=8.0, measure=len, measure_code=lambda text: 5.0 * len(text),
            )  # fmt: skip
            yield visible(slip(writer)).strip(" ").split("\n")

    return made()


def test_no_line_is_wider_than_the_paper(slips: Iterator[list[str]]) -> None:
    assert max(len(line.rstrip()) for lines in slips for line in lines) <= 36


def test_amounts_end_in_one_column(slips: Iterator[list[str]]) -> None:
    for lines in slips:
        ends = {len(line) for line in lines if re.search(r"\S  +\S*\d[.,]\d\d$", line)}
        assert len(ends) <= 1


def test_every_slip_has_a_sum_and_they_differ(slips: Iterator[list[str]]) -> None:
    texts = ["\n".join(lines) for lines in slips]
    assert len(set(texts)) == 200
    assert all(re.search(r"\d[.,]\d\d\b", text) for text in texts)
    assert {len(text.split("\n")) > 30 for text in texts} == {True, False}
