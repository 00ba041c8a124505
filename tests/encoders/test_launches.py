"""Kernels cost no import that a start would wait for, and are loaded one at a time."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch

from encoders.launches import load_launchers_one_at_a_time


@pytest.mark.slow
@pytest.mark.parametrize("module", ["encoders.deepseek.deep_encoder", "ocr.decoding.gpu.reader"])
def test_no_compiler_is_imported(module: str) -> None:
    """torch._dynamo and transformers took 4 s, and 7 beside what else a start does."""
    heavy = ["torch._dynamo", "sympy", "transformers"]
    code = f"import sys, {module}; sys.exit([name for name in {heavy} if name in sys.modules] or 0)"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_none_is_imported_by_a_call() -> None:
    code = (
        "import sys, torch\n"
        "from encoders.pointwise import add_norm, quick_gelu\n"
        "x = torch.ones(4, 64, device='cuda', dtype=torch.bfloat16)\n"
        "norm = torch.nn.LayerNorm(64, device='cuda', dtype=torch.bfloat16)\n"
        "with torch.inference_mode():\n"
        "    quick_gelu(add_norm(x, x, norm)[1])\n"
        "assert 'triton' in sys.modules\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_launchers_are_loaded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once may each get the other's function."""
    at_once: list[int] = []
    most: list[int] = []

    class Launcher:
        def __init__(self, name: str) -> None:
            at_once.append(1)
            most.append(len(at_once))
            time.sleep(0.01)
            at_once.pop()
            self.name = name

    monkeypatch.setitem(
        sys.modules,
        "triton.backends.nvidia.driver",
        SimpleNamespace(CudaLauncher=Launcher),  # type: ignore[arg-type]
    )
    load_launchers_one_at_a_time()
    with ThreadPoolExecutor(8) as threads:
        assert [made.name for made in threads.map(Launcher, "abcdefgh")] == list("abcdefgh")
    assert max(most) == 1
