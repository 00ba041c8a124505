"""The model in its threads, as the event loop sees it: a tiny checkpoint, really loaded and read."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ocr.decoding.gpu.forward.steps import DeviceSteps
from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.device.run_encoder import RunEncoder
from pipeline.device.startup import loading
from pipeline.device.startup.loading import load_model
from pipeline.device.threads import page_reader as module
from pipeline.device.threads.decoder_thread import DecoderLoop
from pipeline.device.threads.page_reader import PageReader
from pipeline.errors import ConfigError, DeviceLostError, PipelineError
from pipeline.stages.localize import OutputInterpreter, ReadPage
from pipeline.types import PageResult
from storage.types import PageError
from tests.pipeline.checkpoints import READS_TEXT, TEXT
from tests.pipeline.device.fakes import rendered
from tests.pipeline.runs import WAIT_S, read_slowly, wait_until

SIDE = 512  # of a page's view in tile.mode tiny


@pytest.fixture
def config(reader: Path) -> Config:
    return sources.load(None, READS_TEXT, [("test", {"model": str(reader)})])


def alive(model: PageReader) -> list[str]:
    return [thread.name for thread in model._threads if thread.is_alive()]


def read_with(model: PageReader, work: Callable[[], Awaitable[Any]]) -> Any:
    """Runs the work, or raises what ended the model's threads; closes the model."""

    async def flow() -> Any:
        failed = asyncio.ensure_future(asyncio.wrap_future(model.failed))
        working = asyncio.ensure_future(work())
        await asyncio.wait((failed, working), timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED)
        try:
            if failed.done():
                return failed.result()
            assert working.done(), "nothing happened"
            return working.result()
        finally:
            failed.cancel()
            working.cancel()
            await asyncio.gather(failed, working, return_exceptions=True)

    try:
        return asyncio.run(flow())
    finally:
        model.close()


def fails(config: Config) -> Any:
    raise ConfigError("device: cuda was asked for")


def test_a_model_that_is_not_needed_is_not_loaded(config: Config) -> None:
    def never(config: Config) -> Any:
        pytest.fail("it was loaded")

    model = PageReader(config, never)
    model.close()
    assert model._threads == []
    assert not model.failed.done()
    assert (model.load_s, model.capture_s, model.gpu) == (0.0, 0.0, None)
    assert (model.stages(1.0), model.num_tokens, model.encoder_stats()) == ([], 0, None)


def test_it_is_loaded_once_and_before_the_first_page_comes(config: Config) -> None:
    loads: list[str] = []

    def load(config: Config) -> Any:
        loads.append(threading.current_thread().name)
        return load_model(config)

    model = PageReader(config, load)

    async def work() -> list[PageResult]:
        model.start()
        model.start()
        while not model.load_s:
            await asyncio.sleep(0.01)
        return await asyncio.gather(*(model.read(rendered(number, SIDE)) for number in range(5)))

    results = read_with(model, work)
    assert loads == ["model"]
    assert [result.page.page_index for result in results] == list(range(5))
    assert {result.status for result in results} == {"ok"}
    assert {result.parsed.text for result in results if result.parsed} == {TEXT}
    assert {timing.stage for timing in results[0].timings} == {
        "render", "encode_global", "encode_local", "decode_prefill", "decode_generate", "place",
    }  # fmt: skip
    assert alive(model) == []
    assert model.num_tokens == 5 * len(TEXT.split())
    record = model.encoder_stats()
    assert record is not None
    assert record["global"].eager == 5
    encode, decode, place = model.stages(100.0)
    assert (encode.name, decode.name, place.name) == ("encode", "decode", "place")
    assert 0 < place.busy < 1
    assert 0 < encode.busy < 1
    assert 0 < decode.busy < 1
    assert decode.waiting_input > 0


def test_what_comes_before_the_first_page_is_work_of_its_stage(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The encoder's graphs and the decoder's: on a GPU they take seconds, after the model was loaded."""
    monkeypatch.setattr(RunEncoder, "warm_up", lambda encoder: time.sleep(0.5))
    monkeypatch.setattr(loading, "open_paged", lambda *_: time.sleep(0.5))
    model = PageReader(config, load_model)

    async def work() -> None:
        await model.ready(alone=True)

    read_with(model, work)
    encode, decode = (stage for stage in model.stages(1.0) if stage.name != "place")
    assert encode.busy >= 0.5
    assert decode.busy >= 0.5


def test_it_says_when_it_takes_pages_and_not_before(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    loads, opens = threading.Event(), threading.Event()

    def slow(config: Config) -> Any:
        assert loads.wait(WAIT_S)
        return load_model(config)

    def open_paged(loaded: Any, config: Config) -> None:
        assert opens.wait(WAIT_S)

    monkeypatch.setattr("pipeline.device.startup.loading.open_paged", open_paged)
    model = PageReader(config, slow)

    async def work() -> PageResult:
        takes, alone = asyncio.create_task(model.ready()), asyncio.create_task(model.ready(alone=True))
        done, _ = await asyncio.wait((takes, alone), timeout=0.1)
        assert not done
        loads.set()
        await takes
        done, _ = await asyncio.wait((alone,), timeout=0.1)
        assert not done, "the decoder is still being made"
        opens.set()
        await alone
        return await model.read(rendered(0, SIDE))

    assert read_with(model, work).status == "ok"


def test_one_that_does_not_load_is_never_ready(config: Config) -> None:
    model = PageReader(config, fails)
    with pytest.raises(ConfigError):
        read_with(model, model.ready)


def test_reading_starts_the_model(config: Config) -> None:
    model = PageReader(config, load_model)
    result = read_with(model, lambda: model.read(rendered(3, SIDE)))
    assert (result.status, result.page.page_index) == ("ok", 3)


def test_a_load_that_fails_ends_the_run_with_its_error(config: Config) -> None:
    model = PageReader(config, fails)
    with pytest.raises(ConfigError, match="cuda was asked for"):
        read_with(model, lambda: model.read(rendered(0, SIDE)))
    assert alive(model) == []
    assert model.num_tokens == 0


@pytest.mark.parametrize(("owner", "name"), [(loading, "open_paged"), (RunEncoder, "encode_path")])
def test_what_ends_the_decoder_or_the_encoder_ends_the_other_too(
    owner: Any, name: str, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise PipelineError("the device is gone")

    monkeypatch.setattr(owner, name, lost)
    model = PageReader(config, load_model)
    with pytest.raises(PipelineError, match="the device is gone"):
        read_with(model, lambda: model.read(rendered(0, SIDE)))
    assert alive(model) == []


@pytest.mark.parametrize(("owner", "name"), [(RunEncoder, "encode_path"), (DeviceSteps, "step")])
def test_the_pages_that_were_on_a_lost_device_are_known(
    owner: type, name: str, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise RuntimeError("CUDA error: unspecified launch failure")

    monkeypatch.setattr(owner, name, lost)
    model = PageReader(config, load_model)
    assert model.lost() == []
    with pytest.raises(DeviceLostError):
        read_with(model, lambda: model.read(rendered(3, SIDE)))
    (result,) = model.lost()
    assert (result.page, result.status) == (rendered(3).page, "failed")
    assert result.error is not None
    assert result.error.category == "device_lost"


def test_closing_ends_the_threads_with_pages_under_way_and_frees_the_graphs(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_slowly(monkeypatch, 0.3)
    closed: list[RunEncoder] = []
    real = RunEncoder.close

    def close(self: RunEncoder) -> None:
        closed.append(self)
        real(self)

    monkeypatch.setattr(RunEncoder, "close", close)
    model = PageReader(config, load_model)

    async def flow() -> None:
        pages = [asyncio.ensure_future(model.read(rendered(number, SIDE))) for number in range(20)]
        while model._decoding is None or not model._decoding._in_flight:
            assert not model.failed.done()
            await asyncio.sleep(0.01)
        for page in pages:
            page.cancel()
        model.close()
        assert alive(model) == []
        await asyncio.gather(*pages, return_exceptions=True)
        assert not any(page.done() and not page.cancelled() for page in pages), "none was finished by then"

    asyncio.run(flow())
    assert model.num_tokens < 20 * len(TEXT.split()), "what was under way was not read to its end"
    assert not model.failed.done(), "an end is no failure"
    assert len(closed) == 1


def test_closing_while_it_loads_does_not_wait_for_ever(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_JOIN_S", 0.1)
    loading_on, go_on = threading.Event(), threading.Event()

    def slow(config: Config) -> Any:
        loading_on.set()
        assert go_on.wait(WAIT_S)
        return load_model(config)

    model = PageReader(config, slow)
    model.start()
    assert loading_on.wait(WAIT_S)
    model.close()
    assert alive(model) == ["model"], "it is not waited for"
    go_on.set()
    wait_until(lambda: alive(model) == [])
    assert not model.failed.done()
    assert model._decoding is None, "nothing is begun for a run that is over"


def test_a_text_that_cannot_be_taken_apart_costs_its_page_only(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.place

    def breaks(read: ReadPage, interpreter: OutputInterpreter) -> PageResult:
        if read.rendered.page.page_index == 1:
            raise ValueError("a bug")
        return real(read, interpreter)

    monkeypatch.setattr(module, "place", breaks)
    model = PageReader(config, load_model)

    async def work() -> list[PageResult]:
        return await asyncio.gather(*(model.read(rendered(number, SIDE)) for number in range(3)))

    results = read_with(model, work)
    assert [result.status for result in results] == ["ok", "failed", "ok"]
    assert results[1].error == PageError(stage="place", category="internal", message="ValueError: a bug")
    assert {"render", "encode_global"} <= {timing.stage for timing in results[1].timings}


def test_encoder_and_decoder_are_at_work_at_once(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first page is not delivered before the last one is encoded, and yet the run comes to its end."""
    encoded: list[int] = []
    all_encoded = threading.Event()
    encode, deliver = RunEncoder.assemble, DecoderLoop._deliver

    def assemble(self: RunEncoder, pages: Any, *rest: Any) -> Any:
        found = encode(self, pages, *rest)
        encoded.extend([1] * len(pages))
        if len(encoded) == 4:
            all_encoded.set()
        return found

    def delivered(self: DecoderLoop, *args: Any) -> None:
        assert all_encoded.wait(WAIT_S)
        deliver(self, *args)

    monkeypatch.setattr(RunEncoder, "assemble", assemble)
    monkeypatch.setattr(DecoderLoop, "_deliver", delivered)
    model = PageReader(config, load_model)

    async def work() -> list[PageResult]:
        return await asyncio.gather(*(model.read(rendered(number, SIDE)) for number in range(4)))

    assert [result.status for result in read_with(model, work)] == ["ok"] * 4
