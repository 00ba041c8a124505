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
