"""A run: files through workers to the model to the database. The one place that knows all of them.

The flow reads from top to bottom in `_Run`: documents are planned, pages read in batches, results stored.
A page's failure is a value; `_read` holds the one error boundary, for bugs and exhausted memory. The queues
are in pipeline.feed.
"""

import contextlib
import dataclasses
import gc
import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib import metadata
from itertools import islice, starmap
from platform import python_version
from typing import TYPE_CHECKING

from ocr.fingerprint import weights_sha256
from pipeline.config import Config, ingest_settings, render_settings, settings_hash, tile_settings
from pipeline.encoder_config import graph_settings
from pipeline.errors import ConfigError, DeviceLostError, StopRequest, exit_code
from pipeline.feed import Feed, heaviest_page_bytes
from pipeline.joining import readings
from pipeline.loading import BATCH_SIZES, load_model, open_encoder, open_paged, render_workers
from pipeline.results import failed_result, render_timings
from pipeline.second_look import SecondLook
from pipeline.selection import select_pages
from pipeline.stages.store import store_document, store_page
from pipeline.stop import Stop
from pipeline.summary import Progress, RunSummary
from pipeline.timing import Stopwatch, single, split
from pipeline.types import Document, Page, PageError, PageResult, ReadyPage, RenderedPage, StageTiming
from pipeline.walk import Candidate, walk
from pipeline.workers import WorkerPool
from storage.errors import StorageError
from storage.store import Store
from storage.types import RunRecord

if TYPE_CHECKING:
    from ocr.checkpoint import LoadedModel
    from ocr.paged.reader import PagedReader
    from pipeline.run_encoder import RunEncoder

LOGGER = logging.getLogger("ocrbatch")
_VERSIONS_OF = ("ocrbatch", "torch", "transformers", "tokenizers", "pymupdf", "pillow", "numpy")

# What PyTorch's allocators say, on a GPU and on a CPU.
_NO_MEMORY = ("out of memory", "not enough memory")


def run(config: Config, progress: Progress, stop: Stop) -> RunSummary:
    """Reads everything that the configuration names, and returns what became of it.

    A wrong path, model name or budget is found before the database is touched.

    Raises: ConfigError, CheckpointError, StorageError, DeviceLostError.
    """
    if not config.ingest.paths:
        raise ConfigError("nothing to read: name files or folders, or set ingest.paths in the configuration")
    inputs = walk(config.ingest.paths, ingest_settings(config), [config.store.database])
    graph_settings(config.encoder, config.tile.mode)
    weights = weights_sha256(config.model)
    hash_ = settings_hash(config, weights)
    with Store(config.store.database) as store:
        run_id = store.start_run(
            RunRecord(
                settings_hash=hash_,
                config=config.model_dump(mode="json"),
                model=config.model,
                weights_sha256=weights,
                versions=versions(),
            )
        )
        return _Run(config, store, run_id, hash_, progress, stop).execute(inputs)


def versions() -> dict[str, str]:
    """Returns name -> version of what takes part in a run, without importing any of it."""
    found = {"python": python_version()}
    for name in _VERSIONS_OF:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


class _Run:
    def __init__(
        self, config: Config, store: Store, run_id: int, settings_hash: str, progress: Progress, stop: Stop
    ) -> None:
        self._config = config
        self._store = store
        self._run_id = run_id
        self._settings_hash = settings_hash
        self._progress = progress
        self._stop = stop
        self._summary = RunSummary(database=config.store.database)
        self._loaded: LoadedModel | None = None
        self._encoder: RunEncoder | None = None
        self._paged: PagedReader | None = None
        self._closing = contextlib.ExitStack()
        self._most_pages = 1 << 30  # lowered when a batch exhausts the memory
        self._planned: set[str] = set()
        self._discover: dict[Page, StageTiming] = {}

    def execute(self, inputs: Iterator[Candidate | Document]) -> RunSummary:
        """Returns the summary; a stop is one of the ends a run can have. The run's row is closed always."""
        watch = Stopwatch()
        try:
            with watch.measure(), self._closing:
                self._read_all(inputs)
        except StopRequest as request:
            self._summary.stopped = str(request)
        except BaseException as error:
            with contextlib.suppress(StorageError):
                self._finish(exit_code(error))
            raise
        self._summary.wall_s = watch.seconds
        self._finish(self._summary.exit_code)
        return self._summary

    def _finish(self, code: int) -> None:
        encoder = None if self._encoder is None else self._encoder.record()
        counts = self._summary.counts()
        self._store.finish_run(self._run_id, exit_code=int(code), counts=counts, encoder=encoder)

    def _read_all(self, inputs: Iterator[Candidate | Document]) -> None:
        config, tile = self._config, tile_settings(self._config)
        with WorkerPool(
            max_workers=render_workers(config),
            ingest=ingest_settings(config),
            render=render_settings(config),
            tile=tile,
            page_timeout_s=config.render.page_timeout_s,
            probe_timeout_s=config.ingest.probe_timeout_s,
        ) as workers:
            feed = Feed(
                inputs,
                workers,
                plan=self._plan,
                check=self._stop.check,
                budget_bytes=config.run.inflight_mb << 20,
                page_bytes=heaviest_page_bytes(tile),
            )
            second_look = SecondLook(
                render_fine=partial(workers.render, cut="fine"),
                render_whole=partial(workers.render, cut="never"),
                read=self._read_parts,
                check=self._stop.check,
                below=config.tile.retry_below if tile.parts else 0.0,
            )
            while taken := feed.take(self._batch_size()):
                self._store_all(taken.ended)
                self._store_all(starmap(second_look, self._read(taken.to_read)))
        self._summary.num_missing = self._store.mark_missing(self._run_id, config.ingest.paths)

    def _plan(self, document: Document) -> Sequence[Page]:
        """Records a document and returns those of its pages that are to be read."""
        summary, ingest = self._summary, self._config.ingest
        summary.documents[document.status] += 1
        store_document(self._store, self._run_id, document)
        if document.status != "ok":
            self._progress.document_refused(document)
            return []
        assert document.sha256 is not None
        assert document.kind is not None
        if document.sha256 in self._planned:  # a copy: its pages are the same rows
            return []
        self._planned.add(document.sha256)
        wanted, num_left_out = select_pages(document.num_pages, ingest.pages, ingest.max_pages_per_document)
        plan = self._store.plan_pages(
            document.sha256,
            wanted,
            self._settings_hash,
            attempt_limit=self._config.store.attempt_limit,
            force=self._config.run.force,
        )
        summary.num_left_out += num_left_out
        summary.num_done_before += len(plan.done)
        summary.num_given_up += len(plan.given_up)
        pages = [
            Page(path=document.path, sha256=document.sha256, kind=document.kind, page_index=index)
            for index in plan.to_read
        ]
        self._progress.pages_found(len(pages))
        self._discover.update(zip(pages, split("discover", document.seconds, [1] * len(pages)), strict=True))
        return pages

    def _batch_size(self) -> int:
        device = "cpu" if self._loaded is None else self._loaded.model.lm_head.weight.device.type
        return min(self._config.decode.batch_size or BATCH_SIZES[device], self._most_pages)

    def _read(self, pages: Sequence[ReadyPage]) -> Iterator[tuple[ReadyPage, list[PageResult]]]:
        """Yields each page with the results of its readings, in order, as soon as there are all of them.

        A part counts as much as a page in how many are read at once.
        """
        results = self._results([reading for page in pages for reading in readings(page)])
        for page in pages:
            yield page, list(islice(results, len(readings(page))))

    def _read_parts(self, parts: Sequence[RenderedPage]) -> list[PageResult]:
        return list(self._results(parts))

    def _results(self, rendered: Sequence[RenderedPage]) -> Iterator[PageResult]:
        """Yields a result for each page or part, in order; as many as fit a batch are read at once."""
        waiting = deque(rendered)
        while waiting:
            yield from self._read_batch(
                [waiting.popleft() for _ in range(min(self._batch_size(), len(waiting)))]
            )

    def _read_batch(self, pages: Sequence[RenderedPage]) -> list[PageResult]:
        """Returns a result for each page or part, in order. If a batch fails, its halves are tried."""
        loaded, encoder = self._model()
        from pipeline.stages.decode import decode
        from pipeline.stages.encode import encode

        stage = "encode"
        try:
            with self._stop.interruptible():
                encoder.begin_batch()
                encoded = encode(encoder, pages)
                stage = "decode"
                return decode(loaded, encoded, self._config.decode, self._paged)
        except Exception as error:
            LOGGER.debug("%s failed for %d pages", stage, len(pages), exc_info=error)
            failure = page_error(stage, error)
        # Only here is the batch's memory free again: the exception held the frames that held it.
        gc.collect()
        if failure.category == "out_of_memory" and encoder.release():
            return self._read_batch(pages)
        if len(pages) == 1:
            return [failed_result(pages[0].page, failure, render_timings(pages[0]))]
        half = len(pages) // 2
        if failure.category == "out_of_memory":
            self._most_pages = half
        return [*self._read_batch(pages[:half]), *self._read_batch(pages[half:])]

    def _model(self) -> "tuple[LoadedModel, RunEncoder]":
        """Returns model and encoder, loaded when needed first: a run with nothing to read does without."""
        if self._loaded is None or self._encoder is None:
            watch = Stopwatch()
            with self._stop.interruptible(), watch.measure():
                loaded = load_model(self._config)
                self._encoder = open_encoder(loaded, self._config)
                self._closing.callback(self._encoder.close)
                self._encoder.warm_up()
                if (paged := open_paged(loaded, self._config)) is not None:
                    self._closing.callback(paged.close)
                self._paged = paged
                self._loaded = loaded
            self._summary.load_s = watch.seconds
            self._summary.capture_s = self._encoder.capture_s
            LOGGER.info(
                "model loaded in %.1f s, %.1f s of it for encoder graphs",
                watch.seconds,
                self._encoder.capture_s,
            )
        return self._loaded, self._encoder

    def _store_all(self, results: Iterable[PageResult]) -> None:
        for result in results:
            self._stop.check()
            discover = self._discover.pop(result.page)
            result = dataclasses.replace(result, timings=(discover, *result.timings))
            watch = Stopwatch()
            with watch.measure():
                store_page(self._store, self._run_id, self._settings_hash, result)
            self._summary.pages[result.status] += 1
            self._summary.num_low_confidence += self._is_doubtful(result)
            self._summary.totals.add([*result.timings, single("store", watch.seconds)])
            self._progress.page_done(result)

    def _is_doubtful(self, result: PageResult) -> bool:
        return result.confidence is not None and result.confidence < self._config.store.low_confidence


def page_error(stage: str, error: Exception) -> PageError:
    """Returns the page's failure. Raises: DeviceLostError where no further page could be read either."""
    message = " ".join(f"{type(error).__name__}: {error}".split())[:500]
    if isinstance(error, MemoryError) or any(words in message for words in _NO_MEMORY):
        return PageError(stage=stage, category="out_of_memory", message=message)
    if "CUDA error" in message:
        raise DeviceLostError(
            f"the GPU cannot go on: {message}; finished pages are stored, run again to read the others"
        ) from error
    return PageError(stage=stage, category="internal", message=message)
