"""Speeds up imports at startup: without garbage collection, and with PyTorch's libraries loaded in parallel.

Torch-free.
"""

import contextlib
import gc
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

# The name of the thread that imports ahead.
IMPORTING = "imports"
# Loaded in this order, as PyTorch does: the others need the first one's symbols.
_LIBRARIES = ("libtorch_global_deps.so", "libtorch_cpu.so")
# Present in a build with CUDA, whose many libraries PyTorch itself searches in several places.
_OF_CUDA = "libtorch_cuda.so"

_COUNTING = threading.Lock()
_MODEL_CODE = threading.RLock()
# Blocks of first_import that have not ended, and whether to switch the collector on again after the last of them.
_in_progress: list[str] = []
_collects = False


@contextlib.contextmanager
def first_import(name: str) -> Iterator[None]:
    """Switches garbage collection off while the block imports the module, and others with it, for the first time.

    There is no garbage, but the collector would walk everything imported again and again: a tenth of startup time. For
    the same reason it leaves out all of it afterwards (gc.freeze). Does nothing if the module is imported already. For
    any thread.
    """
    if name in sys.modules:
        yield
        return
    _begin(name)
    try:
        yield
    finally:
        _end(name)


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Has one thread import what models need (torch, Triton, encoders, ocr), while others wait; for any thread.

    Where two threads import modules of one package in different orders, each waits for the other; Python breaks this
    by failing an import: 3 of 26 starts with a GPU died of "cannot import name 'grid_attention'" or KeyError('triton').
    """
    with _MODEL_CODE:
        yield


def is_importing() -> bool:
    """Returns whether a thread is importing ahead: the interpreter must not be shut down meanwhile."""
    return any(thread.name == IMPORTING for thread in threading.enumerate())


def load_libraries() -> None:
    """Loads PyTorch's libraries without blocking other threads, which importing torch itself would do.

    Takes a quarter of a second of CPU time. A library that cannot be loaded is left to the import, which reports the
    error; so are all libraries of a build with CUDA.
    """
    folder = _library_folder()
    if "torch" in sys.modules or not sys.platform.startswith("linux"):
        return
    if folder is None or (folder / _OF_CUDA).exists():
        return
    import ctypes

    # A foreign function is called without the interpreter's lock, whereas ctypes.CDLL(path) holds it.
    open_library = ctypes.CDLL(None).dlopen
    open_library.argtypes, open_library.restype = [ctypes.c_char_p, ctypes.c_int], ctypes.c_void_p
    for name in _LIBRARIES:
        path = folder / name
        if path.exists():
            is_for_all = name == _LIBRARIES[0]
            open_library(os.fsencode(path), os.RTLD_NOW | (os.RTLD_GLOBAL if is_for_all else os.RTLD_LOCAL))


def _library_folder() -> Path | None:
    """Returns the folder of PyTorch's libraries, without importing it; None where it cannot be found."""
    try:
        spec = importlib.util.find_spec("torch")
    except ValueError:  # a stand-in for torch without a spec
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "lib"


def _begin(name: str) -> None:
    global _collects
    with _COUNTING:
        if not _in_progress:
            _collects = gc.isenabled()
            gc.disable()
        _in_progress.append(name)


def _end(name: str) -> None:
    with _COUNTING:
        _in_progress.remove(name)
        if not _in_progress:
            gc.freeze()
            if _collects:
                gc.enable()
