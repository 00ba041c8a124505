from dataclasses import replace

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


def test_a_page_without_a_layer_or_with_a_latin_one_has_no_flag() -> None:
    assert script_flag(rendered(), read(0.1), KNOWN) is None
    assert script_flag(replace(rendered(), script="Latn", layer=LAYER), read(0.1), KNOWN) is None


def test_what_was_not_read_has_no_flag() -> None:
    page = Page(path="a.pdf", sha256="0", kind="pdf", page_index=0)
    embedded = EmbeddedPage(
        page=page, layer=replace(LAYER, script="Cyrl"), width_px=1, height_px=1, dpi=144.0, seconds={}
    )
    assert script_flag(embedded, embedded_result(embedded), KNOWN) is None
