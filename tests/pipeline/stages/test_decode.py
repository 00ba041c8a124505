"""The limits of a page's reading, and the result of what an engine wrote; the model writes "w5 w6 w7"."""

from typing import Any

import pytest

from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.gpu.schedule.entries import EngineSettings
from ocr.decoding.requests import PageRead, PageRequest
from ocr.types import Transcript
from pipeline.config.schema import DecodeConfig
from pipeline.stages.decode import decode_timings, page_settings
from pipeline.stages.localize import ReadPage, place
from pipeline.types import PageResult
from storage.types import StageTiming
from tests.pipeline.device.fakes import loaded_reader, rendered, tokens


def results(loaded: Any, reads: Any) -> dict[int, PageResult]:
    """Each page's result, by its place among the requests."""
    return {
        read.index: place(
            ReadPage(
                rendered=rendered(read.index),
                transcript=read.transcript,
                timings=decode_timings(read, 9.0, 2),
            ),
            loaded,
        )
        for read in reads
    }


def asked(count: int) -> list[PageRequest]:
    settings = page_settings(DecodeConfig(), "image")
    return [PageRequest(vision=tokens(), settings=settings) for _ in range(count)]


def test_confidence_reaches_page_and_blocks() -> None:
    loaded = loaded_reader()
    reads = PagedReader.plain(loaded, prompt=loaded.prompt, num_slots=1).read(asked(1))
    (result,) = results(loaded, reads).values()
    assert result.confidence == pytest.approx(8 / 9, abs=0.2)
    assert result.parsed is not None
    assert [block.confidence for block in result.parsed.blocks] == [result.confidence]


def test_timings_are_the_engines_shares_and_the_time_that_passed() -> None:
    transcript = Transcript(raw="", token_ids=(), finish="eos", logprobs=())
    read = PageRead(index=0, transcript=transcript, prefill_s=0.25, generate_s=0.5)
    assert decode_timings(read, 3.25, 4) == (
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


def test_the_paged_engine_reads_the_same() -> None:
    loaded = loaded_reader()
    paged = PagedReader(loaded, EngineSettings(slots=2, kv_bytes=1 << 24), loaded.prompt)
    found = results(loaded, paged.read(asked(2)))
    engine = PagedReader.plain(loaded, prompt=loaded.prompt, num_slots=2)
    expected = results(loaded, engine.read(asked(2)))
    assert set(found) == {0, 1}
    assert {number: page.parsed for number, page in found.items()} == {
        number: page.parsed for number, page in expected.items()
    }
    assert {timing.stage for timing in found[0].timings} == {"decode_prefill", "decode_generate", "place"}
    assert all(timing.wall_s > 0 for timing in found[0].timings)
