import pytest
import torch

from ocr.kv_cache import KVCache


def states(batch: int, length: int, seed: int) -> torch.Tensor:
    return torch.randn(batch, 2, length, 4, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("prefill", [1, 255, 256, 257, 700])
def test_appending_equals_concatenation(prefill: int) -> None:
    cache = KVCache(2)
    expected = states(2, prefill, 0)
    cache.update(expected, -expected, 1)
    for step in range(300):
        new = states(2, 1, 1 + step)
        expected = torch.cat((expected, new), dim=2)
        keys, values = cache.update(new, -new, 1)
    assert torch.equal(keys, expected)
    assert torch.equal(values, -expected)
    assert (cache.get_seq_length(0), cache.get_seq_length(1)) == (0, prefill + 300)


def test_merged_rows_are_padded_on_the_left_and_kept_rows_lose_their_padding() -> None:
    short, long = KVCache(1), KVCache(1)
    short.update(states(2, 3, 0), states(2, 3, 1), 0)
    long.update(states(1, 5, 2), states(1, 5, 3), 0)
    merged = KVCache.merged([short, long])
    assert merged.get_seq_length() == 5
    new = states(3, 1, 4)
    keys, _ = merged.update(new, new, 0)
    assert torch.equal(keys[:2, :, :2], torch.zeros(2, 2, 2, 4))
    assert torch.equal(keys[:2, :, 2:5], states(2, 3, 0))
    assert torch.equal(keys[2, :, :5], states(1, 5, 2)[0])

    merged.keep(torch.tensor([1]), drop=2)
    assert merged.get_seq_length() == 4
    keys, values = merged.update(new[:1], new[:1], 0)
    assert torch.equal(keys[0, :, :4], torch.cat((states(2, 3, 0)[1], new[1]), dim=1))
    assert torch.equal(values[0, :, :3], states(2, 3, 1)[1])
