"""What holds for all tests. It comes before anything that computes is imported."""

import os

# Tests run side by side, a process for each CPU (`pytest -n auto`): threads of their own would be in each other's way.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

from pipeline.device.startup import loading


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is where a test can get at it, also on a machine with a GPU; processes of its own must be asked for."""
    monkeypatch.setattr(loading, "_may_have_gpu", lambda: False)
