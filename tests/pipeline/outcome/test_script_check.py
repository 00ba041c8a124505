from dataclasses import replace
from functools import partial

import pytest

from ocr.types import ParsedText
from pipeline.outcome.doubt import as_stored
from pipeline.outcome.results import layer_result
from pipeline.types import Layer, PageResult
from tests.pipeline.device.fakes import rendered

KNOWN = frozenset({"Latn"})
LAYER = Layer(text="a", markdown="a", blocks=(), is_trustworthy=True, reason="", script="Cyrl")
stored = partial(as_stored, below=0.0)


def read(confidence: float | None, num_letters: int = 500) -> PageResult:
    text = ParsedText(text="x" * num_letters, markdown="")
    return PageResult(page=rendered().page, status="ok", parsed=text, error=None, confidence=confidence)


@pytest.mark.parametrize(
    ("script", "known", "flag"),
    [
        ("Cyrl", KNOWN, "Cyrl"),
        ("Cyrl", KNOWN | {"Cyrl"}, None),
        ("Cyrl", None, None),
        ("Latn", KNOWN, None),
        (None, KNOWN, None),
    ],
)
def test_the_layer_tells(script: str | None, known: frozenset[str] | None, flag: str | None) -> None:
    made = stored(read(0.1), replace(rendered(), script=script), known=known)
    assert (made.script, made.status) == (flag, "doubtful" if flag else "ok")


def test_what_was_not_read_has_no_flag() -> None:
    russian = replace(rendered(), script="Cyrl", layer=LAYER)
    assert stored(layer_result(russian, LAYER, ()), russian, known=KNOWN).script is None
