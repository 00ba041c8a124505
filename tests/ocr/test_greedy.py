import math

import pytest
import torch

from ocr.greedy import LiveBatch, choose
from tests.ocr.tiny_reader import VOCAB, RandomReader


@pytest.fixture(scope="module")
def model() -> RandomReader:
    return RandomReader()


def prompt(length: int) -> torch.Tensor:
    return torch.randn(length, 64, generator=torch.Generator().manual_seed(length))


def test_random_logits_are_of_order_one(model: RandomReader) -> None:
    """Else the comparisons below would pass on nothing."""
    first, second = model.logits(prompt(9)), model.logits(prompt(10))
    assert 0.3 < first.std().item() < 3
    assert (first - second).abs().max().item() > 0.3


@torch.inference_mode()
def test_cached_padded_and_shrinking_batch_equals_full_recomputation(model: RandomReader) -> None:
    """Rows of different lengths, in mixed order, leaving at different times: longest first, then others."""
    sequences = [prompt(length) for length in (12, 30, 12, 7, 30)]
    batch = LiveBatch(model, sequences)
    for step, kept in enumerate([[0, 1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 2], [2, 0], [0]]):
        sequences = [sequences[row] for row in kept]
        batch.keep(kept)
        expected = torch.stack([model.logits(sequence) for sequence in sequences])
        torch.testing.assert_close(batch.logits_BV, expected, atol=1e-4, rtol=0)
        tokens = torch.arange(len(kept)) * 3 + step
        embeds = model.language_model.embed_tokens(tokens)
        sequences = [
            torch.cat((sequence, new[None])) for sequence, new in zip(sequences, embeds, strict=True)
        ]
        batch.advance(tokens)
    torch.testing.assert_close(batch.logits_BV[0], model.logits(sequences[0]), atol=1e-4, rtol=0)


def test_choose_obeys_bans_and_reports_probabilities_before_them() -> None:
    logits = torch.randn(3, VOCAB, generator=torch.Generator().manual_seed(0))
    best, second = (row.tolist() for row in logits.topk(2).indices.T)
    chosen, ids, logprobs = choose(logits, [set(), {best[1]}, {second[2]}])
    assert ids == [best[0], second[1], best[2]]
    assert chosen.tolist() == ids
    expected = logits.log_softmax(-1)
    for row, token in enumerate(ids):
        assert math.isclose(logprobs[row], expected[row, token].item(), abs_tol=1e-5)
