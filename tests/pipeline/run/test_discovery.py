"""From found files to the pages to read, with workers that look into nothing."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from typing import Any

import pytest

from pipeline.config.schema import Config
from pipeline.config.sources import load
from pipeline.documents.settings import IngestSettings
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.objects.spool import Spool
from pipeline.ingest.walk import Candidate, Found
from pipeline.reports.progress import Silent
from pipeline.reports.summary import RunSummary
from pipeline.run.discovery import Discovery
from pipeline.run.ledger import Ledger
from pipeline.run.writer import Writer
from pipeline.types import InputFile, Kind, LayerUse, Page
from storage.records.store import Store
from tests.pipeline.runs import rows
from tests.storage.sample_records import a_run, died_with


class Workers:
    """A file named 7:3 has the content 7 and three pages, one named 7:3:image three frames."""

    def probe(self, path: str, frames: tuple[str, ...] = ()) -> Future[InputFile]:
        content, num_pages, *kind = path.split(":")
        found: Future[InputFile] = Future()
        found.set_result(
            InputFile(
                path=path,
                sha256=content * 64,
                size_bytes=1,
                kind="image" if kind == ["image"] else "pdf",
                num_pages=int(num_pages),
                status="ok",
                seconds=0.5,
            )
        )
        return found

    spool = Spool(IngestSettings())


def files(*paths: str) -> Iterator[Found]:
    yield from (Candidate(path=path, relative=path) for path in paths)


class Discovered:
    """A discovery of these inputs, with its finds. loads: how often the model was asked for."""

    def __init__(self, config: Config, database: str, inputs: Iterator[Found]) -> None:
        self.loads = 0
        self.summary = RunSummary(database=database)
        with Writer(database) as writer, closing(Inputs(inputs)) as taken:
            run_id = writer.call(Store.start_run, a_run()).result()
            ledger = Ledger(config, writer, run_id, "s" * 64, Silent(), self.summary)
            self.pages = asyncio.run(self._all(ledger, taken))

    async def _all(self, ledger: Ledger, inputs: Inputs) -> list[Page]:
        pages: asyncio.Queue[Sequence[Page] | None] = asyncio.Queue()
        workers: Any = Workers()
        discovery = Discovery(ledger, workers, self._load)
        await discovery.all(inputs, pages)
        self.last = [page.page_number for page in discovery.last]
        self.alone = [(times, page.page_number) for times, page in discovery.alone]
        found = [pages.get_nowait() for _ in range(pages.qsize())]
        assert found[-1] is None
        self.lots = [[page.page_number for page in lot] for lot in found[:-1] if lot is not None]
        return [page for lot in found[:-1] if lot is not None for page in lot]

    def _load(self) -> None:
        self.loads += 1


def test_pages_come_in_the_order_of_files_and_a_copy_gives_none(database: str) -> None:
    found = Discovered(Config(text_layer="ignore"), database, files("1:2", "2:1", "1:2:copy"))
    assert [(page.path, page.page_number) for page in found.pages] == [("1:2", 1), ("1:2", 2), ("2:1", 1)]
    assert (found.summary.documents, found.summary.num_to_read) == ({"ok": 3}, 3)
    assert found.loads == 2
    assert [row["status"] for row in rows(database)] == ["pending"] * 5


def test_pages_of_one_prompt_follow_each_other_and_are_cut_by_their_numbers_alone(database: str) -> None:
    config = load(None, ["text_layer=ignore", "decode.pages_per_prompt=3", "ingest.pages=1-4,6,8-9"])
    found = Discovered(config, database, files("1:9", "2:1"))
    assert found.lots == [[1, 2, 3], [4], [6], [8, 9], [1]]
    one_by_one = Discovered(Config(text_layer="ignore"), database, files("1:9"))
    assert one_by_one.lots == [[number] for number in range(1, 10)]


def test_what_is_refused_is_recorded_and_needs_no_model(database: str) -> None:
    pipe = InputFile(path="p", status="skipped", reason="a pipe")
    found = Discovered(Config(), database, iter([pipe]))
    assert (found.pages, found.summary.documents, found.loads) == ([], {"skipped": 1}, 0)


def test_pages_that_are_not_wanted_are_counted_as_left_out(database: str) -> None:
    config = load(None, ["ingest.max_pages_per_document=2", "text_layer=prefer"])
    found = Discovered(config, database, files("1:5"))
    assert [page.page_number for page in found.pages] == [1, 2]
    assert (found.summary.num_left_out, found.loads) == (3, 0)


@pytest.mark.parametrize(
    ("use", "kind", "loads"), [("auto", "pdf", 0), ("fallback", "pdf", 1), ("auto", "image", 1)]
)
def test_no_model_is_loaded_for_pdfs_before_one_of_them_is_to_be_read(
    database: str, use: LayerUse, kind: Kind, loads: int
) -> None:
    found = Discovered(Config(text_layer=use), database, files(f"1:2:{kind}"))
    assert (len(found.pages), found.loads) == (2, loads)


def test_pages_that_runs_died_with_are_kept_for_the_end(database: str) -> None:
    config = Config(text_layer="ignore")
    Discovered(config, database, files("1:4"))
    for indices in [(1, 2, 3), (3,)]:
        died_with(database, "1" * 64, indices)
    found = Discovered(config, database, files("1:4"))
    assert [page.page_number for page in found.pages] == [1]
    assert (found.last, found.alone) == ([2, 3], [(2, 4)])
    assert (found.summary.num_to_read, found.loads) == (4, 1)
