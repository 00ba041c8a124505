"""Imports ahead what a model needs, while workers start and probe the first files."""

import contextlib
import threading

from pipeline.device.startup.imports import IMPORTING, first_import, is_importing, load_libraries
from pipeline.device.startup.loading import _may_have_gpu, calm_threads


def import_ahead() -> None:
    """Begins to import what a model needs, in a thread, while workers start and probe the first files.

    For runs that will almost certainly read something: it takes a second or two of CPU time. Calling it twice is
    harmless.
    """
    if is_importing():
        return
    calm_threads()
    threading.Thread(target=_import_all, name=IMPORTING, daemon=True).start()


def _import_all() -> None:
    # A failing import is tried again where it is needed, and reported there.
    with contextlib.suppress(Exception), first_import("pipeline.device.run_encoder"):
        load_libraries()
        import pipeline.device.run_encoder
        import pipeline.device.threads.decoder_thread
        import pipeline.device.threads.encoder_thread  # noqa: F401

        if _may_have_gpu():
            import ocr.decoding.gpu.reader  # noqa: F401
