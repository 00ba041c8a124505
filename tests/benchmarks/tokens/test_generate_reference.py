from dataclasses import replace

import pytest
import torch

from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.requests import PageRequest
from tests.benchmarks.tokens.generate_reference import GenerateReference
from tests.benchmarks.tokens.reading_engines import ReadingEngine, request_of
from tests.benchmarks.tokens.tiny_readings import tiny_checkpoint, tiny_readings


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return checkpoint.load(
        str(tiny_checkpoint(tmp_path_factory.mktemp("tiny"))), device="cpu", dtype=torch.float32
    )


@pytest.fixture(scope="module")
def requests(loaded: LoadedModel) -> list[PageRequest]:
    """Returns requests with n-grams of two, so that the ban applies to nearly every choice of random weights."""
    asked = [request_of(loaded, page, 40) for page in tiny_readings()]
    return [
        replace(one, settings=replace(one.settings, ngram_size=2, ngram_window=20, loop_tokens=24))
        for one in asked
    ]


def test_generate_under_our_rules_writes_what_the_engine_writes(
    loaded: LoadedModel, requests: list[PageRequest]
) -> None:
    reference = GenerateReference(loaded)
    reads = sorted(
        ReadingEngine("engine", loaded, slots=2, max_tokens=64).read(requests), key=lambda read: read.index
    )
    for request, read in zip(requests, reads, strict=True):
        (wanted,) = reference.read([request])
        assert read.transcript.token_ids == tuple(wanted.tokens)
        assert read.transcript.finish == wanted.finish
        assert len(wanted.gaps) == len(wanted.seconds) == len(wanted.chosen)


def test_the_ban_shows(loaded: LoadedModel, requests: list[PageRequest]) -> None:
    reference = GenerateReference(loaded)
    free = replace(requests[0], settings=replace(requests[0].settings, ngram_size=0, loop_tokens=0))
    (banned,), (unbanned,) = reference.read(requests[:1]), reference.read([free])
    assert banned.tokens != unbanned.tokens
    pairs = list(zip(banned.chosen[:-1], banned.chosen[1:], strict=True))
    assert all(pair not in pairs[max(0, n - 18) : n] for n, pair in enumerate(pairs))


def test_pages_of_a_batch_are_read_as_alone(loaded: LoadedModel, requests: list[PageRequest]) -> None:
    reference = GenerateReference(loaded)
    for together, request in zip(reference.read(requests), requests, strict=True):
        (alone,) = reference.read([request])
        assert together.tokens == alone.tokens
        assert together.gaps == pytest.approx(alone.gaps, abs=1e-3)


def test_one_forward_gives_the_logits_that_tokens_were_chosen_from(
    loaded: LoadedModel, requests: list[PageRequest]
) -> None:
    reference = GenerateReference(loaded)
    (read,) = reference.read(requests[:1])
    logits_TV = reference.logits(requests[0], read.chosen)
    chosen, second = (
        logits_TV.gather(1, torch.tensor(tokens)[:, None])[:, 0] for tokens in (read.chosen, read.seconds)
    )
    assert (chosen - second).tolist() == pytest.approx(read.gaps, abs=1e-3)
