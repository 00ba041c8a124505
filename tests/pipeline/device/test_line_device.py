"""Another process runs the line reader's networks, here on the CPU; what goes wrong there costs time alone."""

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from encoders.graphs.settings import GraphSettings
from ocr.model_files.locate import LINES, find_directory
from pipeline.config.schema import Config
from pipeline.device import line_readers
from pipeline.device.gpu_meter import visible_gpus
from pipeline.device.line_device import LineDevice
from pipeline.device.line_readers import LineReaders
from pipeline.device.startup import loading
from pipeline.errors import ConfigError
from pipeline.ingest.workers.shared_memory import share
from pipeline.stages import read_lines
from pipeline.types import PageResult, RenderedPage
from tests.pipeline.runs import WAIT_S
from tests.pipeline.stages.test_read_lines import LETTER, rendered

FOLDER = find_directory("small") / LINES


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> RenderedPage:
    """The first lines of a letter: processes on the CPU are slow."""
    path = tmp_path_factory.mktemp("page") / "head.png"
    with Image.open(LETTER) as letter:
        letter.crop((100, 100, 700, 340)).save(path)
    return rendered(path)


@pytest.fixture
def readers() -> Iterator[LineReaders]:
    found = LineReaders(FOLDER, 2, None, devices=[LineDevice(FOLDER, "cpu", GraphSettings(max_items=256))])
    yield found
    found.close()


def test_pages_are_read_as_without_it_and_counted_and_one_that_cannot_be_run_costs_no_other(
    readers: LineReaders, page: RenderedPage
) -> None:
    bad = readers.read(replace(page, grey=np.zeros((0, 0), np.uint8)))
    reading = [readers.read(page) for _ in range(4)]
    results = [read.result(WAIT_S) for read in reading]
    assert bad.result(WAIT_S).status == "failed"
    assert {result.status for result in results} == {"ok"}
    alone = LineReaders(FOLDER, 1, None)
    expected = alone.read(page).result(WAIT_S)
    alone.close()
    assert expected.parsed is not None
    assert {result.parsed.text for result in results if result.parsed} == {expected.parsed.text}
    [device] = readers.devices
    assert device.served is not None
    assert device.served.device == "cpu"
    readers.close()
    assert device.stats is not None
    assert device.stats["find"].eager >= 4
    assert device.stats["line"].eager >= 4


def test_without_its_process_pages_are_read_all_the_same(
    readers: LineReaders, page: RenderedPage, caplog: pytest.LogCaptureFixture
) -> None:
    first = readers.read(page).result(WAIT_S)
    [device] = readers.devices
    assert device._process is not None
    device._process.kill()
    second = readers.read(page).result(WAIT_S)
    assert first.parsed is not None
    assert second.parsed is not None
    assert first.parsed.text == second.parsed.text
    device._listening.join(WAIT_S)
    assert "lines are read without it from here on" in caplog.text


WITHOUT_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a CUDA device")


def test_a_few_pages_wake_no_gpu(page: RenderedPage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later ones are read without it until it is ready."""
    monkeypatch.setattr(line_readers, "_FEW_PAGES", 1)
    device = LineDevice(FOLDER, "auto", GraphSettings(max_items=256))
    readers = LineReaders(FOLDER, 1, None, devices=[device])
    expected = readers.read(page).result(WAIT_S).parsed
    assert device._process is None
    assert readers.read(page).result(WAIT_S).parsed == expected
    assert device._process is not None
    readers.close()


def _text(reading: Future[PageResult]) -> str:
    parsed = reading.result(WAIT_S).parsed
    return "" if parsed is None else parsed.text


@pytest.fixture
def optional(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has processes on the CPU stand for GPUs that were not asked for and are woken by the first pages."""
    monkeypatch.setattr(line_readers, "_FEW_PAGES", 0)
    monkeypatch.setattr(LineDevice, "is_optional", True)


@pytest.mark.usefixtures("optional")
def test_pages_go_to_all_devices_in_turn_and_to_the_others_once_one_has_died(
    page: RenderedPage, caplog: pytest.LogCaptureFixture
) -> None:
    devices = [LineDevice(FOLDER, "cpu", GraphSettings(max_items=256)) for _ in range(2)]
    readers = LineReaders(FOLDER, 2, None, devices=devices)
    expected = _text(readers.read(page))
    for device in devices:
        device._loading.result(WAIT_S)
    assert {readers._addresses()[0] for _ in range(4)} == {device.address() for device in devices}
    during = [readers.read(page) for _ in range(4)]
    assert devices[0]._process is not None
    devices[0]._process.kill()
    assert {_text(reading) for reading in during} == {expected}
    devices[0]._listening.join(WAIT_S)
    assert [address for address in readers._addresses() if Path(address).exists()] == [devices[1].address()]
    assert _text(readers.read(page)) == expected
    readers.close()
    assert devices[1].stats is not None
    assert devices[1].stats["find"].eager >= 2
    assert "lines are read without it from here on" in caplog.text


def test_where_a_page_is_read_is_looked_at_when_its_turn_comes(
    page: RenderedPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Hundreds of pages may have waited since before a GPU was ready."""
    monkeypatch.setattr(line_readers, "_loaded", lambda address: address)
    monkeypatch.setattr(line_readers, "_ADDRESS", ["by itself"])
    monkeypatch.setattr(read_lines, "read_lines", lambda page, reader: reader)
    first, second = tmp_path / "first", tmp_path / "second"
    waiting = partial(line_readers.run_task, "read_lines", share(page), [str(first), str(second)])
    assert waiting() == "by itself"
    second.touch()
    assert waiting() == str(second)


def test_each_further_gpu_is_woken_by_further_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_readers, "_FEW_PAGES", 2)
    woken = []
    monkeypatch.setattr(LineDevice, "wake", lambda self: woken.append(self._visible) or self._visible)
    devices = [LineDevice(FOLDER, "auto", GraphSettings(), str(number)) for number in range(2)]
    readers = LineReaders(FOLDER, 1, None, devices=devices)
    assert [readers._addresses() for _ in range(6)] == [[], [], ["0"], ["0"], ["1", "0"], ["0", "1"]]
    readers.close()


@pytest.mark.gpu
def test_two_gpus_share_the_pages_and_read_as_one() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    devices = [LineDevice(FOLDER, "cuda", GraphSettings(), visible) for visible in visible_gpus()[:2]]
    readers = LineReaders(FOLDER, 4, None, devices=devices)
    assert len({_text(readers.read(rendered(LETTER))) for _ in range(9)}) == 1
    readers.close()
    assert len({device.served.gpu for device in devices if device.served}) == 2
    assert all(device.stats and device.stats["find"].units >= 4 for device in devices)


@WITHOUT_GPU
def test_a_driver_without_a_gpu_leaves_lines_to_the_cpu() -> None:
    device = LineDevice(FOLDER, "auto", GraphSettings())
    assert device.address() == ""
    assert device.served is None
    device.close()


@WITHOUT_GPU
def test_a_gpu_that_was_asked_for_and_is_not_there_ends_the_run() -> None:
    readers = LineReaders(FOLDER, 1, None, devices=[LineDevice(FOLDER, "cuda", GraphSettings())])
    with pytest.raises(ConfigError, match="PyTorch finds no CUDA GPU"):
        readers.read(rendered(LETTER)).result(WAIT_S)
    readers.close()
    with pytest.raises(ConfigError, match="no GPU driver"):
        loading.line_gpus(Config(device="cuda"))
