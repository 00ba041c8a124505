"""Words with characters that map to no letter are left out of a layer, and read."""

from collections.abc import Callable
from pathlib import Path

import pymupdf
import pytest

from pipeline.text_layer.page import judged
from pipeline.types import Layer
from tests.ocr.line_reader.printed import shipped
from tests.pipeline.text_layer.test_rest import read
from tests.pipeline.text_layer.wrong_maps import mapped_page

LINES_OF_TEXT = [
    ((50.0, 60.0 + 20 * number), "The boats were heavy with their catch.", False) for number in range(9)
]


def layer_of(data: bytes) -> Layer:
    with pymupdf.open("pdf", data) as document:
        layer = judged(document, 0, 144)
    assert layer is not None
    return layer


def saying(changed: str, to: str) -> Callable[[str], str]:
    """Returns a map that has something else for some characters."""
    return lambda char: to if char in changed else char


@pytest.mark.parametrize("missing", ["", "\ue123", "\x05"])
def test_a_word_with_a_character_of_no_meaning_is_read(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(
        mapped_page(
            [*LINES_OF_TEXT, ((50, 260), "The equipment is quite new and was paid for.", True)],
            saying("q", missing),
        )
    )
    layer = layer_of(path.read_bytes())
    assert layer.is_partial
    assert "no meaning" in layer.reason
    assert layer.text.endswith("catch.")
    made = read(path, shipped())
    assert made.parsed is not None
    assert made.status == "embedded"
    assert made.parsed.text.endswith("\n\nThe equipment is quite new and was paid for.")


def test_of_a_typeface_with_many_such_nothing_is_believed() -> None:
    layer = layer_of(
        mapped_page([*LINES_OF_TEXT, ((50, 260), "The equipment is quite new.", True)], saying("eat", ""))
    )
    assert layer.is_partial
    assert layer.text.endswith("catch.")


def test_a_lone_symbol_without_a_meaning_is_left_out() -> None:
    layer = layer_of(mapped_page([*LINES_OF_TEXT, ((50, 260), "* Crates of ice", True)], saying("*", "")))
    assert (layer.reason, layer.text.split("\n")[-1]) == ("", "Crates of ice")


def test_a_page_that_is_mostly_such_is_read_whole() -> None:
    layer = layer_of(
        mapped_page([((50, 260), "The equipment is quite new and was paid for.", True)], lambda char: "")
    )
    assert (layer.is_trustworthy, layer.is_partial) == (False, False)
    assert "no meaning" in layer.reason
