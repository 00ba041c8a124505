"""Stage store: writes results and documents as database records, each whole or not at all."""

from dataclasses import replace

from pipeline.types import InputFile, PageResult
from storage.records.store import Store
from storage.strings.text import storable
from storage.types import AttemptFacts, FileFacts, FileRecord, PageRecord, facts_of
from storage.words import packed_for


def store_page(
    store: Store, run_id: int, settings_hash: str, *attempts: PageResult, attempt_limit: int | None = None
) -> None:
    """Writes a run's attempts at one page; the database adds the time that writing took as its own stage.

    attempt_limit: number of runs after which a page that was still not read is quarantined; None for never.
    """
    records = [page_record(attempt, settings_hash) for attempt in attempts]
    store.record_page(run_id, *records, attempt_limit=attempt_limit)


def store_first(store: Store, run_id: int, settings_hash: str, first: PageResult) -> None:
    """Writes a page's first reading while a better one is being made."""
    store.record_first(run_id, page_record(first, settings_hash))


def store_document(store: Store, run_id: int, document: InputFile, stamp: str | None = None) -> None:
    """Writes the record of an input file. stamp: what to know it by, as in FileRecord."""
    store.record_file(run_id, FileRecord(**facts_of(document, FileFacts), stamp=stamp))


def page_record(result: PageResult, settings_hash: str) -> PageRecord:
    """Returns an attempt at a page as a database record."""
    parsed = result.parsed
    return PageRecord(
        sha256=result.page.sha256,
        page_index=result.page.page_index,
        settings_hash=settings_hash,
        text=None if parsed is None else parsed.text,
        markdown=None if parsed is None else parsed.markdown,
        blocks=() if parsed is None else parsed.blocks,
        words=() if parsed is None else parsed.words,
        **facts_of(result, AttemptFacts),
    )


def packed(result: PageResult) -> PageResult:
    """Returns a result with its words packed as the database keeps them, to be sent to another process.

    Hundreds of words take 2 ms to be taken apart there, and as long to be packed: too much for the one process that
    stores what many read.
    """
    parsed = result.parsed
    if parsed is None or not parsed.words:
        return result
    words = packed_for(storable(parsed.text), parsed.words)
    return replace(result, parsed=replace(parsed, words=()), packed_words=words)
