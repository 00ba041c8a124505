"""Runs a batch: files go through the workers and the model into the database.

Here is a run's beginning and end; what happens in between is the pages' flow (pipeline.run.flow).
"""

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pipeline.config.encoder_section import graph_settings
from pipeline.config.passwords import read_passwords
from pipeline.config.schema import (
    Config,
    completed,
    ingest_settings,
    models_sha256,
    own_files,
    resolved,
    settings_hash,
    tile_mode,
)
from pipeline.device.service import ModelService
from pipeline.device.startup.loading import (
    is_model_likely,
    with_word_use,
)
from pipeline.device.tickets import LoadedOn
from pipeline.errors import ConfigError, StopRequest, exit_code
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import Found, walk
from pipeline.reports.summary import Progress, RunSummary
from pipeline.run.batch_reading import Reading
from pipeline.run.ending import check_database, count_left, figures, finish, mark_missing
from pipeline.run.ledger import Ledger
from pipeline.run.open_models import opened
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
    config = completed(config)
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


def run(
    config: Config,
    progress: Progress,
    stop: Stop,
    load: "Callable[[Config], PageModel] | None" = None,
    summary: RunSummary | None = None,
    when_loaded: Callable[[LoadedOn], None] | None = None,
) -> RunSummary:
    """Reads every page that the configuration names and returns the run's summary.

    A wrong path, model name or budget is found before the database is touched. load: loads a model other than the
    configured one, in this process. summary: is filled in and returned, so that a caller has it even when the run
    raises. when_loaded: called, in any thread, once the first of the model's processes has loaded it.

    Raises: ConfigError, CheckpointError, StorageError, ModelMemoryError, DeviceLostError; StopRequest before the run
    has begun.
    """
    ready = prepared(config, stop)
    config = with_word_use(ready.config)
    with contextlib.ExitStack() as closing:
        writer = closing.enter_context(Writer(config.store.database))
        inputs = closing.enter_context(contextlib.closing(Inputs(ready.found)))
        models = closing.enter_context(opened(config, load, when_loaded))
        if is_model_likely(config) and writer.call(Store.num_runs, ready.record.settings_hash).result() == 0:
            models.expect()  # nothing was read with these settings yet, so there will be pages to read
        run_id = writer.call(Store.start_run, ready.record).result()
        summary = summary or RunSummary(database=config.store.database)
        summary.run_id = run_id
        ledger = Ledger(config, writer, run_id, ready.record.settings_hash, progress, summary)
        reading = Reading(ledger, stop, models, ready.passwords)
        return _Run(ledger, stop, models.all, reading).execute(inputs)


class _Run:
    """A run in this process, once its database has its row."""

    def __init__(self, ledger: Ledger, stop: Stop, models: Sequence[ModelService], reading: Reading) -> None:
        self._ledger, self._stop, self._models, self._reading = ledger, stop, models, reading
        self._summary = ledger.summary

    def execute(self, inputs: Inputs) -> RunSummary:
        """Reads all inputs and returns the summary; a requested stop is a normal end. Always closes the run's row."""
        watch = Stopwatch()
        try:
            with watch.measure():
                self._reading.read(inputs)
                mark_missing(self._ledger, self._stop)
        except StopRequest as request:
            self._summary.stopped = str(request)
            count_left(self._summary, inputs)
        except BaseException as error:
            try:
                count_left(self._summary, inputs)
                self._finish(exit_code(error), watch.seconds)
                check_database(self._ledger)
            except DatabaseGoneError as gone:
                raise gone from error
            except Exception:  # the error that ended the run is the one to report
                LOGGER.debug("the run's end could not be recorded", exc_info=True)
            raise
        self._finish(self._summary.exit_code, watch.seconds)
        check_database(self._ledger)
        return self._summary

    def _finish(self, code: int, wall_s: float) -> None:
        finish(self._ledger, figures(self._models), self._reading.stages(wall_s), code, wall_s)
