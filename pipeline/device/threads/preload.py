"""Imports ahead what a model needs, while workers start and probe the first files."""

import contextlib
import importlib
import threading

from pipeline.device.startup.imports import IMPORTING, is_importing, one_at_a_time
from pipeline.device.startup.loading import _may_have_gpu, begin_waking, calm_threads


def import_ahead(device: str) -> None:
    """Begins to import what a model needs, in a thread, while workers start and probe the first files.

    For runs that will almost certainly read something: it takes a second or two of CPU time. A GPU is woken beside it,
    unless the device that was configured is "cpu". Calling it twice is harmless.
    """
    if is_importing():
        return
    calm_threads()
    threading.Thread(target=_import_all, args=(device,), name=IMPORTING, daemon=True).start()


def _import_all(device: str) -> None:
    # A failing import is tried again where it is needed, and reported there.
    with contextlib.suppress(Exception), one_at_a_time():
        import torch

        if device != "cpu" and _may_have_gpu() and torch.cuda.is_available():
            begin_waking()
        for name in model_modules():
            importlib.import_module(name)


def model_modules() -> tuple[str, ...]:
    """Returns the modules that any page model needs. None of them looks for a GPU: CUDA would refuse a fork then.

    What a model's own class needs of transformers is nine tenths of what importing that class takes.
    """
    modules = "run_encoder", "threads.decoder_thread", "threads.encoder_thread"
    paged = ("ocr.decoding.gpu.reader",) if _may_have_gpu() else ()
    return *(f"pipeline.device.{name}" for name in modules), "transformers.modeling_utils", *paged
