import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import LogitsProcessor

from encoders.types import VisionTokens
from ocr.checkpoints import checkpoint
from ocr.decoding.cpu.slot_engine import Engine
from ocr.decoding.decode_pages import decode_pages
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.ngram import NgramBan
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.imaging.tiling import views
from ocr.model.prompt import encode_prompt, splice
from ocr.model.reference import reference_model
from ocr.types import Transcript
from tests.ocr.decoding.cpu.plain import assert_same, read_plainly
from tests.ocr.decoding.drafts import Knowing, Malicious
from tests.ocr.tiny_reader import EOS, RandomReader, Reader, tokenizer, vision

PROMPT = "<image>\nRead"
SAMPLES = Path(__file__).parents[3] / "samples"
LIMITS = [
    DecodeSettings(max_tokens=count, ngram_size=3, ngram_window=20, loop_tokens=0)
    for count in (60, 90, 45, 22, 75, 51, 70)
]
PAGES = [vision(length, seed) for seed, length in enumerate((20, 31, 20, 20, 5, 31, 12))]
Plain = list[tuple[Transcript, list[float]]]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader(model=RandomReader(), tokenizer=tokenizer(), eos_id=EOS)


@pytest.fixture(scope="module")
def plain(reader: Reader) -> Plain:
    return [read_plainly(reader, page, PROMPT, limits) for page, limits in zip(PAGES, LIMITS, strict=True)]


def drafts_of(plain: Plain, kind: str) -> list[Any]:
    if kind == "none":
        return [None] * len(plain)
    if kind == "malicious":
        return [Malicious(seed) for seed in range(len(plain))]
    return [Knowing(transcript.token_ids, 0.0 if kind == "knowing" else 0.2) for transcript, _ in plain]


def engine_reads(
    reader: Reader, plain: Plain, kind: str, num_slots: int, order: list[int], **limits: int
) -> Iterator[PageRead]:
    drafts = drafts_of(plain, kind)
    requests = (PageRequest(vision=PAGES[n], settings=LIMITS[n], draft=drafts[n]) for n in order)
    return Engine(reader, prompt=PROMPT, num_slots=num_slots, **limits).read(requests)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["none", "knowing", "erring", "malicious"])
@pytest.mark.parametrize("num_slots", [1, 3, 8])
def test_every_page_equals_plain_greedy_decoding(
    reader: Reader, plain: Plain, kind: str, num_slots: int
) -> None:
    order = list(range(len(PAGES)))
    random.Random(num_slots).shuffle(order)
    reads = list(engine_reads(reader, plain, kind, num_slots, order))
    assert sorted(read.index for read in reads) == list(range(len(PAGES)))
    for read in reads:
        assert_same(read.transcript, *plain[order[read.index]])


@pytest.mark.slow
def test_a_knowing_draft_saves_steps(reader: Reader, plain: Plain) -> None:
    order = list(range(len(PAGES)))
    written = sum(len(transcript.token_ids) for transcript, _ in plain)
    steps = {
        kind: sum(read.num_steps for read in engine_reads(reader, plain, kind, 3, order))
        for kind in ("none", "knowing", "malicious")
    }
    assert steps["knowing"] < written / 4
    assert 0.9 * written < steps["malicious"] <= steps["none"] <= written


@pytest.mark.slow
def test_pages_are_pulled_when_slots_are_free_and_come_as_they_finish(reader: Reader) -> None:
    pulled: list[int] = []

    def requests() -> Iterator[PageRequest]:
        for number, max_tokens in enumerate((40, 80, 30, 45)):
            pulled.append(number)
            settings = DecodeSettings(max_tokens=max_tokens, ngram_size=3, ngram_window=20, loop_tokens=0)
            yield PageRequest(vision=PAGES[0], settings=settings)

    reads = Engine(Reader(reader.model, tokenizer(), eos_id=-1), prompt=PROMPT, num_slots=2).read(requests())
    seen = [(read.index, tuple(pulled), len(read.transcript.token_ids)) for read in reads]
    assert seen == [
        (0, (0, 1), 18),
        (2, (0, 1, 2), 8),
        (3, (0, 1, 2, 3), 23),
        (1, (0, 1, 2, 3), 58),
    ]


@pytest.mark.slow
def test_a_source_that_is_not_ready_does_not_hold_up_the_others(reader: Reader, plain: Plain) -> None:
    engine = Engine(reader, prompt=PROMPT, num_slots=4)
    being_read: list[int] = []

    def requests() -> Iterator[PageRequest | None]:
        for number in (0, 4):
            for _ in range(5):
                being_read.append(engine.num_reading)
                yield None
            yield PageRequest(vision=PAGES[number], settings=LIMITS[number])

    reads = {read.index: read for read in engine.read(requests())}
    assert being_read == [0] * 5 + [1] * 5
    assert_same(reads[0].transcript, *plain[0])
    assert_same(reads[1].transcript, *plain[4])


@pytest.mark.slow
def test_keys_and_values_stay_within_their_bytes(reader: Reader, plain: Plain) -> None:
    """Room for two pages of up to 256 tokens."""
    engine = Engine(reader, prompt=PROMPT, num_slots=8, kv_bytes=2 * 256 * 3 * 2 * 2 * 16 * 4)
    most = 0

    def requests() -> Iterator[PageRequest | None]:
        nonlocal most
        for page, limits in zip(PAGES, LIMITS, strict=True):
            most = max(most, engine.num_reading)
            yield PageRequest(vision=page, settings=limits)

    reads = list(engine.read(requests()))
    assert most == 2
    for read in reads:
        assert_same(read.transcript, *plain[read.index])
    tight = engine_reads(reader, plain, "none", 8, [0, 1], kv_bytes=1)
    assert len(list(tight)) == 2, "one page is always read"


def test_a_page_without_room_is_empty(reader: Reader) -> None:
    request = PageRequest(vision=PAGES[0], settings=DecodeSettings(max_tokens=5))
    (read,) = Engine(reader, prompt=PROMPT, num_slots=2).read([request])
    assert (read.transcript.token_ids, read.transcript.finish, read.num_steps) == ((), "length", 0)


def test_seconds_of_the_pages_add_up(reader: Reader, plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", time.thread_time)  # what other processes take is left out
    started = time.perf_counter()
    reads = list(engine_reads(reader, plain, "erring", 3, list(range(len(PAGES)))))
    wall_s = time.perf_counter() - started
    assert 0.5 * wall_s < sum(read.prefill_s + read.generate_s for read in reads) < wall_s


def seen_by(loaded: checkpoint.LoadedModel, name: str) -> VisionTokens:
    with Image.open(SAMPLES / name) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    with torch.inference_mode():
        (tokens,) = loaded.model.encoder.encode([views(pixels, "tiny", 1)])
    return tokens


@pytest.fixture(scope="module")
def small() -> checkpoint.LoadedModel:
    return checkpoint.load("small", device="cpu", dtype=torch.float32)


@pytest.fixture(scope="module")
def scans(small: checkpoint.LoadedModel) -> list[VisionTokens]:
    return [seen_by(small, name) for name in ("letter.png", "fax.tiff", "photo.jpg")]


@pytest.mark.slow
def test_the_shipped_model_reads_real_pages_as_plain_decoding_does(
    small: checkpoint.LoadedModel, scans: list[VisionTokens]
) -> None:
    limits = [DecodeSettings(max_tokens=count) for count in (190, 170, 150)]
    plain = [
        read_plainly(small, page, small.prompt, settings)
        for page, settings in zip(scans, limits, strict=True)
    ]
    for drafts in ([None] * 3, [Knowing(t.token_ids, 0.1, 4096) for t, _ in plain], [Malicious(1, 4096)] * 3):
        output = decode_pages(small, scans, prompt=small.prompt, settings=limits, drafts=drafts)
        for found, (expected, gaps) in zip(output.transcripts, plain, strict=True):
            assert_same(found, expected, gaps, tolerance=1e-3)


class _Ban(LogitsProcessor):  # type: ignore[misc]
    """Our n-gram ban for transformers' generate, which passes the written tokens alone."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        ban = NgramBan(size=20, window=50)
        for token in input_ids[0].tolist():
            ban.push(token)
        scores[0, list(ban.banned())] = -torch.inf
        return scores


@pytest.mark.slow
def test_tokens_equal_transformers_generate(
    small: checkpoint.LoadedModel, scans: list[VisionTokens], tmp_path: Path
) -> None:
    checkpoint.save(small.model, tmp_path, tokenizer=small.tokenizer)
    generating = reference_model(tmp_path, small.model.config)
    output = decode_pages(
        small, scans[:1], prompt=small.prompt, settings=[DecodeSettings(max_tokens=160)], drafts=[Malicious()]
    )
    ids = encode_prompt(small.tokenizer, small.prompt, bos_id=small.bos_id)
    (embeds,) = splice(small.model.language_model.embed_tokens, ids, [scans[0].tokens_TD])
    generated = generating.generate(
        inputs_embeds=embeds[None],
        max_new_tokens=160 - len(embeds),
        do_sample=False,
        eos_token_id=small.eos_id,
        pad_token_id=small.eos_id,
        logits_processor=[_Ban()],
    )
    assert tuple(generated[0].tolist()) == output.transcripts[0].token_ids
