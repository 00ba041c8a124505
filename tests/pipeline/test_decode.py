"""The decode stage with a model that writes "w5 w6 w7" whatever it is shown."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

from encoders.views import PageViews
from ocr.paged.reader import PagedReader
from ocr.paged.types import EngineSettings
from ocr.second_opinion import NUM_RESERVED
from pipeline.config import DecodeConfig
from pipeline.stages import decode as stage
from pipeline.stages.decode import decode
from pipeline.stages.encode import EncodedPage
from pipeline.types import Page, PageResult, RenderedPage
from tests.ocr.tiny_reader import EOS, READ, VOCAB, ChainReader, Reader, tokenizer, vision

CHARACTERS = "abcw567"
TEXT = "w5 w6 w7"


@dataclass(frozen=True)
class LoadedReader(Reader):
    prompt: str = "<image>\nRead"
    characters: str | None = CHARACTERS
    calibration: Any = None


def encoded(seen: str | None) -> EncodedPage:
    """A page on which the character head sees one line, two cells a character."""
    page = Page(path="a.png", sha256="0" * 64, kind="image", page_index=0)
    views = PageViews(
        global_view=np.zeros((3, 8, 8), np.uint8),
        local_views=np.zeros((0, 3, 640, 640), np.uint8),
        grid=(1, 1),
    )
    rendered = RenderedPage(
        page=page, views=views, width_px=8, height_px=8, dpi=None, blank=False, seconds={"render": 0.5}
    )
    cells = None
    if seen is not None:
        line = [CHARACTERS.index(mark) + NUM_RESERVED for mark in seen for _ in range(2)]
        cells = torch.zeros(2, 200, dtype=torch.int16)
        cells[0, : len(line)] = torch.tensor(line, dtype=torch.int16)
    return EncodedPage(rendered=rendered, tokens=replace(vision(4, width=VOCAB), cells_HW=cells), timings=())


def read(*seen: str | None, **changes: Any) -> list[PageResult]:
    model = ChainReader({READ: 5, 5: 6, 6: 7, 7: EOS})
    loaded: Any = LoadedReader(model=model, tokenizer=tokenizer(), **changes)
    return decode(loaded, [encoded(line) for line in seen], DecodeConfig())


def test_pages_without_characters_are_not_read_and_order_is_kept() -> None:
    results = read("", "w5w6w7", "", None)
    assert [result.status for result in results] == ["blank", "ok", "blank", "ok"]
    assert [result.parsed and result.parsed.text for result in results] == ["", TEXT, "", TEXT]
    assert results[0].confidence is None
    assert results[0].timings == ()
    assert {timing.stage for timing in results[1].timings} == {"decode_prefill", "decode_generate"}
    assert {timing.batch_size for timing in results[1].timings} == {2}


def test_text_that_nothing_on_the_page_supports_is_not_kept() -> None:
    (result,) = read("abcabc")
    assert (result.status, result.num_tokens) == ("blank", 0)
    assert result.parsed is not None
    assert result.parsed.text == ""
    assert {timing.stage for timing in result.timings} == {"decode_prefill", "decode_generate"}


def test_confidence_reaches_page_and_blocks() -> None:
    (result,) = read("w5w6w7")
    assert result.confidence == pytest.approx(8 / 9, abs=0.2)
    assert result.parsed is not None
    assert [block.confidence for block in result.parsed.blocks] == [result.confidence]


def test_without_the_heads_characters_every_page_is_read() -> None:
    assert [result.status for result in read("", None, characters=None)] == ["ok", "ok"]


def chain_loaded() -> Any:
    model = ChainReader({READ: 5, 5: 6, 6: 7, 7: EOS})
    config = model.language_model.config
    config.num_key_value_heads, config.head_dim = 1, VOCAB
    return LoadedReader(model=model, tokenizer=tokenizer())


def test_the_paged_engine_reads_the_same() -> None:
    loaded = chain_loaded()
    pages = [encoded("w5w6w7"), encoded(""), encoded(None)]
    paged = PagedReader(loaded, EngineSettings(slots=2, kv_bytes=1 << 24))
    found = decode(loaded, pages, DecodeConfig(), paged)
    expected = decode(loaded, pages, DecodeConfig())
    assert [page.status for page in found] == ["ok", "blank", "ok"]
    assert [page.parsed for page in found] == [page.parsed for page in expected]
    assert {timing.stage for timing in found[0].timings} == {"decode_prefill", "decode_generate"}
    assert all(timing.wall_s > 0 for timing in found[0].timings)


@pytest.mark.parametrize(("drafts", "is_paged"), [(True, False), (False, False), (True, True)])
def test_drafts_are_passed_unless_switched_off_or_of_no_use(
    drafts: bool, is_paged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, passed = chain_loaded(), []
    real = stage.decoding.decode_pages

    def watched(*args: Any, **kwargs: Any) -> Any:
        passed.append(kwargs["drafts"])
        return real(*args, **kwargs)

    monkeypatch.setattr(stage.decoding, "decode_pages", watched)
    paged = PagedReader(loaded, EngineSettings(slots=2, kv_bytes=1 << 24)) if is_paged else None
    (result,) = decode(loaded, [encoded("w5w6w7")], DecodeConfig(drafts=drafts), paged)
    assert result.parsed is not None
    assert result.parsed.text == TEXT
    if drafts and not is_paged:
        assert len(passed[0]) == 1
        assert passed[0][0] is not None
    else:
        assert passed == [None]
