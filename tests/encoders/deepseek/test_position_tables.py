import torch
from torch import Tensor

from encoders.deepseek.position_tables import TableCache


def test_kept_until_the_weights_change() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    cache: TableCache[Tensor] = TableCache()
    with torch.no_grad():
        first = cache.get(4, [weight], lambda: weight * 2)
        assert cache.get(4, [weight], lambda: weight * 2) is first
        weight.add_(1)
        second = cache.get(4, [weight], lambda: weight * 2)
        assert torch.equal(second, torch.full((3,), 4.0))
        assert cache.get(8, [weight], lambda: weight * 3)[0] == 6, "one entry a key"
        weight.data = weight.data.double()
        assert cache.get(4, [weight], lambda: weight * 2).dtype == torch.float64
        other = torch.nn.Parameter(torch.zeros(3))
        assert cache.get(4, [other], lambda: other * 2).sum() == 0


def test_gradients_reach_the_weights() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    cache: TableCache[Tensor] = TableCache()
    with torch.no_grad():
        cache.get(4, [weight], lambda: weight * 2)
    cache.get(4, [weight], lambda: weight * 2).sum().backward()
    assert weight.grad is not None
    assert weight.grad.sum() == 6


def test_a_table_made_under_inference_mode_serves_autograd() -> None:
    weight = torch.nn.Parameter(torch.ones(3), requires_grad=False)
    cache: TableCache[Tensor] = TableCache()
    with torch.inference_mode():
        cache.get(4, [weight], lambda: weight * 2)
    x = torch.ones(3, requires_grad=True)
    (x * cache.get(4, [weight], lambda: weight * 2)).sum().backward()
    assert x.grad is not None
