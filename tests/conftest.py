"""Settings and fixtures for all tests. They come before anything that computes is imported."""

import gc
import logging
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

# Tests run side by side, a process for each CPU (`pytest -n auto`): threads of their own would be in each other's way.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

from pipeline.device.startup import loading

# Programs that measure, faults at night, and training: each takes minutes.
_SLOW_FOLDERS = ("benchmarks", "faults", "ocr/training")
_WITHOUT_SLOW = "not slow"  # as pyproject.toml has it
_ONLY_SLOW = "slow"
_HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    """Runs files and folders that are named whole."""
    if hasattr(config, "workerinput"):
        config.option.markexpr = config.workerinput["markexpr"]
    elif config.args_source is pytest.Config.ArgsSource.ARGS and config.option.markexpr == _WITHOUT_SLOW:
        config.option.markexpr = ""


@pytest.hookimpl(optionalhook=True)  # pytest-xdist's
def pytest_configure_node(node: Any) -> None:
    """Hands the choice of marks to a worker, which would take it from pyproject.toml."""
    node.workerinput["markexpr"] = node.config.option.markexpr


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What holds no test that is asked for is not even imported: slow folders, or files without a slow test."""
    if config.option.markexpr == _WITHOUT_SLOW:
        return _is_slow(collection_path) or None
    if (
        config.option.markexpr == _ONLY_SLOW
        and collection_path.match("test_*.py")
        and not _is_slow(collection_path)
    ):
        return "pytest.mark.slow" not in collection_path.read_text(encoding="utf-8") or None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Looks for no garbage among what is imported, all of which stays: it took a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_pycollect_makemodule(module_path: Path) -> None:
    """Gives Hypothesis's examples, of which 200 ms are the most otherwise, the time that a busy machine takes."""
    if "hypothesis" in module_path.read_text(encoding="utf-8"):
        from hypothesis import settings

        settings.register_profile("busy", deadline=None)
        settings.load_profile("busy")


@pytest.hookimpl(tryfirst=True)  # before those that nobody asked for are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as slow what lies in the folders above."""
    for item in items:
        if _is_slow(item.path):
            item.add_marker(pytest.mark.slow)


def _is_slow(path: Path) -> bool:
    return path.relative_to(_HERE).as_posix().startswith(_SLOW_FOLDERS)


@pytest.fixture(autouse=True)
def _fresh_logger() -> None:
    """Sets the program's logger back: after a quiet run, a fixture's of any scope, tests would hear nothing."""
    logger = logging.getLogger("ocrbatch")
    logger.setLevel(logging.NOTSET)
    logger.propagate, logger.disabled, logger.handlers[:] = True, False, []


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is where a test can get at it, also on a machine with a GPU; processes of its own must be asked for."""
    monkeypatch.setattr(loading, "_may_have_gpu", lambda: False)
