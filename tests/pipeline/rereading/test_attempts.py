"""From what a worker gave of a page to its attempts: what needs no reading, and what goes with each attempt."""

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pipeline.config.schema import Config, render_settings
from pipeline.device.open_models import Models
from pipeline.documents.settings import TileSettings
from pipeline.outcome.doubt import NONE_READ
from pipeline.readers.reader_plan import ReaderPlan
from pipeline.rereading.attempts import Attempts
from pipeline.rereading.comparing import best
from pipeline.types import EmbeddedPage, Layer, PageResult, ReadyPage, RenderedPage
from storage.types import PageError
from tests.pipeline.checkpoints import PAGE_MODEL
from tests.pipeline.rereading.readings import PAGE, broken, read, rendered
from tests.pipeline.rereading.test_retry import LAYER

LETTER = Path(__file__).parents[2] / "samples" / "letter.png"


class Workers:
    def __init__(self, config: Config, found: Layer | None = None, letter: bool = False) -> None:
        self.render_settings, self.found, self.letter = render_settings(config), found, letter

    def render(self, *_: Any, tile: TileSettings, **__: Any) -> Future[ReadyPage]:
        assert tile.lines, "looked at as it was drawn"
        future: Future[ReadyPage] = Future()
        with Image.open(LETTER) as picture:
            grey = np.asarray(picture.convert("L"))
        future.set_result(replace(rendered(), grey=grey if self.letter else np.full_like(grey, 255)))
        return future

    def layer(self, ready: RenderedPage) -> Future[RenderedPage]:
        assert ready.num_bytes == 0, "no views go to a worker"
        future: Future[RenderedPage] = Future()
        future.set_result(replace(ready, layer=self.found))
        return future


class Model:
    """Reads what it is given one after the other."""

    def __init__(self, *results: PageResult) -> None:
        self.results, self.device = list(results), "cpu"

    async def ready(self, *, alone: bool) -> None:
        """It is."""

    async def read(self, *_: Any, **__: Any) -> PageResult:
        await asyncio.sleep(0)
        return self.results.pop(0)


def attempts(
    outcome: ReadyPage | PageError,
    *results: PageResult,
    found: Layer | None = None,
    kept: list[PageResult] | None = None,
    letter: bool = False,
    **keys: Any,
) -> list[PageResult]:
    """found: what the page's text layer is judged to be. kept: gets readings that are stored first.

    letter: whether the page shows a letter when it is drawn again.
    """
    config, model = Config(**{"model": PAGE_MODEL, **keys}), Model(*results)
    models = Models(first=model)  # type: ignore[arg-type]

    async def made() -> list[PageResult]:
        workers: Any = Workers(config, found, letter)
        keep = [].append if kept is None else kept.append
        made_at = Attempts(config, workers, ReaderPlan(config, models, workers), keep)
        return await made_at(PAGE, outcome, lambda num_bytes: None)

    found = asyncio.run(made())
    assert not model.results
    return found


def test_what_needs_no_reading_is_not_read() -> None:
    gone = PageError(stage="render", category="unreadable", message="the file is gone")
    assert [made.status for made in attempts(gone)] == ["failed"]
    assert [made.status for made in attempts(replace(rendered(), blank=True))] == ["blank"]
    embedded = EmbeddedPage(page=PAGE, layer=LAYER, width_px=1, height_px=1, dpi=72.0, seconds={})
    (made,) = attempts(embedded)
    assert (made.status, made.source, made.script) == ("embedded", "layer", None)
    (made,) = attempts(replace(embedded, missing="a picture is lost"))
    assert (made.status, made.source, made.doubt) == ("doubtful", "layer", "a picture is lost")
    assert made.parsed is not None
    assert made.parsed.text == LAYER.text


@pytest.mark.parametrize(("letter", "status"), [(True, "doubtful"), (False, "blank")])
def test_a_page_of_pictures_is_looked_at_once_more_where_no_line_reader_was(
    letter: bool, status: str
) -> None:
    (made,) = attempts(rendered(), nothing(), letter=letter, ladder={"rungs": []}, text_layer="ignore")
    assert (made.status, made.doubt) == (status, NONE_READ if letter else None)


@pytest.mark.parametrize(("use", "expected"), [("compare", 1.0), ("fallback", None), ("ignore", None)])
def test_agreement_is_told_only_where_it_is_asked_for(use: str, expected: float | None) -> None:
    ready = replace(rendered(), layer=LAYER)
    (made,) = attempts(ready, read("as printed", confidence=0.95), text_layer=use)
    assert made.layer_agreement == expected
    untrusted = replace(ready, layer=replace(LAYER, is_trustworthy=False, reason="holes"))
    (made,) = attempts(untrusted, read("as printed", confidence=0.95), text_layer=use)
    assert made.layer_agreement is None


def nothing() -> PageResult:
    return replace(read("", confidence=None), status="blank")


@pytest.mark.parametrize(
    ("layer", "use", "expected"),
    [
        (replace(LAYER, is_visible=True), "auto", ["doubtful", "embedded"]),
        (replace(LAYER, is_visible=True), "ignore", ["doubtful"]),
        (
            replace(LAYER, is_visible=True, is_trustworthy=False, reason="holes"),
            "auto",
            ["doubtful"],
        ),
        (replace(LAYER, is_visible=False, is_trustworthy=False, reason="hidden"), "auto", ["blank"]),
        (None, "auto", ["blank"]),
    ],
)
def test_no_page_is_blank_whose_text_layer_can_be_seen_on_it(
    layer: Layer | None, use: str, expected: list[str]
) -> None:
    keys: dict[str, Any] = {"text_layer": use, "ladder": {"rungs": []}}
    made = attempts(rendered(), nothing(), found=layer, **keys)
    assert [attempt.status for attempt in made] == expected
    if expected[0] == "doubtful":
        assert made[0].doubt == "print seen, none read"
        assert best(made).status == expected[-1]


@pytest.fixture
def latin(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads knows Latin letters alone, as the line reader does."""
    monkeypatch.setattr("pipeline.rereading.attempts.known_scripts", lambda model: frozenset({"Latn"}))


@pytest.mark.usefixtures("latin")
def test_a_page_in_a_script_that_the_model_cannot_read_is_flagged_and_not_read_again() -> None:
    ready = replace(rendered(), script="Thai")
    (made,) = attempts(ready, read("no text at all", confidence=None))
    assert made.script == "Thai"
    (made,) = attempts(ready, broken())
    assert (made.status, made.script) == ("failed", "Thai")


def test_a_first_reading_is_stored_with_all_doubt_there_is() -> None:
    alone: dict[str, Any] = {"ladder": {"rungs": []}}
    kept: list[PageResult] = []
    half = replace(rendered(), missing="a picture is lost")
    (made,) = attempts(half, read("half a page", confidence=0.1), kept=kept, **alone)
    doubt = "confidence 0.10 below 0.2; a picture is lost"
    assert [(first.status, first.doubt) for first in kept] == [("doubtful", doubt)]
    assert (made.status, made.doubt) == ("doubtful", doubt)


@pytest.mark.usefixtures("latin")
def test_what_nothing_helped_is_doubtful_and_keeps_its_text() -> None:
    alone: dict[str, Any] = {"ladder": {"rungs": []}, "text_layer": "ignore"}
    (made,) = attempts(rendered(), read("Pycckuu", confidence=0.1), **alone)
    assert made.parsed is not None
    assert (made.status, made.parsed.text, made.doubt) == (
        "doubtful",
        "Pycckuu",
        "confidence 0.10 below 0.2",
    )
    (made,) = attempts(rendered(), read("Pycckuu", confidence=0.1), store={"doubtful_below": 0.0}, **alone)
    assert made.status == "ok"
    (made,) = attempts(rendered(), read("", confidence=None), **alone)
    assert (made.status, made.doubt) == ("doubtful", "print seen, none read")
    (made,) = attempts(replace(rendered(), script="Cyrl"), read("Pycckuu", confidence=0.9), **alone)
    assert (made.status, made.script) == ("doubtful", "Cyrl")


def test_a_doubtful_reading_is_replaced_by_a_layer_that_can_be_trusted() -> None:
    alone: dict[str, Any] = {"ladder": {"rungs": []}}
    made = attempts(rendered(), read("Pycckuu", confidence=0.1), found=LAYER, **alone)
    assert [attempt.status for attempt in made] == ["doubtful", "embedded"]
