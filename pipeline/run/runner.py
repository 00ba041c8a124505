"""Runs a batch: files go through the workers and the model into the database.

Here is the beginning and the end of every run, whoever reads (`Reads`); what happens in between is the pages' flow
(pipeline.run.flow), in this process or in workers (pipeline.cluster).
"""

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from pipeline.config.encoder_section import graph_settings
from pipeline.config.passwords import read_passwords
from pipeline.config.schema import (
    Config,
    check_pages,
    check_ranks,
    completed,
    ingest_settings,
    models_sha256,
    other_models,
    own_files,
    reads_lines,
    resolved,
    settings_hash,
    tile_mode,
)
from pipeline.device.open_models import opened
from pipeline.device.startup.loading import is_model_likely, with_word_use
from pipeline.errors import ConfigError, StopRequest, exit_code
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import Found, walk
from pipeline.meter import StageUse
from pipeline.reports.summary import ModelFigures, Progress, RunSummary
from pipeline.run.batch_reading import Reading
from pipeline.run.ending import check_database, count_left, finish, mark_missing
from pipeline.run.ledger import Ledger
from pipeline.run.versions import versions
from pipeline.run.writer import Writer
from pipeline.stop import Stop
from pipeline.timing import Stopwatch
from storage.errors import DatabaseGoneError
from storage.records.store import Store
from storage.types import RunRecord

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel

LOGGER = logging.getLogger("ocrbatch")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A run before its database is touched. config: completed for its model. found: its inputs. record: its row."""

    config: Config
    passwords: tuple[str, ...]
    found: Iterator[Found]
    record: RunRecord


def prepared(config: Config, stop: Stop) -> Prepared:
    """Finds what is wrong with a configuration before its database is touched.

    Raises: ConfigError, CheckpointError; StopRequest.
    """
    if not config.ingest.paths and config.ingest.manifest is None:
        raise ConfigError("nothing to read: name files or folders, or set ingest.paths in the configuration")
    if reads_lines(config) and not other_models(config):
        idle = {"dtype", "tile", "decode"} | ({"encoder"} if config.device == "cpu" else set())
        for name, own in config.model_dump(include=idle, exclude_defaults=True).items():
            for key in [f"{name}.{each}" for each in own] if isinstance(own, dict) else [name]:
                LOGGER.warning("%s has no effect: lines are read, by no page model", key)
    config = completed(config)
    check_ranks(config)
    check_pages(config)
    passwords = stop.while_doing(lambda: read_passwords(config.ingest))
    # A path may be on an unreachable file server.
    found = stop.while_doing(lambda: walk(config.ingest.paths, ingest_settings(config), own_files(config)))
    graph_settings(config.encoder, tile_mode(config))
    weights, all_weights = stop.while_doing(lambda: models_sha256(config))
    hash_ = settings_hash(resolved(config), all_weights)
    record = RunRecord(
        settings_hash=hash_,
        config=config.model_dump(mode="json"),
        model=config.model,
        weights_sha256=weights,
        versions=versions(),
    )
    return Prepared(config=config, passwords=passwords, found=found, record=record)


class Reads(Protocol):
    """What reads a run's inputs: models of this process, or workers. Reads once."""

    def read(self, inputs: Inputs) -> None:
        """Reads all inputs. Raises what ended it early; what was read by then is stored."""

    def figures(self) -> ModelFigures:
        """Returns what the models did, once all is read."""

    def stages(self, wall_s: float) -> list[StageUse]:
        """Returns where each stage's time went."""


def run(
    config: Config,
    progress: Progress,
    stop: Stop,
    load: "Callable[[Config], PageModel] | None" = None,
    summary: RunSummary | None = None,
) -> RunSummary:
    """Reads every page that the configuration names in this process, and returns the run's summary.

    A wrong path, model name or budget is found before the database is touched. load: loads a model other than the
    configured one. summary: is filled in and returned, so that a caller has it even when the run raises.

    Raises: ConfigError, CheckpointError, StorageError, ModelMemoryError, DeviceLostError; StopRequest before the run
    has begun.
    """
    ready = prepared(config, stop)
    ready = dataclasses.replace(ready, config=with_word_use(ready.config))

    @contextlib.contextmanager
    def here(ledger: Ledger) -> Iterator[Reading]:
        with opened(ledger.config, load) as models:
            num_runs = ledger.writer.call(Store.num_runs, ledger.settings_hash).result()
            if is_model_likely(ledger.config) and num_runs == 1:
                models.expect()  # nothing was read with these settings yet, so there will be pages to read
            yield Reading(ledger, stop, models, ready.passwords)

    return executed(ready, progress, stop, summary, here)


def executed(
    ready: Prepared,
    progress: Progress,
    stop: Stop,
    summary: RunSummary | None,
    opening: Callable[[Ledger], contextlib.AbstractContextManager[Reads]],
) -> RunSummary:
    """Executes a run: its row, its reading, its end; returns its summary. opening: opens what reads its inputs."""
    with contextlib.ExitStack() as closing:
        writer = closing.enter_context(Writer(ready.config.store.database))
        inputs = closing.enter_context(contextlib.closing(Inputs(ready.found)))
        run_id = writer.call(Store.start_run, ready.record).result()
        summary = summary or RunSummary(database=ready.config.store.database)
        summary.run_id = run_id
        ledger = Ledger(ready.config, writer, run_id, ready.record.settings_hash, progress, summary)
        _execute(ledger, stop, inputs, closing.enter_context(opening(ledger)))
    return summary


def _execute(ledger: Ledger, stop: Stop, inputs: Inputs, reading: Reads) -> None:
    """Reads all inputs; a requested stop is a normal end. Always closes the run's row."""
    watch, summary = Stopwatch(), ledger.summary
    try:
        with watch.measure():
            reading.read(inputs)
            mark_missing(ledger, stop)
    except StopRequest as request:
        summary.stopped = str(request)
        count_left(summary, inputs)
    except BaseException as error:
        try:
            count_left(summary, inputs)
            finish(ledger, reading.figures(), reading.stages(watch.seconds), exit_code(error), watch.seconds)
            check_database(ledger)
        except DatabaseGoneError as gone:
            raise gone from error
        except Exception:  # the error that ended the run is the one to report
            LOGGER.debug("the run's end could not be recorded", exc_info=True)
        raise
    finish(ledger, reading.figures(), reading.stages(watch.seconds), summary.exit_code, watch.seconds)
    check_database(ledger)
