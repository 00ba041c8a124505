"""Measures what the host does for a batch before the device encodes it: units, checks, and one copy to pinned memory.

python -m tests.benchmarks.encoder.packing_figures
python -m tests.benchmarks.encoder.packing_figures --models minicpm-v-4.5,qwen3-vl-8b --output packing.json

Encoders have their published sizes and no weights, so no GPU is needed; ordinary memory stands for pinned memory, and
nothing is sent from there.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from encoders.graphs.axis_graphs import by_axis
from encoders.graphs.capturing.buffers import check_units
from encoders.graphs.path import GraphPath, Unit
from encoders.graphs.staging import Staging
from encoders.vision_encoder import VisionEncoder
from pipeline.bench.encoding.published_sizes import SIZES
from pipeline.bench.encoding.subjects import random_subject

# (height, width) of pages, and how many of them are encoded together.
CASES: Mapping[str, tuple[tuple[int, int], int]] = {
    "448 px": ((448, 448), 1),
    "1,024 px": ((1024, 1024), 1),
    "A4 page": ((2339, 1654), 1),
    "8 A4 pages": ((2339, 1654), 8),
}
_MOST_UNITS = 32


class _Done:
    def synchronize(self) -> None: ...


class HostTransfers:
    """Implements encoders.graphs.staging.Transfers without a device: nothing leaves the slots."""

    def host_memory(self, num_bytes: int) -> Tensor:
        return torch.zeros(num_bytes, dtype=torch.uint8)

    def device_memory(self, num_bytes: int) -> Tensor:
        return torch.empty(num_bytes, dtype=torch.uint8, device="meta")

    def send(self, target: Tensor, source: Tensor) -> _Done:
        return _Done()

    def lay(self, target: Tensor, source: Tensor) -> None: ...
    def mark(self) -> _Done:
        return _Done()

    def hold_copies(self, event: object) -> None: ...
    def hold_compute(self, event: object) -> None: ...


def figures(model: str, repeats: int) -> dict[str, dict[str, float]]:
    """Returns, by case, the median milliseconds of each step for all pages of the case, and of all steps."""
    meta = torch.device("meta")
    subject = random_subject(SIZES[model], meta, torch.bfloat16)
    encoder, rng = subject.encoder, np.random.default_rng(0)
    assert isinstance(encoder, VisionEncoder), "published sizes are those of encoders with units"
    assert subject.view_maker is not None, "a family that makes its own views"
    found = {}
    for case, ((height, width), count) in CASES.items():
        pages = [
            subject.view_maker(rng.integers(0, 256, (height, width, 3), dtype=np.uint8)) for _ in range(count)
        ]
        path = encoder.paths[0]
        units = [unit for page in encoder.units(path.name, pages) for unit in page]
        templates: dict[Any, Any] = {}
        batches = _batches(path, units)
        targets = [path.collate(batch, meta) for batch in batches]
        staging = Staging(HostTransfers())
        steps: dict[str, Callable[[], object]] = {
            "units": lambda path=path, pages=pages: encoder.units(path.name, pages),
            "checks": lambda path=path, units=units, kept=templates: check_units(path, units, kept),
            "staging": lambda path=path, batches=batches, targets=targets, staging=staging: [
                staging.write(path.pieces(batch), into) for batch, into in zip(batches, targets, strict=True)
            ],
        }
        times = {name: _median_ms(step, repeats) for name, step in steps.items()}
        found[case] = times | {"all": sum(times.values()), "units_made": len(units)}
    return found


def _batches(path: GraphPath, units: Sequence[Unit]) -> list[list[Unit]]:
    return [
        [units[index] for index in indices[start : start + _MOST_UNITS]]
        for indices in by_axis(units).values()
        for start in range(0, len(indices), _MOST_UNITS)
    ]


def _median_ms(step: Callable[[], object], repeats: int) -> float:
    for _ in range(3):
        step()
    spans = []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        spans.append((time.perf_counter() - start) * 1e3)
    return statistics.median(spans)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models",
        default="minicpm-v-2.5,minicpm-v-4.5,qwen3-vl-8b,deepseek-ocr-2",
        help="of published sizes",
    )
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    asked = parser.parse_args(words)
    torch.set_num_threads(1)
    found = {}
    for model in asked.models.split(","):
        found[model] = figures(model, asked.repeats)
        for case, times in found[model].items():
            steps = ", ".join(f"{name} {ms:.3f}" for name, ms in times.items() if name != "units_made")
            print(f"{model}, {case}, {times['units_made']} units, ms: {steps}", flush=True)
    if asked.output:
        asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
