"""Triton's interpreter, which needs no GPU.

Triton looks for TRITON_INTERPRET when it is imported, so that tests that need it run in a process of their own.
"""

import os
import subprocess
import sys

import pytest

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
interpreted = pytest.mark.skipif(not INTERPRETED, reason="run by test_through_the_interpreter")
not_interpreted = pytest.mark.skipif(INTERPRETED, reason="this is the interpreter's process")


def run_interpreted(file: str) -> None:
    """Runs a file of tests in such a process, and fails with what that printed."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "pytest", file, "-m", "slow or not slow", "-p", "no:cacheprovider"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1700)
    assert result.returncode == 0, result.stdout + result.stderr
