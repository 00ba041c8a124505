"""Orders imports at startup, where several threads import. Torch-free."""

import contextlib
import gc
import threading
from collections.abc import Iterator

# The name of the thread that imports ahead.
IMPORTING = "imports"
_MODEL_CODE = threading.RLock()


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Has one thread import what models need (torch, Triton, encoders, ocr), while others wait; for any thread.

    Where two threads import modules of one package in different orders, each waits for the other; Python breaks this
    by failing an import: 3 of 26 starts with a GPU died of "cannot import name 'grid_attention'" or KeyError('triton').
    Meanwhile nobody looks for garbage, of which there is none: walking what is imported takes a twelfth of the time.
    """
    with _MODEL_CODE:
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:  # nothing is frozen, as a model that was put away may be among what is to be freed
                gc.enable()


def is_importing() -> bool:
    """Returns whether a thread is importing ahead: the interpreter must not be shut down meanwhile."""
    return any(thread.name == IMPORTING for thread in threading.enumerate())
