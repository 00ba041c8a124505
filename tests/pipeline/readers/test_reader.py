"""What a run asks of a reader holds for each: text layers, lines, page models, the README's toy and the tests' fake."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from encoders.views import PageViews
from ocr.model_files.locate import LINES, find_directory
from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.device.line_readers import LineReaders
from pipeline.device.startup.loading import load_model
from pipeline.device.threads.page_reader import PageReader
from pipeline.readers.reader import Reader
from pipeline.readers.reader_plan import LineByLine
from pipeline.readers.text_layers import TextLayers
from pipeline.readers.whole_pages import WholePages
from pipeline.types import EmbeddedPage, PageResult, Phase
from tests.pipeline.checkpoints import READS_TEXT
from tests.pipeline.device.fakes import rendered
from tests.pipeline.readers.test_reader_plan import toy
from tests.pipeline.rereading.readings import PAGE
from tests.pipeline.rereading.test_retry import LAYER
from tests.pipeline.run.test_runner_overlap import InlineModel
from tests.pipeline.runs import WAIT_S
from tests.pipeline.stages.test_read_lines import LETTER
from tests.pipeline.stages.test_read_lines import rendered as in_grey

NOBODY: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A reader, a page for it, and one that it cannot read, if there is such. close: ends what it works with."""

    reader: Reader[Any]
    page: Any
    broken: Any = None
    close: Callable[[], None] = lambda: None


def _layer(config: Config) -> Case:
    layer = EmbeddedPage(page=PAGE, layer=LAYER, width_px=1, height_px=1, dpi=72.0, seconds={"render": 0.1})
    return Case(reader=TextLayers(None, NOBODY), page=layer)


def _lines(config: Config) -> Case:
    processes, page = LineReaders(find_directory("small") / LINES, 1, None), in_grey(LETTER)
    broken = replace(page, grey=np.zeros((0, 0), np.uint8))
    return Case(reader=LineByLine(processes), page=page, broken=broken, close=processes.close)


def _model(config: Config) -> Case:
    model = PageReader(config, load_model)
    wrong = PageViews(
        global_view=np.zeros((3, 7, 7), np.uint8),
        local_views=np.zeros((0, 3, 640, 640), np.uint8),
        grid=(1, 1),
    )
    broken = replace(rendered(1), views=wrong)
    return Case(
        reader=WholePages(model, None, NOBODY), page=rendered(0, 512), broken=broken, close=model.close
    )


def _fake(config: Config) -> Case:
    model: Any = InlineModel(config, None)
    return Case(reader=WholePages(model, None, NOBODY), page=rendered())


def _toy(config: Config) -> Case:
    return Case(reader=toy(), page=in_grey(LETTER))


@pytest.fixture(params=[_layer, _lines, _model, _fake, _toy])
def case(request: pytest.FixtureRequest, reader: Path) -> Iterator[Case]:
    config = sources.load(None, READS_TEXT, [("test", {"model": str(reader), "device": "cpu"})])
    found: Case = request.param(config)
    yield found
    found.close()


def test_it_starts_once_reads_and_lets_go_of_no_more_than_the_page_has(case: Case) -> None:
    reader, dropped = case.reader, list[int]()
    assert reader.loading in get_args(Phase)

    async def read() -> PageResult:
        reader.start()
        reader.start()
        await reader.ready(alone=True)
        return await reader.read(case.page, dropped.append)

    result = asyncio.run(asyncio.wait_for(read(), WAIT_S))
    assert (result.page, result.error) == (case.page.page, None)
    assert result.parsed is not None
    assert result.timings
    assert reader.is_ready
    assert not reader.is_loading
    assert sum(dropped) <= case.page.num_bytes


def test_a_page_that_cannot_be_read_or_is_given_up_costs_no_other(case: Case) -> None:
    reader = case.reader

    async def read() -> list[PageResult]:
        given_up = asyncio.ensure_future(reader.read(case.page))
        await asyncio.sleep(0)
        given_up.cancel()
        pages = [case.page] if case.broken is None else [case.broken, case.page]
        return await asyncio.gather(*map(reader.read, pages))

    *failed, result = asyncio.run(asyncio.wait_for(read(), WAIT_S))
    assert result.parsed is not None
    for its in failed:
        assert (its.page, its.status) == (case.broken.page, "failed")
        assert its.error is not None
