"""Settles what a run leaves behind at its end: its row, the files it did not get to or did not find, its database."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from statistics import fmean

from encoders.graphs.stats import merged
from pipeline.device.open_models import Models
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.objects.object_walk import Listings, are_gone, gone
from pipeline.ingest.walk import canonical
from pipeline.meter import StageUse
from pipeline.reports.summary import ModelFigures, RunSummary
from pipeline.run.ledger import Ledger
from pipeline.stop import Stop
from storage.errors import DatabaseGoneError, StorageError
from storage.records.store import Store
from storage.recovery.presence import remedy

LOGGER = logging.getLogger("ocrbatch")
# How often a run checks whether it has to end, and how often that its database is still there.
POLL_S = 0.1
_LOOK_S = 1.0
# How long a run that ends early may spend counting the files it did not get to.
_COUNTING_S = 1.0
# Most quarantined pages that the summary names.
_LISTED = 20


async def watch(ledger: Ledger, stop: Stop, also: Callable[[], None]) -> None:
    """Polls until a run has to end early. also: called each time.

    Raises: StopRequest when a stop was asked for; the database's error; what `also` raises.
    """
    looked, look = time.monotonic(), asyncio.wrap_future(ledger.writer.look())
    while True:
        stop.check()
        if look.done() and time.monotonic() - looked >= _LOOK_S:
            look.result()
            looked, look = time.monotonic(), asyncio.wrap_future(ledger.writer.look())
        also()
        await asyncio.sleep(POLL_S)


def figures(models: Models) -> ModelFigures:
    """Returns what models in this process did."""
    first, lines = models.first, () if models.lines is None else models.lines.devices
    line_stats = merged(device.stats for device in lines if device.stats)
    gpus = [first.gpu] if first.gpu else [device.gpu for device in lines if device.gpu]
    # One that was ready when the last page had been read served none; one that died did, and tells nothing of it.
    used = [device for device in lines if not device.stats or any(its.units for its in device.stats.values())]
    served = [device.served for device in used if device.served is not None]
    names = Counter(one.name for one in served)
    return ModelFigures(
        load_s=first.load_s or max((one.load_s for one in served), default=0.0),
        capture_s=first.capture_s + sum(stats.capture_seconds for stats in line_stats.values()),
        num_tokens=sum(model.num_tokens for model in models.all),
        gpu_busy=fmean(gpu.busy_share for gpu in gpus) if gpus else None,
        encoder={**line_stats, **(first.encoder_stats() or {})} or None,
        read_on=", ".join(name if number == 1 else f"{number} x {name}" for name, number in names.items()),
    )


def finish(ledger: Ledger, did: ModelFigures, stages: list[StageUse], code: int, wall_s: float) -> None:
    """Completes the summary and closes the run's row. stages: where the time went. code: the exit code."""
    summary = ledger.summary
    summary.wall_s, summary.stages, summary.did = wall_s, stages, did
    set_aside = ledger.writer.call(Store.quarantined, ledger.run_id, _LISTED)
    summary.num_quarantined, summary.quarantined = set_aside.result()
    ledger.writer.call(
        Store.finish_run,
        ledger.run_id,
        exit_code=int(code),
        counts=summary.counts(),
        encoder=did.encoder_summary(),
        flow=summary.flow(),
    ).result()


def count_left(summary: RunSummary, inputs: Inputs) -> None:
    """Counts the files that a run which ended early did not get to."""
    num_files, is_all = inputs.count_rest(_COUNTING_S)
    summary.num_documents_left = inputs.num_taken - summary.documents.total() + num_files
    summary.all_documents_known = is_all


def mark_missing(ledger: Ledger, stop: Stop) -> None:
    """Marks stored files that the walk did not find as missing, if they are really gone.

    The file server may have become unreachable, so a stop request interrupts the checks.
    """
    summary, paths = ledger.summary, ledger.config.ingest.paths
    limit_s = ledger.config.ingest.object_timeout_s
    roots = stop.while_doing(lambda: [canonical(path) for path in paths])
    listings, after = Listings(limit_s), 0
    while unseen := ledger.writer.call(Store.unseen_files, ledger.run_id, roots, after=after).result():
        missing = stop.while_doing(partial(gone, unseen, listings))
        summary.num_missing += ledger.writer.call(Store.mark_missing, missing).result()
        after, _ = unseen[-1]
    empty = ledger.writer.call(Store.empty_roots, ledger.run_id, roots, _LISTED).result()
    for root, (num_files, some) in empty.items():
        if stop.while_doing(partial(are_gone, some, listings)):
            summary.empty_paths.append((paths[roots.index(root)], num_files))


def check_database(ledger: Ledger) -> None:
    """Raises DatabaseGoneError, saying where the results are, if the path no longer leads to the database."""
    try:
        ledger.writer.look().result()
    except DatabaseGoneError as error:
        if error.is_side_file:  # closing the database writes the contents of its side file back into it
            raise DatabaseGoneError(f"{error}; nothing is lost; run again to go on") from None
        kept_in = ledger.writer.call(Store.kept_in).result()
        raise DatabaseGoneError(f"{error}; {remedy(ledger.config.store.database, kept_in)}") from None
    except StorageError as error:  # the results are not affected
        LOGGER.debug("the lock: %s", error)
