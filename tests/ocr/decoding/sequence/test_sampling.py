"""Drawing tokens: as often as the temperature says, and the same ones whoever reads."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from ocr.decoding.gpu.forward.choices import choose_allowed
from ocr.decoding.sequence.sampling import Sampler
from tests.ocr.decoding.test_reading import FREE, PAGES, random_reader, texts


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_as_often_as_the_temperature_says(temperature: float) -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0, 5.0])
    sampler = Sampler(temperature=temperature, seed=3)
    noise = [sampler.noise(place, 5) for place in range(4000)]
    chosen = choose_allowed(logits.expand(4000, 5), [[4]] * 4000, noise)
    drawn = Counter(chosen[:, 0].long().tolist())
    expected = torch.softmax(logits[:4] / temperature, 0)
    assert drawn[4] == 0, "banned"
    for token in range(4):
        assert drawn[token] / 4000 == pytest.approx(float(expected[token]), abs=0.03)


def test_the_log_probability_is_the_models_own() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0])
    ((token, logprob),) = choose_allowed(logits[None], [[]], [torch.tensor([0.0, 9.0, 0.0])]).tolist()
    assert token == 1
    assert logprob == pytest.approx(float(logits.log_softmax(0)[1]))


def test_noise_is_of_the_seed_and_the_place_alone() -> None:
    sampler = Sampler(temperature=1.0, seed=1)
    assert torch.equal(sampler.noise(7, 50), sampler.noise(7, 50))
    assert not torch.equal(sampler.noise(7, 50), sampler.noise(8, 50))
    assert not torch.equal(sampler.noise(7, 50), Sampler(temperature=1.0, seed=2).noise(7, 50))
    assert torch.equal(2 * sampler.noise(7, 50), Sampler(temperature=2.0, seed=1).noise(7, 50))


@pytest.mark.slow
def test_a_page_is_drawn_the_same_alone_and_beside_greedy_ones() -> None:
    reader = random_reader(eos_id=-1)
    warm = replace(FREE, temperature=1.0, seed=5)
    mixed = texts(reader, PAGES[:3], [FREE, warm, FREE])
    (alone,) = texts(reader, PAGES[1:2], [warm])
    greedy = texts(reader, PAGES[:3], [FREE] * 3)
    other = texts(reader, PAGES[1:2], [replace(warm, seed=6)])[0]
    assert mixed[1].token_ids == alone.token_ids
    assert [page.token_ids for page in mixed[::2]] == [page.token_ids for page in greedy[::2]]
    assert len({alone.token_ids, greedy[1].token_ids, other.token_ids}) == 3
