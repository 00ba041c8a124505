"""Pages are read line by line in processes, and what goes wrong there costs the page alone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ocr.model_files.locate import LINES, find_directory
from pipeline.device.line_readers import LineReaders
from pipeline.errors import WorkersError
from pipeline.ingest.workers.shared_memory import Arena, pack
from pipeline.ingest.workers.task_pool import IMPORTS
from tests.pipeline.runs import WAIT_S
from tests.pipeline.stages.test_read_lines import LETTER, rendered

FOLDER = find_directory("small") / LINES


@pytest.fixture(scope="module")
def readers() -> Iterator[LineReaders]:
    found = LineReaders(FOLDER, 1, None)
    yield found
    found.close()


def test_a_process_reads_a_page_from_shared_memory(readers: LineReaders) -> None:
    page = rendered(LETTER)
    arena = Arena.where_possible(page.num_bytes)
    readers.arena = arena
    if arena is not None:
        page = arena.unpack(slot := arena.lend(), pack(page, slot))
    assert not readers.is_ready
    result = readers.read(page).result(WAIT_S)
    assert result.parsed is not None
    assert result.parsed.text.startswith("Greenfield Bakery")
    assert readers.is_ready
    used = readers.use(1e4)
    assert 0 < used.busy < 1
    assert used.busy + used.waiting_input == pytest.approx(1)
    readers.arena = None
    if arena is not None:
        arena.close()


def test_reading_lines_needs_nothing_that_opens_files_and_no_configuration() -> None:
    needless = "{'torch', 'pymupdf', 'pydantic', 'yaml'}"
    script = f"import sys, {', '.join(IMPORTS[1:])}; sys.exit(bool({needless} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_page_that_cannot_be_read_fails_alone(readers: LineReaders) -> None:
    page = rendered(LETTER)
    bad = replace(page, grey=np.zeros((0, 0), np.uint8))
    result = readers.read(bad).result(WAIT_S)
    assert result.error is not None
    assert (result.status, result.error.stage) == ("failed", "read")
    assert readers.read(page).result(WAIT_S).status == "ok"


def test_a_page_s_words_are_found_for_another_model_or_none_are(readers: LineReaders) -> None:
    page = rendered(LETTER)
    seen = readers.words(replace(page, grey=None, ink=page.grey)).result(WAIT_S)
    assert [word.text for word in seen.words[:2]] == ["Greenfield", "Bakery"]
    assert seen.seconds > 0
    assert readers.words(replace(page, grey=None, ink=np.zeros((0, 0), np.uint8))).result(WAIT_S).words == ()


def test_a_killed_process_is_replaced_and_its_page_read(readers: LineReaders) -> None:
    page = rendered(LETTER)
    readers.read(page).result(WAIT_S)
    process = readers._submit(os.getpid, (), WAIT_S, lambda _: 0).result(WAIT_S)
    reading = readers.read(page)
    time.sleep(0.2)
    os.kill(process, signal.SIGKILL)
    assert reading.result(WAIT_S).status == "ok"


def test_processes_that_cannot_start_end_the_run(tmp_path: Path) -> None:
    readers = LineReaders(tmp_path, 1, None)
    with pytest.raises(WorkersError, match="end as soon as they start"):
        readers.read(rendered(LETTER)).result(WAIT_S)
    readers.close()
