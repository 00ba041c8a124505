"""Implements `ocrbatch bench encoder`: times the encoder arm by arm, each warmed up, in one process."""

import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from encoders.graphs.settings import GraphSettings
from encoders.views import PageViews
from pipeline.bench.encoding.encoder_arms import ARMS, Arm, build, load_model
from pipeline.bench.encoding.latency_table import ArmTimes
from pipeline.bench.encoding.requests import Request, Size, page_requests, random_requests


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSettings:
    """The settings of `ocrbatch bench encoder`. pages: a folder; None draws random images from the buckets.

    batch_size: requests that are encoded at once, with their views pooled; they share the time equally.
    max_items: most views in a batch. budgets: of the graphs; "auto" chooses from the requests.
    """

    model: str = "small"
    device: str = "cpu"
    dtype: str = "float32"
    arms: tuple[str, ...] = ARMS
    num_prompts: int = 32
    num_warmups: int = 3
    seed: int = 0
    max_tiles: int = 6
    batch_size: int = 1
    max_items: int = 32
    budgets: Literal["default", "auto"] = "default"
    buckets: dict[Size, float]
    pages: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The result of `ocrbatch bench encoder`. arms: their times. errors: of each arm relative to the first.

    machine: what they were measured on. grids: (columns, rows) of the tiles of each request.
    """

    settings: BenchSettings
    arms: tuple[ArmTimes, ...]
    errors: dict[str, float]
    machine: dict[str, str]
    grids: tuple[tuple[int, int], ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the result as JSON values."""
        asked = {
            key: str(value) if key == "buckets" else value
            for key in BenchSettings.__slots__
            for value in [getattr(self.settings, key)]
        }
        return {
            "settings": asked,
            "machine": self.machine,
            "relative_errors": self.errors,
            "grids": [list(grid) for grid in self.grids],
            "arms": [arm.to_json() for arm in self.arms],
        }


@torch.inference_mode()
def bench(settings: BenchSettings) -> BenchResult:
    """Measures every arm on the same requests. Raises: CheckpointError, ConfigError."""
    device = torch.device(settings.device)
    model = load_model(settings.model, device, getattr(torch, settings.dtype))
    requests = (
        random_requests(settings.buckets, settings.num_prompts, settings.seed, settings.max_tiles)
        if settings.pages is None
        else page_requests(settings.pages, settings.num_prompts, settings.max_tiles)
    )
    graphs = GraphSettings(
        max_items=settings.max_items, budgets="auto" if settings.budgets == "auto" else None
    )
    measured: list[ArmTimes] = []
    errors: dict[str, float] = {}
    expected: list[torch.Tensor] | None = None
    for name in settings.arms:
        arm = build(name, model, graphs)
        measured.append(_measure(arm, requests, settings, device))
        outputs = arm.encode([request.views for request in requests[: settings.batch_size]])
        arm.close()
        if expected is None:
            expected = outputs
        else:
            errors[name] = max(map(_error, outputs, expected))
    return BenchResult(
        settings=settings,
        arms=tuple(measured),
        errors=errors,
        machine=_machine(device),
        grids=tuple(request.views.grid for request in requests),
    )


def _measure(
    arm: Arm, requests: Sequence[Request], settings: BenchSettings, device: torch.device
) -> ArmTimes:
    times = ArmTimes(name=arm.name)
    batches = list(_batches(requests, settings.batch_size))
    arm.prepare([_views(batch) for batch in batches])
    for batch in batches[: settings.num_warmups]:
        arm.encode(_views(batch))
    arm.start()
    for batch in batches:
        pages = _views(batch)
        _finish(device)
        start = time.perf_counter()
        arm.encode(pages)
        _finish(device)
        times.add_batch(time.perf_counter() - start, [request.seconds for request in batch])
    times.calls = arm.calls
    times.statistics = arm.statistics()
    return times


def _views(batch: Sequence[Request]) -> list[PageViews]:
    return [request.views for request in batch]


def _batches(requests: Sequence[Request], size: int) -> Iterator[Sequence[Request]]:
    for start in range(0, len(requests), size):
        yield requests[start : start + size]


def _finish(device: torch.device) -> None:
    """Waits for the device, so that measured times are of the work and not of its launch."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _error(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.float() - expected.float()).norm() / expected.float().norm())


def _machine(device: torch.device) -> dict[str, str]:
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads"
    return {"device": name, "torch": torch.__version__, "python": platform.python_version()}
