"""Triton's interpreter, which needs no GPU.

Triton looks for TRITON_INTERPRET when it is imported, so that tests that need it run in a process of their own.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
interpreted = pytest.mark.skipif(not INTERPRETED, reason="run by run_interpreted")
not_interpreted = pytest.mark.skipif(INTERPRETED, reason="this is the interpreter's process")


def run_interpreted(*places: Path) -> None:
    """Runs the tests below these folders, or in these files, that need it in one such process.

    Fails with what that printed.
    """
    found = [file for place in places for file in (sorted(place.rglob("test_*.py")) or [place])]
    files = [str(file) for file in found if "\n@interpreted\n" in file.read_text(encoding="utf-8")]
    assert files
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "pytest", *files, "-m", "slow or not slow", "-p", "no:cacheprovider"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1700)
    assert result.returncode == 0, result.stdout + result.stderr


def count_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the interpreter run loops to a number known only then, which it reads in a way that NumPy 2.4 refuses."""
    from triton.runtime import interpreter

    patch = interpreter._patch_lang_tensor

    def patch_and_count(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    monkeypatch.setattr(interpreter, "_patch_lang_tensor", patch_and_count)
