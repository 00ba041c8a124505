"""What the engine writes, with PyTorch's operators alone: each page under its own limits, whatever is beside it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from encoders.types import VisionTokens
from ocr.checkpoints import checkpoint
from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import DecodeError, DecodeSettings, settings_for
from ocr.imaging.tiling import views
from ocr.model.prompt import encode_prompt
from ocr.types import Transcript
from tests.faults.rig.model import save_words
from tests.ocr.decoding.gpu.test_paged_engine import FREE, PAGES, PROMPT, random_reader, stopping
from tests.ocr.decoding.plain import assert_same, read_plainly, splice
from tests.ocr.decoding.sequence.test_page_reading import rescan
from tests.ocr.tiny_reader import BOS, EOS, READ, VOCAB, ChainReader, RandomReader, Reader, tokenizer, vision

__all__ = ["stopping"]
SAMPLES = Path(__file__).parents[2] / "samples"


def read(reader: Reader, pages: list[int], settings: DecodeSettings) -> list[Transcript]:
    return texts(reader, [PAGES[page] for page in pages], [settings] * len(pages))


def texts(
    reader: Reader, pages: Sequence[VisionTokens], limits: Sequence[DecodeSettings]
) -> list[Transcript]:
    engine = PagedReader.plain(reader, prompt=PROMPT, num_slots=max(1, len(pages)))
    return in_order(engine.read(requests(pages, limits)))


def requests(pages: Sequence[VisionTokens], limits: Sequence[DecodeSettings]) -> list[PageRequest]:
    return [PageRequest(vision=page, settings=limit) for page, limit in zip(pages, limits, strict=True)]


def in_order(found: Iterable[PageRead]) -> list[Transcript]:
    return [page.transcript for page in sorted(found, key=lambda page: page.index)]


@torch.inference_mode()
def test_decoding_equals_greedy_search_without_cache() -> None:
    reader = random_reader(eos_id=-1)
    (transcript,) = read(reader, [3], replace(FREE, max_tokens=70))
    embed = reader.model.language_model.embed_tokens
    (sequence,) = splice(embed, encode_prompt(reader.tokenizer, PROMPT, bos_id=BOS), [PAGES[3].tokens_TD])
    tokens: list[int] = []
    logprobs: list[float] = []
    for written in transcript.token_ids:
        logits = reader.model.logits(sequence)
        allowed = logits.clone()
        allowed[list(rescan(tokens, 3, 20, frozenset({2, 3})))] = -torch.inf
        assert allowed.max() - allowed[written] < 1e-3
        logprobs.append(logits.log_softmax(-1)[written].item())
        tokens.append(written)
        sequence = torch.cat((sequence, embed(torch.tensor([written]))))
    assert len(tokens) == 70 - 2 - 5
    assert transcript.logprobs == pytest.approx(logprobs, abs=1e-4)


def chain(successor: dict[int, int], settings: DecodeSettings, num_pages: int = 1) -> list[Transcript]:
    reader = Reader(model=ChainReader(successor), tokenizer=tokenizer())
    pages = [vision(4, width=VOCAB) for _ in range(num_pages)]
    return texts(reader, pages, [settings] * num_pages)


UP_TO_THE_END = {READ: 5, 5: 6, 6: 7, 7: EOS}


def test_end_token_stops_and_is_not_part_of_the_text() -> None:
    (transcript,) = chain(UP_TO_THE_END, settings_for("pdf"))
    assert transcript.raw == "w5 w6 w7"
    assert transcript.token_ids == (5, 6, 7)
    assert transcript.finish == "eos"
    assert all(-0.1 < logprob < 0 for logprob in transcript.logprobs)  # logits are 8 and 63 times 0


def test_a_page_that_ends_at_once_is_empty() -> None:
    (transcript,) = chain({READ: EOS}, settings_for("pdf"))
    assert transcript == Transcript(raw="", token_ids=(), finish="eos")


@pytest.mark.parametrize(("max_tokens", "num_written"), [(8, 2), (7, 1), (6, 0), (1, 0)])
def test_prompt_and_output_share_the_limit(max_tokens: int, num_written: int) -> None:
    """The prompt is BOS, four vision tokens and a word."""
    (transcript,) = chain(UP_TO_THE_END, DecodeSettings(max_tokens=max_tokens))
    assert len(transcript.token_ids) == num_written
    assert transcript.finish == "length"


def test_the_models_positions_are_a_limit_too() -> None:
    reader = Reader(model=RandomReader(positions=40), tokenizer=tokenizer(), eos_id=-1)
    (transcript,) = read(reader, [0], replace(FREE, max_tokens=8192))
    assert len(transcript.token_ids) == 40 - 22
    assert transcript.finish == "length"


def test_limits_are_each_pages_own() -> None:
    reader = Reader(model=ChainReader({READ: 5}), tokenizer=tokenizer())
    pages = [vision(4, width=VOCAB) for _ in range(3)]
    limits = [DecodeSettings(max_tokens=count, ngram_size=0) for count in (10, 1, 17)]
    transcripts = texts(reader, pages, limits)
    assert [transcript.token_ids for transcript in transcripts] == [(5,) * 4, (), (5,) * 11]


def test_a_loop_is_stopped_and_written_once() -> None:
    successor = {READ: 20, 20: 21, 21: 5, **{token: token + 1 for token in range(5, 16)}, 16: 5}
    (transcript,) = chain(successor, DecodeSettings(ngram_size=0, loop_tokens=100))
    assert transcript.finish == "loop"
    assert transcript.raw == "w20 w21 " + " ".join(f"w{token}" for token in range(5, 17))
    assert 102 <= len(transcript.token_ids) <= 134


def test_a_page_that_hardly_varies_is_stopped_with_all_its_text() -> None:
    successor = {5: 6, 6: 7, 7: 5}
    limits = DecodeSettings(ngram_size=0, loop_tokens=4096, loop_variety=0.05)
    (transcript,) = chain(successor, limits)
    assert transcript.finish == "loop"
    assert len(transcript.token_ids) == 1024
    assert len(transcript.raw.split()) == 1024


def test_the_ngram_ban_breaks_short_loops_but_not_of_table_cells() -> None:
    (words,) = chain({READ: 5, 5: 6, 6: 5}, DecodeSettings(max_tokens=200))
    assert set(words.token_ids) > {5, 6}
    (cells,) = chain({READ: 2, 2: 3, 3: 2}, DecodeSettings(max_tokens=200))
    assert set(cells.token_ids) == {2, 3}


def test_kinds_have_the_published_windows() -> None:
    pdf, image = settings_for("pdf"), settings_for("image")
    assert (pdf.ngram_size, pdf.ngram_window, pdf.max_tokens) == (20, 50, 8192)
    assert (image.ngram_size, image.ngram_window, image.max_tokens) == (30, 90, 8192)


def test_logits_that_are_not_numbers_are_an_error() -> None:
    model = ChainReader(UP_TO_THE_END)
    torch.nn.init.constant_(model.lm_head.weight, math.nan)
    reader = Reader(model=model, tokenizer=tokenizer())
    with pytest.raises(DecodeError, match="not numbers"):
        texts(reader, [vision(4, width=VOCAB)], [settings_for("pdf")])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_other_number_formats_decode(dtype: torch.dtype) -> None:
    reader = random_reader(eos_id=-1)
    reader.model.to(dtype)
    transcripts = read(reader, [0, 3], replace(FREE, max_tokens=60))
    assert [len(transcript.token_ids) for transcript in transcripts] == [38, 53]
    assert all(logprob < 0 for transcript in transcripts for logprob in transcript.logprobs)


def test_keys_and_values_stay_within_their_bytes_and_one_page_is_always_read(stopping: Reader) -> None:
    """A page's block has room for 512 tokens, of 3 layers of 2 heads of 16 numbers each."""
    of_a_page = 512 * 2 * 3 * 2 * 16 * 4
    expected = read(stopping, [0, 1, 2, 3], FREE)
    for kv_bytes, most in ((2 * of_a_page, 2), (1, 1)):
        engine = PagedReader.plain(stopping, prompt=PROMPT, num_slots=8, kv_bytes=kv_bytes)
        found, at_once = [], []
        for page in engine.read(requests(PAGES[:4], [FREE] * 4)):
            at_once.append(len(engine._engine._scheduler.pages))  # type: ignore[union-attr]
            found.append(page)
        assert max(at_once) < most
        assert engine._engine._steps.pool.num_blocks == most + 1  # type: ignore[union-attr]
        assert [page.token_ids for page in in_order(found)] == [page.token_ids for page in expected]


def seen_by(loaded: checkpoint.LoadedModel, name: str) -> VisionTokens:
    with Image.open(SAMPLES / name) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    with torch.inference_mode():
        (tokens,) = loaded.model.encoder.encode([views(pixels, "tiny", 1)])
    return tokens


@pytest.fixture(scope="module")
def worded(tmp_path_factory: pytest.TempPathFactory) -> checkpoint.LoadedModel:
    """A model that writes other words for every page."""
    folder = save_words(tmp_path_factory.mktemp("worded"))
    return checkpoint.load(str(folder), device="cpu", dtype=torch.float32)


@pytest.fixture(scope="module")
def scans(worded: checkpoint.LoadedModel) -> list[VisionTokens]:
    return [seen_by(worded, name) for name in ("letter.png", "fax.tiff", "photo.jpg")]


@pytest.mark.slow
def test_real_pages_are_read_as_plain_decoding_does(
    worded: checkpoint.LoadedModel, scans: list[VisionTokens]
) -> None:
    limits = [DecodeSettings(max_tokens=count) for count in (190, 170, 150)]
    plain = [
        read_plainly(worded, page, worded.prompt, limit) for page, limit in zip(scans, limits, strict=True)
    ]
    found = in_order(worded.engine(prompt=worded.prompt, num_slots=3).read(requests(scans, limits)))
    for transcript, (expected, gaps) in zip(found, plain, strict=True):
        assert_same(transcript, expected, gaps, tolerance=1e-3)
