import pytest
import torch

from ocr.decoding.gpu.forward.choices import choose_allowed, choose_into

LOGITS = torch.randn(3, 64, generator=torch.Generator().manual_seed(0))


def test_the_likeliest_token_and_its_probability() -> None:
    tokens, results = torch.empty(3, dtype=torch.long), torch.empty(3, 2)
    choose_into(LOGITS, tokens, results, fused=False)
    expected = LOGITS.log_softmax(-1).max(-1)
    assert tokens.tolist() == results[:, 0].tolist() == expected.indices.tolist()
    assert results[:, 1].tolist() == pytest.approx(expected.values.tolist(), abs=1e-5)


def test_bans_change_the_choice_but_no_probability() -> None:
    first, second, third = LOGITS[1].topk(3).indices.tolist()
    for banned, token in (((first,), second), ((second,), first), ({first, second}, third), ((), first)):
        ((found, logprob),) = choose_allowed(LOGITS[1:2], [banned]).tolist()
        assert found == token
        assert logprob == pytest.approx(LOGITS[1].log_softmax(-1)[token].item(), abs=1e-5)


def test_ids_of_a_large_vocabulary_are_exact() -> None:
    logits = torch.zeros(1, 129_280)
    logits[0, 129_277] = 1
    assert choose_allowed(logits, [()])[0, 0] == 129_277
