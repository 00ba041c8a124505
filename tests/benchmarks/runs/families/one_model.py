"""Runs `ocrbatch run` on a model of random weights, in this process, and tells what it took."""

import gc
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ocr.decoding.requests import PageRequest
from pipeline.bench.host_meter import HostMeter
from pipeline.bench.whole_run.bounded_reading import BoundedModel
from pipeline.bench.whole_run.track import PageTrack
from pipeline.config import sources
from pipeline.config.encoder_section import graph_settings
from pipeline.config.schema import Config, tile_mode
from pipeline.device.gpu_meter import GpuMeter
from pipeline.device.startup.loading import load_model, render_workers
from pipeline.errors import ConfigError
from pipeline.run import runner
from pipeline.stop import Stop
from storage.database import open_for_reading
from storage.queries.statistics import status
from tests.benchmarks.runs.families.page_budgets import page_budgets
from tests.benchmarks.runs.families.random_checkpoints import planned, write
from tests.benchmarks.runs.families.whole_sizes import WholeSize

Row = dict[str, Any]
# Nothing ends a page early or has it read again, and no text layer is taken.
ONE_READING = (
    "text_layer=ignore", "reader=page", "ladder.rungs=[]", "decode.loop.tokens=0",
    "store.doubtful_below=0",
)  # fmt: skip
_MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to run. pages: a folder of documents with num_pages pages. tokens: new ones a page, at most.

    sets: KEY=VALUE of the configuration, which win over the benchmark's own.
    """

    name: str
    size: WholeSize
    tiny: bool
    pages: Path
    num_pages: int
    tokens: int
    device: str
    arms: Sequence[str]
    sets: Sequence[str] = ()


def rows(asked: Asked, folder: Path) -> Iterator[Row]:
    """Yields a row for each arm. folder: for the checkpoint, which is gone at the end, and databases."""
    device = torch.device(asked.device)
    dtype = torch.float32 if asked.tiny else torch.bfloat16
    model = folder / "model"
    try:
        made = planned(asked.size, tiny=asked.tiny)
        started = time.perf_counter()
        num_bytes = write(made, model, device=device, dtype=dtype)
        written: Row = {
            "model": asked.name,
            "scale": "tiny" if asked.tiny else "published",
            "parameters": made.num_parameters,
            "published_billions": asked.size.billions,
            "source": asked.size.source,
            "unverified": list(asked.size.unverified),
            "device": torch.cuda.get_device_name() if asked.device == "cuda" else "cpu",
            "most_new_tokens": asked.tokens,
            "checkpoint_bytes": num_bytes,
            "write_s": round(time.perf_counter() - started, 2),
        }
        del made
        gc.collect()
        loader = Loader(asked.tokens)
        for arm in asked.arms:
            yield {**written, "arm": arm, **_run(asked, model, folder / f"{arm}.db", loader, arm)}
    finally:
        shutil.rmtree(model, ignore_errors=True)


class SeenPages(BoundedModel):
    """A bounded model that notes the vision tokens of each page it is given."""

    def __init__(self, loaded: Any, num_tokens: int) -> None:
        super().__init__(loaded, num_tokens)
        self.vision_tokens: list[int] = []

    def bounded(self, request: PageRequest, prompt: str) -> PageRequest:
        self.vision_tokens.append(len(request.vision.tokens_TD))
        return super().bounded(request, prompt)


class Loader:
    """A run's `load`, which loads the model once and gives it to further runs. then: called with each run's model."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self.model: SeenPages | None = None
        self.then: Callable[[], None] = lambda: None

    def __call__(self, config: Config) -> Any:
        if self.model is None:
            self.model = SeenPages(load_model(config), self._tokens)
        self.model.vision_tokens.clear()
        self.then()
        return self.model


def _run(asked: Asked, model: Path, database: Path, loader: Loader, arm: str) -> Row:
    config, refused = _config(asked, model, database), list[str]()
    if arm == "graphs":
        assert loader.model is not None, "graphs come after default, which sees how large pages are"
        config, refused = _with_budgets(
            config, page_budgets(loader.model, max(loader.model.vision_tokens), config.tile.mode)
        )
    on_cuda = asked.device == "cuda"
    if on_cuda:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    with HostMeter() as host, GpuMeter(asked.device if on_cuda else None) as gpu, _warnings() as warnings:
        track = PageTrack(host)
        started, loaded = track.moment(), track.moment()

        def mark() -> None:
            nonlocal loaded
            loaded = track.moment()

        loader.then = mark
        summary = runner.run(config, track, Stop(), loader)
    since = track.since(loaded)
    whole = track.since(started)
    reading = gpu.reading() if on_cuda else None
    seen = loader.model.vision_tokens if loader.model is not None else []
    return {
        "pages": asked.num_pages,
        "statuses": dict(track.statuses),
        "share_with_status": track.statuses.total() / asked.num_pages,
        "num_tokens": summary.num_tokens,
        "vision_tokens": [min(seen, default=0), max(seen, default=0)],
        "wall_s": round(summary.wall_s, 3),
        "load_s": round(summary.load_s, 3),
        "pages_s": whole and round(whole["pages_s"], 4),
        "pages_s_since_loaded": since and round(since["pages_s"], 4),
        "tokens_s_since_loaded": since and round(since["tokens_s"], 1),
        "gpu_busy": summary.gpu_busy,
        **_recorded(database),
        "busy_s": _busy(summary, config),
        "peak_allocated_mib": torch.cuda.max_memory_allocated() // _MIB if on_cuda else None,
        "peak_reserved_mib": torch.cuda.max_memory_reserved() // _MIB if on_cuda else None,
        "peak_gpu_mib": None if reading is None else reading.peak_memory_bytes // _MIB,
        "peak_host_mib": host.peak_bytes // _MIB,
        "warnings": [*refused, *warnings],
    }


def _with_budgets(config: Config, budgets: Mapping[str, list[int]]) -> tuple[Config, list[str]]:
    """Returns the configuration with these budgets, and why it refused those that it did."""
    kept: dict[str, list[int]] = {}
    refused: list[str] = []
    for path, sizes in budgets.items():
        encoder = config.encoder.model_copy(update={"budgets": {path: sizes}})
        try:
            graph_settings(encoder, tile_mode(config))
        except ConfigError as error:
            refused.append(str(error))
        else:
            kept[path] = sizes
    encoder = config.encoder.model_copy(update={"budgets": kept or None})
    return config.model_copy(update={"encoder": encoder}), refused


def _config(asked: Asked, model: Path, database: Path) -> Config:
    values = {
        "ingest": {"paths": [str(asked.pages)]},
        "store": {"database": str(database)},
        "model": str(model),
        "device": asked.device,
    }
    return sources.load(None, [*ONE_READING, *asked.sets], [("the benchmark", values)])


def _recorded(database: Path) -> Row:
    """Returns what the run's database says of the encoder's graphs, of seconds a stage, and of pages that failed."""
    with closing(open_for_reading(str(database))) as db:
        found = status(db)
        failures = db.conn.execute(
            "SELECT DISTINCT error_stage, error_category, error_message FROM attempts WHERE error_category IS NOT NULL"
        ).fetchmany(3)
    paths = found.runs[-1].encoder or {}
    kept = ("hits", "misses", "eager", "padding_share", "graph_mib", "capture_seconds", "budgets", "left_out")
    return {
        "encoder": {path: {key: stats.get(key) for key in kept} for path, stats in paths.items()},
        "stages_s": {stage.stage: round(stage.total_s, 3) for stage in found.stages},
        "failures": [": ".join(map(str, failure))[:500] for failure in failures],
    }


def _busy(summary: Any, config: Config) -> dict[str, float]:
    """Returns each stage's busy seconds, added up over its processes where it has several."""
    shares = dict.fromkeys(("discover", "render"), render_workers(config))
    return {
        stage.name: round(stage.busy * summary.wall_s * shares.get(stage.name, 1), 3)
        for stage in summary.stages
    }


@contextmanager
def _warnings() -> Iterator[list[str]]:
    found: list[str] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage()[:500])

    handler, logger = Keeping(logging.WARNING), logging.getLogger("ocrbatch")
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
