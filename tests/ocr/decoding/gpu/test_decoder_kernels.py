"""The decoder's kernels through Triton's interpreter, in one process, as importing what they need takes longest."""

from pathlib import Path

import pytest

from tests.interpreter import not_interpreted, run_interpreted


@pytest.mark.slow
@not_interpreted
def test_they_run_through_the_interpreter() -> None:
    pytest.importorskip("triton")
    run_interpreted(Path(__file__).parent)
