"""Selects the pages to read: has input files probed, counts them, and leaves out copies and pages that are done.

A run and its plan share it, so that the one reads what the other foretells.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pipeline.config.page_selection import select_pages
from pipeline.config.schema import Config
from pipeline.ingest.inputs import InputFiles
from pipeline.ingest.seen_names import SeenNames
from pipeline.ingest.walk import Candidate, Found
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.types import InputFile
from storage.types import PagePlan

# Most files being probed at a time.
PROBES_AHEAD = 16
_NAMED = 10
_NOTHING = PagePlan(to_read=(), done=(), given_up=())


@dataclass(slots=True, kw_only=True)
class InputCounts:
    """The counts of the files probed so far and of their pages. Mutable: `Selection` adds to it.

    documents: document status -> files. num_copies: files with the content of another. num_found: pages of all readable
    documents, without copies; the other numbers are of these. num_left_out: over the limit per document. num_to_read:
    to read in this run. num_done_before: read before with the same settings. num_doubtful_before: the doubtful ones of
    these. num_given_up: not read well in as many earlier runs as are allowed. num_kept: not read well either, but with
    a text read with other settings instead. num_beside: readable documents, without copies, that have none of the pages
    that were asked for; beside: the path and number of pages of the first of them. told: what a run's end says of
    files, with what to do -> files.
    """

    documents: Counter[str] = field(default_factory=Counter)
    num_copies: int = 0
    num_found: int = 0
    num_left_out: int = 0
    num_to_read: int = 0
    num_done_before: int = 0
    num_doubtful_before: int = 0
    num_given_up: int = 0
    num_kept: int = 0
    num_beside: int = 0
    beside: list[tuple[str, int]] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)


class Selection:
    """Selects pages of documents. Use it from one thread only.

    ask: returns the database's plan for pages; called like storage.records.store.Store.plan_pages. counts: are updated
    with every document.
    """

    def __init__(
        self,
        config: Config,
        settings_hash: str,
        counts: InputCounts,
        ask: Callable[..., Awaitable[PagePlan]],
    ) -> None:
        self._config, self._settings_hash, self._counts, self._ask = config, settings_hash, counts, ask
        self._contents = SeenNames()

    async def plan(self, document: InputFile, *, again: bool = False) -> PagePlan:
        """Counts a document and returns what is to be read of it.

        That is nothing of one that cannot be read, and of a copy of an earlier file: its pages share the same rows.
        again: it was counted before, and who was to read it did not.
        """
        counts = InputCounts() if again else self._counts
        counts.documents[document.status] += 1
        if document.is_told and document.reason:
            counts.told[document.reason] += 1
        if document.status != "ok":
            return _NOTHING
        assert document.sha256 is not None
        is_new = self._contents.add(document.sha256, document.path)
        if not is_new and not (again and self._contents.is_owner(document.sha256, document.path)):
            counts.num_copies += 1
            return _NOTHING
        ingest = self._config.ingest
        wanted, num_left_out = select_pages(document.num_pages, ingest.pages, ingest.max_pages_per_document)
        if not wanted and document.num_pages and ingest.pages is not None:
            counts.num_beside += 1
            if len(counts.beside) < _NAMED:
                counts.beside.append((document.path, document.num_pages))
        plan = await self._ask(
            document.sha256,
            wanted,
            self._settings_hash,
            attempt_limit=self._config.store.attempt_limit,
            force=self._config.run.force,
            retry_failed=self._config.run.retry_failed,
        )
        counts.num_found += document.num_pages
        counts.num_left_out += num_left_out
        counts.num_to_read += len(plan.to_read)
        counts.num_done_before += len(plan.done)
        counts.num_doubtful_before += len(plan.doubtful)
        counts.num_given_up += len(plan.given_up) - len(plan.kept)
        counts.num_kept += len(plan.kept)
        return plan


async def probe_all(
    inputs: InputFiles,
    workers: WorkerPool,
    take: Callable[[int, InputFile], Awaitable[None]],
    known: Callable[[Candidate], Awaitable[InputFile | None]],
) -> None:
    """Probes all inputs that are not known and awaits take(number, document) for each, as soon as it is probed.

    Files are probed in the order they were found, which their numbers say; at most PROBES_AHEAD are being probed or
    taken at a time. Raises: what the workers or take() raised first.
    """
    room = asyncio.Semaphore(PROBES_AHEAD)

    async def look_into(number: int, found: Found) -> None:
        try:
            await take(number, await _probed(found, workers, known))
        finally:
            room.release()

    try:
        async with asyncio.TaskGroup() as tasks:
            while (found := await asyncio.wrap_future(inputs.take())) is not None:
                await room.acquire()
                tasks.create_task(look_into(inputs.num_taken, found))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def _probed(
    found: Found, workers: WorkerPool, known: Callable[[Candidate], Awaitable[InputFile | None]]
) -> InputFile:
    if isinstance(found, InputFile):
        return found
    if found.stamp is not None and (document := await known(found)) is not None:
        return document
    return await asyncio.wrap_future(workers.probe(found.path, found.frames))
