"""Measures all figures of prefill in one run, on a CUDA device:

python -m tests.benchmarks.decoding.prefill_figures prefill.json
python -m tests.benchmarks.decoding.prefill_figures prefill.json --sections machine,prefill,kernels --pages 16,1

Sections: machine; prefill (several pages in one forward through the engine's own DeviceSteps.prefill: the device's
time, the host's, the time while another thread holds the interpreter's lock, and the share of the matrix rate); kernels
(the kernels of one forward). What prefills cost among decode steps is decode_figures' section paged. The model is
DeepSeek-OCR's language model with random weights in bf16, a page 903 tokens. With --quick a tiny model shows on any
device that the program works.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any, get_args

import torch

from ocr.decoding.gpu.forward.block_pool import BlockPool
from ocr.decoding.gpu.forward.prefill import Prompts
from ocr.decoding.gpu.forward.steps import DeviceSteps
from pipeline.bench.roofline.bound import prefill_flops
from tests.benchmarks.decoding.decode_figures import FULL, QUICK, Rig
from tests.benchmarks.device_rig import Found, Run, device_of, reported, run_sections, sections_parser

PAGES = (1, 2, 4, 8, 16, 32)
MODES: tuple[Prompts, ...] = get_args(Prompts)


class Pages:
    """Pages, and the steps that prefill them."""

    def __init__(self, rig: Rig, pages: int, mode: Prompts) -> None:
        length = rig.effort.prompt
        each = rig.shape.blocks(length)
        pool = BlockPool(rig.shape, (2 + pages * each) * rig.shape.block_bytes, rig.device)
        self.steps = DeviceSteps(
            rig.model, pool, slots=pages, max_tokens=length + 64, graphs=False, prompts=mode
        )
        self.rows = list(range(pages))
        self.blocks = [list(range(1 + row * each, 1 + (row + 1) * each)) for row in self.rows]
        self.prompts_NLD = torch.stack([rig.prompt(row) for row in self.rows])

    def __call__(self) -> Any:
        return self.steps.prefill(self.prompts_NLD, self.blocks, self.rows)


def prefill(rig: Rig, counts: Sequence[int]) -> Found:
    """Returns the prefill times of each number of pages and mode."""
    results: Found = {}
    for pages in counts:
        for mode in MODES:
            with reported(f"{pages}, {mode}"):
                contended = pages in (max(counts), 16)
                results[f"{pages}, {mode}"] = one_prefill(rig, pages, mode, contended=contended)
            rig.clock.tidy()
    return results


def one_prefill(rig: Rig, pages: int, mode: Prompts, *, contended: bool) -> Found:
    """Returns ms: by device events; host_ms: until the call returns; in_a_row_ms: of several, by the wall clock."""
    clock, run = rig.clock, Pages(rig, pages, mode)
    first_ms = clock.once_ms(lambda: run().pending.rows())
    repeats = 3 if pages > 8 else 5
    ms = clock.ms(run, repeats, alone=True)
    host = []
    for _ in range(repeats):
        clock.synchronize()
        started = time.perf_counter()
        run()
        host.append(1e3 * (time.perf_counter() - started))
    flops = pages * prefill_flops(rig.effort.language, rig.effort.prompt)
    return {
        "ms_a_page": ms / pages,
        "ms": ms,
        "host_ms": median(host),
        "in_a_row_ms": clock.in_a_row_ms(run, repeats),
        "ms_beside_a_busy_thread": beside_a_busy_thread(rig, run) if contended else None,
        "tflops_s": flops / ms / 1e9,
        "share_of_matrix_rate": flops / ms * 1e3 / rig.rates.matrix_flops_s,
        "first_s": first_ms / 1e3,
        "peak_bytes": clock.peak_bytes(),
    }


def beside_a_busy_thread(rig: Rig, run: Run) -> float:
    """Returns the wall-clock milliseconds of one run beside a busy thread."""
    with busy_thread():
        return rig.clock.once_ms(run)


@contextmanager
def busy_thread() -> Iterator[None]:
    """Runs another thread that computes in Python meanwhile: it takes the interpreter's lock whenever it can."""
    ended = threading.Event()

    def spin() -> None:
        while not ended.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def kernels(rig: Rig, counts: Sequence[int]) -> Found:
    """Returns the kernels that take longest, and their sum, for the largest number of pages up to 16 and for one."""
    results: Found = {}
    for pages in dict.fromkeys((max((count for count in counts if count <= 16), default=1), 1)):
        for mode in MODES:
            results[f"{pages}, {mode}"] = rig.clock.kernels(Pages(rig, pages, mode))
            rig.clock.tidy()
    return results


def main(words: Sequence[str] | None = None) -> Found:
    parser = sections_parser(__doc__)
    parser.add_argument("--pages", type=lambda text: tuple(map(int, text.split(","))))
    asked = parser.parse_args(words)
    device = device_of(parser, asked)
    counts = asked.pages or ((2, 1) if asked.quick else PAGES)
    with torch.inference_mode():
        rig = Rig(QUICK if asked.quick else FULL, device)
    measures = {
        "machine": rig.machine,
        "prefill": partial(prefill, rig, counts),
        "kernels": partial(kernels, rig, counts),
    }
    return run_sections(measures, asked, rig.clock)


if __name__ == "__main__":
    main()
