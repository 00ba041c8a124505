"""What is to be read of documents, and how they are counted."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from pipeline.config.schema import Config
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.selection import PROBES_AHEAD, InputCounts, Selection, probe_all
from pipeline.ingest.walk import Candidate, Found
from pipeline.types import DocumentStatus, InputFile
from storage.types import PagePlan


def document(content: str, num_pages: int = 3, status: DocumentStatus = "ok") -> InputFile:
    sha256 = content * 64 if content else None
    return InputFile(
        path="a.pdf", sha256=sha256, size_bytes=1, kind="pdf", num_pages=num_pages, status=status
    )


def planned(config: Config, *documents: InputFile) -> tuple[list[PagePlan], InputCounts, list[Any]]:
    """The plans of documents of which the database says: the first page is done, the last given up."""
    counts, asked = InputCounts(), []

    async def ask(sha256: str, pages: Sequence[int], settings_hash: str, **rules: Any) -> PagePlan:
        asked.append((sha256[0], *pages, settings_hash, rules["force"]))
        return PagePlan(
            to_read=tuple(pages[1:-1]), done=(pages[0],), given_up=(pages[-1],), doubtful=(pages[0],)
        )

    async def plans() -> list[PagePlan]:
        selection = Selection(config, "s", counts, ask)
        return [await selection.plan(one) for one in documents]

    return asyncio.run(plans()), counts, asked


def test_a_copy_and_what_cannot_be_read_are_counted_alone() -> None:
    plans, counts, asked = planned(Config(), document("1"), document("1"), document("", 0, "broken"))
    assert [plan.to_read for plan in plans] == [(1,), (), ()]
    assert asked == [("1", 0, 1, 2, "s", False)]
    assert counts == InputCounts(
        documents={"ok": 2, "broken": 1},  # type: ignore[arg-type]
        num_copies=1,
        num_found=3,
        num_to_read=1,
        num_done_before=1,
        num_doubtful_before=1,
        num_given_up=1,
    )


def test_what_is_planned_again_is_counted_once_and_a_copy_stays_one() -> None:
    counts = InputCounts()

    async def ask(sha256: str, pages: Sequence[int], settings_hash: str, **rules: Any) -> PagePlan:
        return PagePlan(to_read=tuple(pages), done=(), given_up=())

    async def plans() -> list[PagePlan]:
        selection = Selection(Config(), "s", counts, ask)
        copy = replace(document("1"), path="b.pdf")
        first = [await selection.plan(one) for one in (document("1"), copy)]
        return [*first, *[await selection.plan(one, again=True) for one in (document("1"), copy)]]

    assert [plan.to_read for plan in asyncio.run(plans())] == [(0, 1, 2), (), (0, 1, 2), ()]
    assert (counts.documents["ok"], counts.num_copies, counts.num_to_read) == (2, 1, 3)


def test_pages_over_the_limit_are_left_out() -> None:
    config = Config.model_validate({"ingest": {"pages": "2-", "max_pages_per_document": 3}})
    _, counts, asked = planned(config, document("1", 9))
    assert asked == [("1", 1, 2, 3, "s", False)]
    assert (counts.num_found, counts.num_left_out) == (9, 5)


def test_a_document_without_any_page_that_was_asked_for_is_told() -> None:
    config = Config.model_validate({"ingest": {"pages": "7-9"}})
    counts = InputCounts()

    async def ask(sha256: str, pages: Sequence[int], settings_hash: str, **rules: Any) -> PagePlan:
        return PagePlan(to_read=tuple(pages), done=(), given_up=())

    async def plans() -> list[PagePlan]:
        selection = Selection(config, "s", counts, ask)
        return [await selection.plan(document(*one)) for one in (("1", 3), ("2", 8))]

    assert [plan.to_read for plan in asyncio.run(plans())] == [(), (6, 7)]
    assert (counts.num_beside, counts.beside) == (1, [(document("1", 3).path, 3)])


class Workers:
    """Probes that end when they are told to."""

    def __init__(self) -> None:
        self.probes: list[tuple[str, Future[InputFile]]] = []

    def probe(self, path: str, frames: tuple[str, ...]) -> Future[InputFile]:
        assert frames == ()
        self.probes.append((path, Future()))
        return self.probes[-1][1]


async def unknown(found: Candidate) -> InputFile | None:
    return None


def files(number: int) -> Iterator[Found]:
    yield from (Candidate(path=f"{n}.pdf", relative=f"{n}.pdf") for n in range(number))


def test_few_files_are_probed_at_a_time_and_each_is_taken_at_once() -> None:
    taken: list[tuple[int, str]] = []

    async def take(number: int, found: InputFile) -> None:
        taken.append((number, found.path))

    async def probe() -> None:
        workers: Any = Workers()
        with closing(Inputs(files(PROBES_AHEAD + 1))) as inputs:
            probing = asyncio.create_task(probe_all(inputs, workers, take, unknown))
            while len(workers.probes) < PROBES_AHEAD:
                await asyncio.sleep(0.001)
            assert [path for path, _ in workers.probes] == [f"{n}.pdf" for n in range(PROBES_AHEAD)]
            workers.probes[1][1].set_result(document("1"))
            while len(workers.probes) == PROBES_AHEAD:
                await asyncio.sleep(0.001)
            assert taken == [(2, "a.pdf")]
            for _, future in (workers.probes[0], *workers.probes[2:]):
                future.set_result(document("1"))
            await probing

    asyncio.run(probe())
    assert sorted(number for number, _ in taken) == list(range(1, PROBES_AHEAD + 2))


def test_what_ends_the_probing_is_raised_itself() -> None:
    async def take(number: int, found: InputFile) -> None:
        raise RuntimeError("no worker")

    async def probe() -> None:
        workers: Any = Workers()
        with closing(Inputs(iter([document("1")]))) as inputs:
            await probe_all(inputs, workers, take, unknown)

    with pytest.raises(RuntimeError, match="no worker"):
        asyncio.run(probe())
