import math
from dataclasses import replace

import pytest
import torch

from ocr.decoding.decode_pages import decode_pages
from ocr.decoding.sequence.page_reading import DecodeError, DecodeSettings, settings_for
from ocr.model.prompt import encode_prompt, splice
from ocr.types import Transcript
from tests.ocr.decoding.sequence.test_ngram import rescan
from tests.ocr.tiny_reader import BOS, EOS, READ, VOCAB, ChainReader, RandomReader, Reader, tokenizer, vision

PROMPT = "<image>\nRead"
FREE = DecodeSettings(max_tokens=120, ngram_size=3, ngram_window=20, loop_tokens=0)
PAGES = [vision(length, seed) for seed, length in enumerate((20, 31, 20, 5, 31, 12))]


def read(reader: Reader, pages: list[int], settings: DecodeSettings) -> list[Transcript]:
    chosen = [PAGES[page] for page in pages]
    return decode_pages(reader, chosen, prompt=PROMPT, settings=[settings] * len(pages)).transcripts


def random_reader(eos_id: int) -> Reader:
    return Reader(model=RandomReader(), tokenizer=tokenizer(), eos_id=eos_id)


@pytest.fixture(scope="module")
def stopping() -> Reader:
    """A random model whose end token is one that its pages write, each after another number of tokens."""
    free = read(random_reader(eos_id=-1), list(range(len(PAGES))), FREE)
    counts = {
        token: {page.token_ids.index(token) for page in free if token in page.token_ids}
        for token in range(VOCAB)
    }
    return random_reader(max(counts, key=lambda token: len(counts[token])))


def gap_where_they_part(reader: Reader, page: int, one: Transcript, other: Transcript) -> float:
    """The distance of the top two logits at the first token that differs (0 where they are equal)."""
    if one == other or one.token_ids == other.token_ids:
        return 0.0
    pairs = zip(one.token_ids, other.token_ids, strict=False)
    same = next(
        (n for n, (a, b) in enumerate(pairs) if a != b), min(map(len, (one.token_ids, other.token_ids)))
    )
    embed = reader.model.language_model.embed_tokens
    (start,) = splice(embed, encode_prompt(reader.tokenizer, PROMPT, bos_id=BOS), [PAGES[page].tokens_TD])
    logits = reader.model.logits(
        torch.cat((start, embed(torch.tensor(one.token_ids[:same], dtype=torch.long))))
    )
    first, second = logits.topk(2).values.tolist()
    return float(first - second)


def test_batch_equals_single_page_by_page(stopping: Reader) -> None:
    batch = read(stopping, list(range(len(PAGES))), FREE)
    assert len({len(transcript.token_ids) for transcript in batch}) > 2, "pages must end at different steps"
    assert "eos" in {transcript.finish for transcript in batch}
    for page, together in enumerate(batch):
        (alone,) = read(stopping, [page], FREE)
        assert gap_where_they_part(stopping, page, together, alone) < 1e-3
        if together.token_ids == alone.token_ids:
            assert (together.raw, together.finish) == (alone.raw, alone.finish)
            assert together.logprobs == pytest.approx(alone.logprobs, abs=1e-5)


def test_order_of_a_batch_does_not_matter(stopping: Reader) -> None:
    forward = read(stopping, [0, 1, 2, 3], FREE)
    backward = read(stopping, [3, 2, 1, 0], FREE)[::-1]
    for page, (one, other) in enumerate(zip(forward, backward, strict=True)):
        assert gap_where_they_part(stopping, page, one, other) < 1e-3


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
    return decode_pages(reader, pages, prompt=PROMPT, settings=[settings] * num_pages).transcripts


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
    transcripts = decode_pages(reader, pages, prompt=PROMPT, settings=limits).transcripts
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
        decode_pages(reader, [vision(4, width=VOCAB)], prompt=PROMPT, settings=[settings_for("pdf")])


def test_no_pages_are_no_transcripts() -> None:
    output = decode_pages(random_reader(EOS), [], prompt=PROMPT, settings=[])
    assert output.transcripts == []


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_other_number_formats_decode(dtype: torch.dtype) -> None:
    reader = random_reader(eos_id=-1)
    reader.model.to(dtype)
    transcripts = read(reader, [0, 3], replace(FREE, max_tokens=60))
    assert [len(transcript.token_ids) for transcript in transcripts] == [38, 53]
    assert all(logprob < 0 for transcript in transcripts for logprob in transcript.logprobs)
