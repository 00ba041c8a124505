"""Every way of spoiling a text layer, on the samples: none is trusted; one drawn in another order is put in order."""

import random
import shutil
from pathlib import Path

import pymupdf
import pytest

from pipeline.text_layer.page import judged
from tests.benchmarks.text_layers.layer_spoils import SPOILS, Maker, hidden_recognised, out_of_order

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda spoil: spoil.__name__)
def test_a_spoilt_layer_is_not_trusted(spoil: Maker) -> None:
    if spoil is hidden_recognised and shutil.which("tesseract") is None:
        pytest.skip("tesseract is not installed")
    document = pymupdf.open(SAMPLES / "report.pdf")
    document.select([0])
    spoilt = spoil(pymupdf.open("pdf", document.tobytes()), random.Random(3))
    if spoilt is None:
        pytest.skip("cannot be done to this page")
    layer = judged(spoilt, 0, 144)
    assert layer is None or not layer.is_trustworthy
    assert layer is None or layer.reason


def test_a_layer_whose_lines_are_in_random_order_is_put_in_order() -> None:
    document = pymupdf.open(SAMPLES / "report.pdf")
    document.select([0])
    spoilt = out_of_order(pymupdf.open("pdf", document.tobytes()), random.Random(3))
    assert spoilt is not None
    plain, ordered = judged(document, 0, 144), judged(spoilt, 0, 144)
    assert plain is not None
    assert ordered is not None
    assert ordered.text.split() == plain.text.replace("•", "").split()  # which the spoilt page does not have
