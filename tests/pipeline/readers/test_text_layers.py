"""Typefaces that say something else than is drawn are found, once for a document, by reading some of their words."""

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.schema import Config, render_settings
from pipeline.device.open_models import Models
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.ingest.workers.worker import render_task
from pipeline.readers.reader_plan import ReaderPlan
from pipeline.readers.text_layers import FontLooks, agree
from pipeline.rereading.attempts import Attempts
from pipeline.stages.read_lines import read_lines, read_samples
from pipeline.types import EmbeddedPage, FontSample, Page, PageResult, ReadyPage, RenderedPage
from storage.types import PageError
from tests.ocr.line_reader.printed import shipped
from tests.pipeline.text_layer.wrong_maps import Line, mapped_page

BILL = ("Boards 2400 mm", "Invoice 3917 of 26.05.2024", "Total 1.184,05 EUR", "Account 0532 0130 68 75")
LETTER = "The harbour lay quiet in the early light and the boats were heavy with their catch"


def lines_of(*texts: str) -> list[Line]:
    return [((50.0, 80.0 + 22 * number), text, True) for number, text in enumerate(texts)]


class Lines:
    """Reads in this process what processes of their own read otherwise. asked: the typefaces it was shown."""

    def __init__(self) -> None:
        self.reader = shipped()
        self.asked: list[str] = []

    def samples(self, samples: Sequence[FontSample]) -> Future[list[str]]:
        self.asked.append(samples[0].font)
        return done(read_samples(samples, self.reader))

    def read(self, rendered: RenderedPage) -> Future[PageResult]:
        return done(read_lines(rendered, self.reader))


class Workers:
    """Renders in this process."""

    render_settings = RenderSettings(text_layer="auto")
    layer = None

    def render(self, page: Page, render: RenderSettings | None = None) -> Future[ReadyPage | PageError]:
        return done(render_task(page, render or self.render_settings, TileSettings(lines=True)))


def done(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


@pytest.fixture(scope="module")
def lines() -> Lines:
    return Lines()


def made(path: Path, data: bytes, lines: Lines, times: int = 1) -> list[PageResult]:
    """Returns the result of reading a page, as often as told."""
    path.write_bytes(data)
    lines.asked.clear()
    page = Page(path=str(path), sha256=hashlib.sha256(data).hexdigest(), kind="pdf", page_index=0)
    workers: Any = Workers()
    reader: Any = lines

    async def read() -> list[PageResult]:
        attempts = Attempts(
            Config(), workers, ReaderPlan(Config(), Models(first=reader, lines=reader), workers)
        )
        pages = [attempts(page, workers.render(page).result(), lambda num_bytes: None) for _ in range(times)]
        return [attempt for its in await asyncio.gather(*pages) for attempt in its]  # type: ignore[union-attr]

    return asyncio.run(read())


@pytest.mark.parametrize("exchanged", ["0123456789>5678901234", "0123456789>0173456289", "68>86"])
def test_exchanged_digits_are_read(tmp_path: Path, lines: Lines, exchanged: str) -> None:
    says = str.maketrans(*exchanged.split(">"))
    (result,) = made(
        tmp_path / "a.pdf", mapped_page(lines_of(LETTER, *BILL), lambda char: char.translate(says)), lines
    )
    assert (result.status, result.source) == ("ok", "ocr")
    assert result.parsed is not None
    assert [line for line in BILL if line not in result.parsed.text] == []


@pytest.mark.parametrize("says", ['"7+%-', "Ebqmd", "21345"])
def test_a_word_on_a_form_that_says_something_else_is_read(tmp_path: Path, lines: Lines, says: str) -> None:
    table = str.maketrans("Phone", says)
    (result,) = made(
        tmp_path / "a.pdf", mapped_page(lines_of("Phone"), lambda char: char.translate(table)), lines
    )
    assert result.source == "ocr"
    assert result.parsed is not None
    assert result.parsed.text == "Phone"


@pytest.mark.parametrize("face", ["tiro", "hebo", "cour", "tiit"])
def test_typefaces_that_say_what_they_show_are_not_even_looked_at(
    tmp_path: Path, lines: Lines, face: str
) -> None:
    data = mapped_page(lines_of(LETTER, *BILL, "0123456789"), lambda char: char, face=face)
    (result,) = made(tmp_path / "a.pdf", data, lines)
    assert (result.status, result.source, lines.asked) == ("embedded", "layer", [])
    assert result.parsed is not None
    assert [line for line in BILL if line not in result.parsed.text] == []


def test_a_typeface_is_looked_at_once_for_all_pages_of_a_document(tmp_path: Path, lines: Lines) -> None:
    says = str.maketrans("68", "86")
    data = mapped_page(lines_of(LETTER, *BILL), lambda char: char.translate(says))
    results = made(tmp_path / "a.pdf", data, lines, times=3)
    assert [result.source for result in results] == ["ocr"] * 3
    assert len(lines.asked) == 1


def test_unusual_typefaces_are_right_where_they_are_read_as_they_say() -> None:
    assert agree(["Total", "1.184,05", "Boards"], ["Tolal", "1.184,05", "Boards"])
    assert agree(["17", "2024", "396", "31"], ["17", "2024", "", "81"])
    assert not agree(["Total", "1.384,05", "33"], ["Total", "1.834,05", "88"])
    assert not agree(["17", "2024"], ["", ""])


def test_what_cannot_be_shown_to_the_line_reader_is_not_trusted(tmp_path: Path) -> None:
    class Broken:
        def samples(self, samples: Sequence[FontSample]) -> Future[list[str]]:
            return done([""] * len(samples))

    says = str.maketrans("68", "86")
    data = mapped_page(lines_of(*BILL), lambda char: char.translate(says))
    (tmp_path / "a.pdf").write_bytes(data)
    sha256 = hashlib.sha256(data).hexdigest()
    page = Page(path=str(tmp_path / "a.pdf"), sha256=sha256, kind="pdf", page_index=0)
    found = render_task(page, render_settings(Config()), TileSettings(lines=True))
    assert isinstance(found, EmbeddedPage)
    broken: Any = Broken()
    assert asyncio.run(FontLooks(broken).wrong(page, found.layer.in_doubt)) != []
    model_only = render_task(page, render_settings(Config()), TileSettings(mode="tiny"))
    assert isinstance(model_only, RenderedPage)
