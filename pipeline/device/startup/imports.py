"""Orders imports at startup, where several threads import. Torch-free."""

import threading

# The name of the thread that imports ahead.
IMPORTING = "imports"
# Has one thread import what models need (torch, Triton, encoders, ocr), while others wait. Where two threads import
# modules of one package in different orders, each waits for the other; Python breaks this by failing an import: 3 of 26
# starts with a GPU died of "cannot import name 'grid_attention'" or KeyError('triton').
one_at_a_time = threading.RLock()


def is_importing() -> bool:
    """Returns whether a thread is importing ahead: the interpreter must not be shut down meanwhile."""
    return any(thread.name == IMPORTING for thread in threading.enumerate())
