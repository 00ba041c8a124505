"""The request to an engine for a page, and the result from its answer; the model writes "w5 w6 w7"."""

from dataclasses import replace
from typing import Any

import pytest

from ocr.decoding.gpu.reader import PagedReader, PlainReader
from ocr.decoding.gpu.schedule.entries import EngineSettings
from ocr.decoding.requests import PageRequest
from pipeline.config.schema import DecodeConfig
from pipeline.stages.decode import page_request, page_settings, read_page, wording_of
from pipeline.stages.decoded import Decoded
from pipeline.stages.localize import place
from pipeline.types import PageResult
from storage.types import StageTiming
from tests.pipeline.device.fakes import encoded, loaded_reader


def results(
    loaded: Any, requests: dict[int, PageRequest], reads: Any, pages: list[Any]
) -> dict[int, PageResult]:
    """Each page's result, by its place in pages."""
    numbers = list(requests)
    found = {}
    for read in reads:
        number = numbers[read.index]
        decoded = Decoded(
            encoded=pages[number], read=read, request=requests[number], seconds=9.0, num_together=len(numbers)
        )
        found[number] = place(read_page(decoded), wording_of(loaded))
    return found


def asked(pages: list[Any]) -> dict[int, PageRequest]:
    return {number: page_request(page, DecodeConfig()) for number, page in enumerate(pages)}


def test_confidence_reaches_page_and_blocks() -> None:
    loaded, pages = loaded_reader(), [encoded()]
    requests = asked(pages)
    reads = PlainReader(loaded, prompt=loaded.prompt, num_slots=1).read(requests.values())
    (result,) = results(loaded, requests, reads, pages).values()
    assert result.confidence == pytest.approx(8 / 9, abs=0.2)
    assert result.parsed is not None
    assert [block.confidence for block in result.parsed.blocks] == [result.confidence]


def test_timings_are_the_engines_shares_and_the_time_that_passed() -> None:
    loaded = loaded_reader()
    earlier = StageTiming(stage="encode_global", share_s=1.0, wall_s=2.0)
    page = replace(encoded(), timings=(earlier,))
    request = page_request(page, DecodeConfig())
    (done,) = PlainReader(loaded, prompt=loaded.prompt, num_slots=1).read([request])
    done = replace(done, prefill_s=0.25, generate_s=0.5)
    together = Decoded(encoded=page, read=done, request=request, seconds=3.25, num_together=4)
    assert read_page(together).timings == (
        earlier,
        StageTiming(stage="decode_prefill", share_s=0.25, wall_s=0.25, batch_size=4),
        StageTiming(stage="decode_generate", share_s=0.5, wall_s=3.0, batch_size=4),
    )


def test_the_limits_of_a_page_are_the_configured_ones_of_its_kind() -> None:
    config = DecodeConfig.model_validate(
        {
            "max_tokens": 99,
            "pdf": {"size": 3, "window": 7},
            "image": {"size": 4, "window": 8},
            "loop": {"tokens": 5},
        }
    )
    pdf, image = page_settings(config, "pdf"), page_settings(config, "image")
    assert (pdf.ngram_size, pdf.ngram_window, pdf.max_tokens, pdf.loop_tokens) == (3, 7, 99, 5)
    assert (image.ngram_size, image.ngram_window, image.max_tokens) == (4, 8, 99)
    request = page_request(encoded(), config)
    assert request.settings == image


def test_the_paged_engine_reads_the_same() -> None:
    loaded = loaded_reader()
    pages = [encoded(), encoded()]
    requests = asked(pages)
    paged = PagedReader(loaded, EngineSettings(slots=2, kv_bytes=1 << 24))
    found = results(loaded, requests, paged.read(requests.values(), loaded.prompt), pages)
    engine = PlainReader(loaded, prompt=loaded.prompt, num_slots=2)
    expected = results(loaded, requests, engine.read(requests.values()), pages)
    assert set(found) == {0, 1}
    assert {number: page.parsed for number, page in found.items()} == {
        number: page.parsed for number, page in expected.items()
    }
    assert {timing.stage for timing in found[0].timings} == {"decode_prefill", "decode_generate", "place"}
    assert all(timing.wall_s > 0 for timing in found[0].timings)
