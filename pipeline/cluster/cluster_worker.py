"""A worker: reads the files that a run hands it with workers and models of its own; the run stores what it reads.

Pixels never leave it. What it knows of the database it asks the run.
"""

import logging
import os
import socket

from pipeline.cluster.line import Line, RemoteInputs, RemotePlanner, RemoteProgress, RemoteRecords
from pipeline.cluster.worker_messages import Failed, Finished, Report, Said, Started
from pipeline.config.passwords import read_passwords
from pipeline.config.schema import Config, completed
from pipeline.device.startup.loading import with_word_use
from pipeline.errors import StopRequest
from pipeline.reports.summary import RunSummary
from pipeline.run.batch_reading import Reading
from pipeline.run.ledger import Ledger
from pipeline.run.open_models import Models, opened
from pipeline.stop import Stop
from pipeline.timing import Stopwatch

LOGGER = logging.getLogger("ocrbatch")


def work(line: Line, config: Config, run_id: int, settings_hash: str, stop: Stop) -> None:
    """Reads until the run has no more files, or it is stopped; the last thing that it sends is Finished or Failed."""
    with_run = _ToRun(line)
    LOGGER.addHandler(with_run)
    line.tell(Started(where=_where()))
    try:
        line.tell(Finished(report=_read(line, config, run_id, settings_hash, stop)))
    except BaseException as error:
        line.tell(Failed(error=error))
    finally:
        LOGGER.removeHandler(with_run)


def _read(line: Line, config: Config, run_id: int, settings_hash: str, stop: Stop) -> Report:
    config = with_word_use(completed(config))
    summary = RunSummary(database=config.store.database)
    records, progress = RemoteRecords(line), RemoteProgress(line)
    ledger = Ledger(config, records, run_id, settings_hash, progress, summary)
    watch, inputs = Stopwatch(), RemoteInputs(line)
    if not inputs.begin():
        return Report()
    with opened(config) as models:
        reading = Reading(ledger, stop, models, read_passwords(config.ingest), RemotePlanner(line))
        try:
            with watch.measure():
                reading.read(inputs)
        except StopRequest:
            LOGGER.debug("stopped")
        return _report(models, reading, summary, watch.seconds)


def _report(models: Models, reading: Reading, summary: RunSummary, wall_s: float) -> Report:
    stages = tuple(reading.stages(wall_s))
    tokens, steps = zip(*(model.decoded() for model in models.all), strict=True)
    first = models.first
    return Report(
        wall_s=wall_s,
        load_s=first.load_s,
        capture_s=first.capture_s,
        stages=stages,
        num_tokens=sum(tokens),
        num_steps=sum(steps),
        gpu_busy=None if first.gpu is None else first.gpu.busy_share,
        encoder=first.encoder_stats(),
        stored_after=summary.stored_after,
    )


def _where() -> str:
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
    return socket.gethostname() + (f", GPU {gpus}" if gpus else "")


class _ToRun(logging.Handler):
    """Sends the run what is logged."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        self._line.tell(Said(level=record.levelno, message=record.getMessage()))
