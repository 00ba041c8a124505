import pytest
import torch

from ocr.decoding.sequence.greedy import likeliest, likeliest_without

LOGITS = torch.randn(3, 64, generator=torch.Generator().manual_seed(0))


def test_the_likeliest_token_and_its_probability() -> None:
    ids, logprobs = likeliest(LOGITS)
    expected = LOGITS.log_softmax(-1).max(-1)
    assert ids == expected.indices.tolist()
    assert logprobs == pytest.approx(expected.values.tolist(), abs=1e-5)


def test_bans_change_the_choice_but_no_probability() -> None:
    first, second, third = LOGITS[1].topk(3).indices.tolist()
    for banned, token in (((first,), second), ((second,), first), ({first, second}, third), ((), first)):
        found, logprob = likeliest_without(LOGITS[1], banned)
        assert found == token
        assert logprob == pytest.approx(LOGITS[1].log_softmax(-1)[token].item(), abs=1e-5)


def test_ids_of_a_large_vocabulary_are_exact() -> None:
    logits = torch.zeros(1, 129_280)
    logits[0, 129_277] = 1
    assert likeliest(logits)[0] == [129_277]
