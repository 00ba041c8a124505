"""Another process runs the line reader's networks, here on the CPU; what goes wrong there costs time alone."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from encoders.graphs.settings import GraphSettings
from ocr.model_files.locate import LINES, find_directory
from pipeline.config.schema import Config
from pipeline.device import line_readers
from pipeline.device.line_device import LineDevice
from pipeline.device.line_readers import LineReaders
from pipeline.device.startup import loading
from pipeline.errors import ConfigError
from tests.pipeline.runs import WAIT_S
from tests.pipeline.stages.test_read_lines import LETTER, rendered

FOLDER = find_directory("small") / LINES


@pytest.fixture
def readers() -> Iterator[LineReaders]:
    found = LineReaders(FOLDER, 2, None, device=LineDevice(FOLDER, "cpu", GraphSettings(max_items=256)))
    yield found
    found.close()


def test_pages_are_read_as_without_it_and_counted(readers: LineReaders) -> None:
    page = rendered(LETTER)
    reading = [readers.read(page) for _ in range(4)]
    results = [read.result(WAIT_S) for read in reading]
    alone = LineReaders(FOLDER, 1, None)
    expected = alone.read(page).result(WAIT_S)
    alone.close()
    assert expected.parsed is not None
    assert {result.parsed.text for result in results if result.parsed} == {expected.parsed.text}
    device = readers.device
    assert device is not None
    assert device.served is not None
    assert device.served.device == "cpu"
    readers.close()
    assert device.stats is not None
    assert device.stats["find"].eager >= 4
    assert device.stats["line"].eager >= 4


def test_without_its_process_pages_are_read_all_the_same(
    readers: LineReaders, caplog: pytest.LogCaptureFixture
) -> None:
    page = rendered(LETTER)
    first = readers.read(page).result(WAIT_S)
    device = readers.device
    assert device is not None
    assert device._process is not None
    device._process.kill()
    second = readers.read(page).result(WAIT_S)
    assert first.parsed is not None
    assert second.parsed is not None
    assert first.parsed.text == second.parsed.text
    device._listening.join(WAIT_S)
    assert "lines are read on the CPU from here on" in caplog.text


def test_images_that_cannot_be_run_cost_nobody_else(readers: LineReaders) -> None:
    page = rendered(LETTER)
    bad = readers.read(replace(page, grey=np.zeros((0, 0), np.uint8)))
    assert readers.read(page).result(WAIT_S).status == "ok"
    assert bad.result(WAIT_S).status == "failed"


WITHOUT_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a CUDA device")


def test_a_few_pages_wake_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later ones are read without it until it is ready."""
    monkeypatch.setattr(line_readers, "_FEW_PAGES", 1)
    device = LineDevice(FOLDER, "auto", GraphSettings(max_items=256))
    readers = LineReaders(FOLDER, 1, None, device=device)
    page = rendered(LETTER)
    expected = readers.read(page).result(WAIT_S).parsed
    assert device._process is None
    assert readers.read(page).result(WAIT_S).parsed == expected
    assert device._process is not None
    readers.close()


def test_pages_go_over_to_it_once_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_readers, "_FEW_PAGES", 0)
    monkeypatch.setattr(LineDevice, "is_optional", True)
    device = LineDevice(FOLDER, "cpu", GraphSettings(max_items=256))
    readers = LineReaders(FOLDER, 1, None, device=device)
    page = rendered(LETTER)
    first = readers.read(page).result(WAIT_S).parsed
    device._loading.result(WAIT_S)
    second = readers.read(page).result(WAIT_S).parsed
    readers.close()
    assert first is not None
    assert second is not None
    assert first.text == second.text
    assert device.stats is not None
    assert device.stats["find"].eager > 0


@WITHOUT_GPU
def test_a_driver_without_a_gpu_leaves_lines_to_the_cpu() -> None:
    device = LineDevice(FOLDER, "auto", GraphSettings())
    assert device.address() == ""
    assert device.served is None
    device.close()


@WITHOUT_GPU
def test_a_gpu_that_was_asked_for_and_is_not_there_ends_the_run() -> None:
    readers = LineReaders(FOLDER, 1, None, device=LineDevice(FOLDER, "cuda", GraphSettings()))
    with pytest.raises(ConfigError, match="PyTorch finds no CUDA GPU"):
        readers.read(rendered(LETTER)).result(WAIT_S)
    readers.close()
    with pytest.raises(ConfigError, match="no GPU driver"):
        loading.is_gpu_likely(Config(device="cuda"))
