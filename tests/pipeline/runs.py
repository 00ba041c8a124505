"""Whole runs: how tests start them, slow them down, and look at what they stored."""

import asyncio
import functools
import time
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

import pytest

from ocr.decoding.gpu.forward.steps import DeviceSteps
from pipeline.config.schema import Config
from pipeline.device.sizes import ENCODE_PAGES
from pipeline.device.threads.encoder_thread import EncoderLoop
from pipeline.reports.progress import Silent
from pipeline.reports.summary import RunSummary
from pipeline.run.runner import run
from pipeline.stop import Stop
from storage.database import open_for_reading
from storage.export.rows import export_rows

# For what comes sooner or later on a busy machine.
WAIT_S = 60.0


def changed(config: Config, **sections: dict[str, Any]) -> Config:
    update = {name: getattr(config, name).model_copy(update=keys) for name, keys in sections.items()}
    return config.model_copy(update=update)


def run_quietly(config: Config) -> RunSummary:
    return run(config, Silent(), Stop())


def rows(database: str) -> list[dict[str, Any]]:
    with closing(open_for_reading(database)) as db:
        return [dict(row) for row in export_rows(db)]


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def encode_together(monkeypatch: pytest.MonkeyPatch, num_pages: int) -> None:
    """The encoder begins when so many pages are there, and takes as many at once."""
    real = EncoderLoop.run

    def run_when_filled(self: EncoderLoop) -> None:
        wait_until(lambda: len(self._incoming) >= num_pages)
        real(self)

    monkeypatch.setattr(EncoderLoop, "run", run_when_filled)
    monkeypatch.setitem(ENCODE_PAGES, "cpu", num_pages)


def read_slowly(monkeypatch: pytest.MonkeyPatch, step_s: float) -> None:
    """Every step of the language model takes that long; TEXT takes five."""
    real = DeviceSteps.step

    def step(self: DeviceSteps, *args: Any) -> Any:
        time.sleep(step_s)
        return real(self, *args)

    monkeypatch.setattr(DeviceSteps, "step", step)


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Has a test that is a coroutine run in an event loop of its own."""

    @functools.wraps(test)
    def run_in_loop(*args: Any, **keys: Any) -> None:
        asyncio.run(test(*args, **keys))

    return run_in_loop
