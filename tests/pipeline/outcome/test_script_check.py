from dataclasses import replace

import pytest

from ocr.types import ParsedText
from pipeline.outcome.doubt import script_flag
from pipeline.outcome.results import embedded_result
from pipeline.types import EmbeddedPage, Layer, Page, PageResult
from tests.pipeline.device.fakes import rendered

KNOWN = frozenset({"Latn"})
LAYER = Layer(text="a", markdown="a", blocks=(), is_trustworthy=True, reason="", script="Latn")


def read(confidence: float | None, num_letters: int = 500) -> PageResult:
    text = ParsedText(text="x" * num_letters, markdown="")
    return PageResult(page=rendered().page, status="ok", parsed=text, error=None, confidence=confidence)


def test_the_layer_tells() -> None:
    russian = replace(rendered(), script="Cyrl")
    assert script_flag(russian, read(0.1), KNOWN) == "Cyrl"
    assert script_flag(russian, read(0.1), frozenset({"Latn", "Cyrl"})) is None
    assert script_flag(russian, read(0.1), None) is None


@pytest.mark.parametrize(
    ("confidence", "letters", "flag"),
    [(0.1, 500, "Zyyy"), (0.6, 500, None), (0.1, 20, None), (None, 500, None)],
)
def test_a_scan_is_told_by_its_confidence(confidence: float | None, letters: int, flag: str | None) -> None:
    assert script_flag(rendered(), read(confidence, letters), KNOWN) == flag


def test_a_latin_layer_is_believed_only_if_trustworthy() -> None:
    page = replace(rendered(), script="Latn", layer=LAYER)
    assert script_flag(page, read(0.1), KNOWN) is None
    doubtful = replace(page, layer=replace(LAYER, is_trustworthy=False, reason="mojibake"))
    assert script_flag(doubtful, read(0.1), KNOWN) == "Zyyy"


def test_what_was_not_read_has_no_flag() -> None:
    page = Page(path="a.pdf", sha256="0", kind="pdf", page_index=0)
    embedded = EmbeddedPage(
        page=page, layer=replace(LAYER, script="Cyrl"), width_px=1, height_px=1, dpi=144.0, seconds={}
    )
    assert script_flag(embedded, embedded_result(embedded), KNOWN) is None
