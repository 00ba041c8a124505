import torch
from torch import nn
from torch.nn import functional

from encoders.pointwise import add_norm, linear_gelu, quick_gelu
from tests.encoders.pointwise.pointwise_cases import random_norm


def test_sum_and_norm_are_those_of_the_operators() -> None:
    norm, x, delta = random_norm(24, (3, 2, 5))
    for added in (delta, delta[:1]):
        total, normed = add_norm(x, added, norm)
        assert torch.equal(total, x + added)
        assert torch.equal(normed, norm(x + added))
    total, normed = add_norm(x, None, norm)
    assert total is x
    assert torch.equal(normed, norm(x))


def test_a_norm_of_another_kind_is_called_as_it_is() -> None:
    class Doubled(nn.LayerNorm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(x)

    _, x, delta = random_norm(24, (3,))
    assert torch.equal(add_norm(x, delta, Doubled(24))[1], 2 * functional.layer_norm(x + delta, (24,)))


def test_activations_equal_their_formulas() -> None:
    x = torch.linspace(-8, 8, 1001, dtype=torch.float64)[:, None]
    want = x / (1 + torch.exp(-1.702 * x))
    assert torch.allclose(quick_gelu(x), want, rtol=1e-9, atol=1e-12)
    linear = nn.Linear(1, 3, dtype=torch.float64)
    between = linear(x)
    assert torch.allclose(linear_gelu(x, linear), between * torch.special.ndtr(between), atol=1e-12)
