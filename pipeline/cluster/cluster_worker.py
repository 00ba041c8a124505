"""A worker: reads the files that a run hands it with workers and models of its own; the run stores what it reads.

Pixels never leave it. What it knows of the database it asks the run.
"""

import logging
import os
import socket
import time
from functools import partial
from typing import TYPE_CHECKING

from pipeline.cluster.request_handler import RequestHandler
from pipeline.cluster.worker_channel import (
    RemoteInputs,
    RemotePlanner,
    RemoteProgress,
    RemoteRecords,
    WorkerChannel,
)
from pipeline.cluster.worker_messages import Failed, LoadedOn, Report
from pipeline.config.passwords import read_passwords
from pipeline.config.schema import Config, completed
from pipeline.device.open_models import opened
from pipeline.device.startup.loading import calm_threads, is_model_likely, load_model, with_word_use
from pipeline.errors import StopRequest
from pipeline.reports.summary import RunSummary
from pipeline.run.batch_reading import Reading
from pipeline.run.ledger import Ledger
from pipeline.timing import Stopwatch

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel

LOGGER = logging.getLogger("ocrbatch")


def work(channel: WorkerChannel, config: Config, run_id: int, settings_hash: str) -> None:
    """Reads until the run has no more files, or it is stopped; the last that it sends is its Report, or Failed."""
    with_run = _ToRun(channel)
    LOGGER.addHandler(with_run)
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
    channel.tell(RequestHandler.started, socket.gethostname() + (f", GPU {gpus}" if gpus else ""))
    try:
        channel.send(_read(channel, config, run_id, settings_hash))
    except BaseException as error:
        channel.send(Failed(error=error))
    finally:
        LOGGER.removeHandler(with_run)


def _read(channel: WorkerChannel, config: Config, run_id: int, settings_hash: str) -> Report:
    config = with_word_use(completed(config))
    summary = RunSummary(database=config.store.database)
    records, progress = RemoteRecords(channel), RemoteProgress(channel)
    ledger = Ledger(config, records, run_id, settings_hash, progress, summary)
    watch, inputs = Stopwatch(), RemoteInputs(channel)
    if not inputs.begin():
        return Report()
    with opened(config, partial(_load, channel)) as models:
        if models.lines is None and is_model_likely(config):
            models.expect()
        reading = Reading(ledger, channel.stop, models, read_passwords(config.ingest), RemotePlanner(channel))
        try:
            with watch.measure():
                reading.read(inputs)
        except StopRequest:
            LOGGER.debug("stopped")
        return Report(
            wall_s=watch.seconds,
            stages=tuple(reading.stages(watch.seconds)),
            did=reading.figures(),
        )


def _load(channel: WorkerChannel, config: Config) -> "PageModel":
    """Returns the configured model, and tells the run that it is loaded."""
    calm_threads()
    from pipeline.device.threads.streams import gpu_name

    imported_at = time.perf_counter()
    loaded = load_model(config)
    device, now = loaded.device, time.perf_counter()
    on = LoadedOn(device=device.type, gpu=gpu_name(device), imported_at=imported_at, loaded_at=now)
    channel.tell(RequestHandler.loaded, on)
    return loaded


class _ToRun(logging.Handler):
    """Sends the run what is logged."""

    def __init__(self, channel: WorkerChannel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        self._channel.tell(RequestHandler.said, record.levelno, record.getMessage())
