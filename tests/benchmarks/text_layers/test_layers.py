"""Every way of spoiling a text layer, on the samples: none is trusted."""

import random
import shutil
from pathlib import Path

import pymupdf
import pytest

from pipeline.text_layer.page import judged
from tests.benchmarks.text_layers.layer_spoils import SPOILS, Maker, hidden_recognised

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
