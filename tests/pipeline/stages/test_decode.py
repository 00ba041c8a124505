"""The request to an engine for a page, and the result from its answer; the model writes "w5 w6 w7"."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ocr.decoding.cpu.slot_engine import Engine
from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.gpu.schedule.entries import EngineSettings
from ocr.decoding.requests import PageRequest
from pipeline.config.schema import DecodeConfig
from pipeline.stages.decode import drafts_pay, page_request, page_settings, read_page, wording_of
from pipeline.stages.decoded import Decoded
from pipeline.stages.localize import place
from pipeline.types import PageResult
from storage.types import StageTiming
from tests.ocr.tiny_reader import EOS, READ, VOCAB, ChainReader, tokenizer
from tests.pipeline.device.fakes import TEXT, LoadedReader, encoded, loaded_reader


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


def asked(loaded: Any, pages: list[Any], config: DecodeConfig) -> dict[int, PageRequest]:
    return {number: page_request(loaded, page, config) for number, page in enumerate(pages)}


def test_confidence_reaches_page_and_blocks() -> None:
    loaded, pages = loaded_reader(), [encoded()]
    requests = asked(loaded, pages, DecodeConfig())
    reads = Engine(loaded, prompt=loaded.prompt, num_slots=1).read(requests.values())
    (result,) = results(loaded, requests, reads, pages).values()
    assert result.confidence == pytest.approx(8 / 9, abs=0.2)
    assert result.parsed is not None
    assert [block.confidence for block in result.parsed.blocks] == [result.confidence]


def test_timings_are_the_engines_shares_and_the_time_that_passed() -> None:
    loaded = loaded_reader()
    earlier = StageTiming(stage="encode_global", share_s=1.0, wall_s=2.0)
    page = replace(encoded(), timings=(earlier,))
    request = page_request(loaded, page, DecodeConfig())
    (done,) = Engine(loaded, prompt=loaded.prompt, num_slots=1).read([request])
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
    request = page_request(loaded_reader(), encoded(), config)
    assert request.settings == image


def chain_loaded() -> Any:
    model = ChainReader({READ: 5, 5: 6, 6: 7, 7: EOS})
    config = model.language_model.config
    config.num_key_value_heads, config.head_dim = 1, VOCAB
    return LoadedReader(model=model, tokenizer=tokenizer())


def test_the_paged_engine_reads_the_same() -> None:
    loaded = chain_loaded()
    pages = [encoded(), encoded()]
    requests = asked(loaded, pages, DecodeConfig())
    paged = PagedReader(loaded, EngineSettings(slots=2, kv_bytes=1 << 24))
    found = results(loaded, requests, paged.read(requests.values(), loaded.prompt), pages)
    engine = Engine(loaded, prompt=loaded.prompt, num_slots=2)
    expected = results(loaded, requests, engine.read(requests.values()), pages)
    assert set(found) == {0, 1}
    assert {number: page.parsed for number, page in found.items()} == {
        number: page.parsed for number, page in expected.items()
    }
    assert {timing.stage for timing in found[0].timings} == {"decode_prefill", "decode_generate", "place"}
    assert all(timing.wall_s > 0 for timing in found[0].timings)


@pytest.mark.parametrize(
    ("asked", "device", "expected"),
    [(None, "cpu", True), (None, "cuda", False), (True, "cuda", True), (False, "cpu", False)],
)
def test_drafts_are_made_where_they_are_faster_or_asked_for(
    asked: bool | None, device: str, expected: bool
) -> None:
    loaded: Any = SimpleNamespace(device=torch.device(device), takes_drafts=True)
    assert drafts_pay(loaded, DecodeConfig(drafts=asked)) == expected


@pytest.mark.parametrize("drafts", [None, True, False])
def test_drafts_change_nothing_of_what_is_read(drafts: bool | None) -> None:
    loaded = loaded_reader()
    page = encoded()
    page = replace(page, rendered=replace(page.rendered, text_layer=TEXT))
    request = page_request(loaded, page, DecodeConfig(drafts=drafts))
    assert (request.draft is not None) == (drafts is not False)
    (done,) = Engine(loaded, prompt=loaded.prompt, num_slots=1).read([request])
    assert done.transcript.raw == TEXT
