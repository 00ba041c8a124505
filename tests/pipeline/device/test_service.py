"""What a run asks of its model besides the model's own work."""

import asyncio
from concurrent.futures import Future

import pytest

from pipeline.device.service import _seen
from pipeline.errors import WorkersError
from pipeline.types import SeenWords


def test_without_processes_that_look_for_words_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    finding: Future[SeenWords] = Future()
    finding.set_exception(WorkersError("they do not start"))
    assert asyncio.run(_seen(finding)) == SeenWords()
    assert "words stay without boxes: they do not start" in caplog.text
