"""A start's imports for less: without the garbage collector, and PyTorch's libraries beside other work. Torch-free."""

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
# Loaded in this order, as PyTorch does it: the first one's symbols are for all.
_LIBRARIES = ("libtorch_global_deps.so", "libtorch_cpu.so")
# Of a build with CUDA, whose many libraries PyTorch itself looks for in several places.
_OF_CUDA = "libtorch_cuda.so"

_COUNTING = threading.Lock()
# Blocks of first_import that have not ended, and whether the collector is to go on after the last of them.
_under_way: list[str] = []
_collects = False


@contextlib.contextmanager
def first_import(name: str) -> Iterator[None]:
    """While the block imports the module for the first time, and others with it, no garbage is collected.

    There is none, but all that was imported would be walked again and again: a tenth of a start. For the same reason it
    counts as lasting afterwards (gc.freeze). Where the module is imported already nothing happens. For any thread.
    """
    if name in sys.modules:
        yield
        return
    _begin(name)
    try:
        yield
    finally:
        _end(name)


def is_importing() -> bool:
    """Returns whether a thread imports ahead: the interpreter must not be taken down around it."""
    return any(thread.name == IMPORTING for thread in threading.enumerate())


def load_libraries() -> None:
    """Loads PyTorch's libraries while other threads go on; its import, which then finds them, would hold up all.

    Takes a quarter of a second of CPU time. What cannot be loaded is left to the import, which says what is wrong; so
    is all of a build with CUDA.
    """
    folder = _library_folder()
    if "torch" in sys.modules or not sys.platform.startswith("linux"):
        return
    if folder is None or (folder / _OF_CUDA).exists():
        return
    import ctypes

    # As a foreign function it is called without the interpreter's lock; ctypes.CDLL(path) keeps that.
    open_library = ctypes.CDLL(None).dlopen
    open_library.argtypes, open_library.restype = [ctypes.c_char_p, ctypes.c_int], ctypes.c_void_p
    for name in _LIBRARIES:
        path = folder / name
        if path.exists():
            is_for_all = name == _LIBRARIES[0]
            open_library(os.fsencode(path), os.RTLD_NOW | (os.RTLD_GLOBAL if is_for_all else os.RTLD_LOCAL))


def _library_folder() -> Path | None:
    """Where PyTorch's libraries lie; nothing of it is imported."""
    try:
        spec = importlib.util.find_spec("torch")
    except ValueError:  # somebody's stand-in for it
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "lib"


def _begin(name: str) -> None:
    global _collects
    with _COUNTING:
        if not _under_way:
            _collects = gc.isenabled()
            gc.disable()
        _under_way.append(name)


def _end(name: str) -> None:
    with _COUNTING:
        _under_way.remove(name)
        if not _under_way:
            gc.freeze()
            if _collects:
                gc.enable()
