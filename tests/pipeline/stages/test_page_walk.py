"""Follows a page's call through the modules of a worker, as somebody does who reads the code for the first time."""

import dis
import inspect
import sys
import types
from collections.abc import Coroutine, Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from pipeline.config.schema import Config
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.ingest.workers.worker import probe_task
from pipeline.run.flow import Flow
from pipeline.stages.render import render
from pipeline.types import Page
from tests.pipeline.runs import run_quietly

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "tests" / "samples"
# Not all below ROOT, where an environment may be, too.
OURS = tuple(f"{ROOT / package}/" for package in ("encoders", "ocr", "pipeline", "storage"))
# How often a page may come to a module at most, and how often to one that it had left: in a worker's `render`, and in
# the run's event loop from the page's coroutine on.
MOST_STAYS, MOST_RETURNS = 39, 25
# Written within another function, where they are read.
_WITHIN = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")


class Walk:
    """Notes the modules of these packages that calls go through, one after the other; each call only once."""

    def __init__(self) -> None:
        self.modules: list[str] = []
        self._path: list[FrameType] = []
        self._called: set[tuple[CodeType | None, CodeType]] = set()
        self._waiting: set[FrameType] = set()
        self._again: FrameType | None = None  # of a call that was followed before

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "return" and frame is self._again:
            self._again = None
        elif event == "call" and frame in self._waiting and self._again is None:
            self._path.append(frame)
        elif event == "return" and self._path and frame is self._path[-1]:
            self._path.pop()
            if (
                code.co_flags & inspect.CO_COROUTINE
                and code.co_code[frame.f_lasti] == dis.opmap["YIELD_VALUE"]
            ):
                self._waiting.add(frame)
            elif self._path:
                self._note(self._path[-1].f_code)
        elif event == "call" and self._again is None and _is_followed(code):
            call = self._path[-1].f_code if self._path else None, code
            if call in self._called:
                self._again = frame
                return
            self._called.add(call)
            self._path.append(frame)
            self._note(code)

    def _note(self, code: CodeType) -> None:
        if code.co_filename not in self.modules[-1:]:
            self.modules.append(code.co_filename)


def _is_followed(code: CodeType) -> bool:
    return code.co_filename.startswith(OURS) and code.co_name not in _WITHIN


def _judge(walk: Walk) -> None:
    num_returns = len(walk.modules) - len(set(walk.modules))
    is_short = (len(walk.modules) <= MOST_STAYS, num_returns <= MOST_RETURNS)
    assert is_short == (True, True), "\n".join((str(num_returns), *walk.modules))


@pytest.mark.parametrize("name", ["letter.png", "photo.jpg"])
def test_a_page_comes_back_to_few_modules_that_it_had_left(name: str) -> None:
    found = probe_task(str(SAMPLES / name), (), IngestSettings())
    assert found.sha256 is not None
    page, documents = Page(path=found.path, sha256=found.sha256, kind="image", page_index=0), OpenDocuments()
    walk = Walk()
    for profile in (None, walk):  # first without, so that what is made once is there
        sys.setprofile(profile)
        render(page, RenderSettings(), TileSettings(lines=True), documents)
        sys.setprofile(None)
        documents.close()
    _judge(walk)


@pytest.mark.slow
def test_a_page_goes_through_the_run_no_longer_than_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk, page = Walk(), Flow._page

    @types.coroutine
    def followed(coroutine: Coroutine[Any, Any, None]) -> Generator[Any, Any, None]:
        while True:
            sys.setprofile(walk)
            try:
                waits_for = coroutine.send(None)
            except StopIteration:
                return
            finally:
                sys.setprofile(None)
            yield waits_for

    monkeypatch.setattr(Flow, "_page", lambda *its: followed(page(*its)))
    config = Config(
        ingest={"paths": [str(SAMPLES / "letter.png")]}, store={"database": str(tmp_path / "a.db")}
    )
    assert run_quietly(config).num_pages == 1
    _judge(walk)
