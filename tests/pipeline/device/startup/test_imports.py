"""A start imports what it needs, and when it needs it; see also test_cli.py."""

import gc
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.schema import Config
from pipeline.device.startup import imports, loading
from pipeline.device.threads import preload
from tests.pipeline.checkpoints import PAGE_MODEL


def run_python(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_a_command_rarely_looks_for_garbage_and_leaves_another_process_as_it_is() -> None:
    code = """
import gc, sys
from pipeline.cli.main import main
main(["completion", "bash"])
before = gc.get_threshold()[0] + gc.get_freeze_count()
sys.argv = ["ocrbatch", "--version"]
main()
print("told:", before < 10_000, gc.get_threshold()[0] > 10_000, gc.get_freeze_count() > 10_000)
"""
    assert run_python(code)[-4:] == ["told:", "True", "True", "True"]


def test_no_garbage_is_looked_for_while_a_model_s_modules_are_imported() -> None:
    with imports.one_at_a_time():
        with imports.one_at_a_time():
            assert not gc.isenabled()
        assert not gc.isenabled(), "the outer one has not ended"
    assert gc.isenabled()
    with pytest.raises(ImportError), imports.one_at_a_time():
        raise ImportError
    assert gc.isenabled()
    gc.disable()
    try:
        with imports.one_at_a_time():
            pass
        assert not gc.isenabled(), "one that was off stays off"
    finally:
        gc.enable()
    frozen = gc.get_freeze_count()
    with imports.one_at_a_time():
        pass
    assert gc.get_freeze_count() == frozen, "a model that was put away would never be freed"


def test_a_run_without_a_database_is_sure_to_read(tmp_path: Path) -> None:
    read: dict[str, Any] = {"store": {"database": str(tmp_path / "a.db")}, "model": PAGE_MODEL}
    assert loading.is_sure_to_read(Config.model_validate(read))
    assert not loading.is_sure_to_read(Config.model_validate({**read, "text_layer": "prefer"}))
    assert not loading.is_sure_to_read(Config.model_validate({**read, "model": "small"})), (
        "the line reader reads"
    )
    (tmp_path / "a.db").touch()
    assert not loading.is_sure_to_read(Config.model_validate(read))


@pytest.mark.slow
def test_a_run_by_default_imports_neither_torch_nor_transformers(tmp_path: Path) -> None:
    for name in ("torch", "transformers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(
            f"print('{name} was imported'); raise ImportError", "utf-8"
        )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    sample = Path(__file__).parents[3] / "samples" / "letter.png"
    command = [sys.executable, "-m", "ocrbatch", "run", str(sample), "--db", str(tmp_path / "a.db")]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "was imported" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_new_run_imports_the_model_s_libraries_first(tmp_path: Path) -> None:
    """They take the longest; the rest of the start goes on beside them."""
    code = f"""
import sys
from pipeline.device.threads import preload
from pipeline.cli.main import main
preload.import_ahead = lambda device: print("pipeline.run.runner" in sys.modules)
main(["run", {str(tmp_path / "nothing-there")!r}, "--db", {str(tmp_path / "a.db")!r}, "--model", {PAGE_MODEL!r}])
"""
    assert run_python(code) == ["False"]


def test_one_thread_imports_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(preload, "_import_all", lambda device: begun.append("once"))
    monkeypatch.setattr(preload, "is_importing", lambda: True)
    preload.import_ahead("cpu")
    assert begun == []


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="without it there are no kernels to import"
)
@pytest.mark.slow
def test_what_workers_are_forks_of_never_asks_for_a_gpu() -> None:
    """CUDA refuses every fork of a process that has as much as looked whether there is one."""
    code = """
import importlib, torch
from pipeline.device.threads import preload
asked = []
for name in ("is_available", "device_count", "_lazy_init"):
    setattr(torch.cuda, name, lambda name=name: asked.append(name))
preload._may_have_gpu = lambda: True
for name in ("pipeline.cluster.cluster_worker", "pipeline.device.line_server", *preload.model_modules()):
    importlib.import_module(name)
print(len(preload.model_modules()), asked)
"""
    assert run_python(code) == ["5", "[]"]


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="without it there are no kernels to import"
)
def test_one_thread_at_a_time_imports_what_a_model_needs() -> None:
    """With a GPU three threads want the same packages; here each module takes long, so that they would meet."""
    code = """
import importlib.machinery, sys, threading, time
at_work, together = [], set()
class Slowly(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        at_work.append(threading.get_ident())
        time.sleep(0.01)
        together.update([module.__name__] if len(set(at_work)) > 1 else [])
        super().exec_module(module)
        at_work.remove(threading.get_ident())
class HasCuda(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        super().exec_module(module)
        module.is_available = lambda: True
class Finder:
    def find_spec(self, name, path, _=None):
        is_ours = name.partition(".")[0] in ("encoders", "ocr", "triton")
        spec = importlib.machinery.PathFinder.find_spec(name, path) if is_ours or name == "torch.cuda" else None
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = (Slowly if is_ours else HasCuda)(name, spec.origin)
        return spec
sys.meta_path.insert(0, Finder())
from pipeline.config.schema import Config
from pipeline.device.startup import imports, loading
from pipeline.device.threads import page_reader, preload
loading._may_have_gpu = preload._may_have_gpu = lambda: True
wake, woken = loading.wake_device, threading.Event()
def waking(device):
    wake(sys.modules["torch"].device("cpu"))
    woken.set()
loading.wake_device = waking
model = page_reader.PageReader(Config(device="cuda"), loading.load_model)
model.prepare()
model.start()
print(type(model.failed.exception()).__name__)  # as there is no GPU, or it holds no more
woken.wait()
print("triton" in sys.modules, sorted(together))
"""
    assert run_python(code)[1:] == ["True", "[]"]
