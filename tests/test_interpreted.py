"""Kernels through Triton's interpreter, each folder's in one process, as importing what they need takes longest."""

from pathlib import Path

import pytest

from tests.interpreter import not_interpreted, run_interpreted


@pytest.mark.slow
@not_interpreted
@pytest.mark.parametrize("folder", ["encoders", "ocr/decoding/gpu"])
def test_they_run_through_the_interpreter(folder: str) -> None:
    pytest.importorskip("triton")
    run_interpreted(Path(__file__).parent / folder)
