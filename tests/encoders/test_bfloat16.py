import pytest
import torch
from torch import nn
from torch.nn import functional

from encoders import bfloat16
from encoders.bfloat16 import Bfloat16Linear, multiply_in_bfloat16
from encoders.pointwise import linear_gelu
from tests.ocr.tiny import relative_error, tiny_model


def random_linear(bias: bool = True) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(96, 48, bias=bias)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("packs", [True, False])
@torch.inference_mode()
def test_a_product_is_rounded_to_bfloat16_and_no_further(
    bias: bool, packs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Covers builds with oneDNN's packed weights and builds without."""
    if not packs:
        monkeypatch.setattr(bfloat16, "_pack", lambda weight: None)
    linear = random_linear(bias)
    ours = Bfloat16Linear(linear)
    x = torch.randn(2, 5, 96)
    exact = functional.linear(
        x.bfloat16().double(), ours.weight.double(), None if ours.bias is None else ours.bias.double()
    )
    assert ours(x).dtype == torch.bfloat16
    assert relative_error(ours(x).double(), exact) < 3e-3
    assert relative_error(ours(x).float(), linear(x)) < 6e-3
    assert relative_error(linear_gelu(x, ours).float(), functional.gelu(linear(x))) < 1e-2  # type: ignore[arg-type]


def test_every_linear_layer_is_replaced_under_its_name() -> None:
    inner = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 2))
    root = nn.Sequential(nn.Linear(4, 4), inner)
    names = [name for name, _ in root.named_parameters()]
    multiply_in_bfloat16(root)
    assert isinstance(root[0], Bfloat16Linear)
    assert isinstance(inner[1], Bfloat16Linear)
    assert next(inner[0].parameters()).dtype == torch.float32
    assert [name for name, _ in root.named_parameters()] == names


@torch.inference_mode()
def test_an_encoder_in_bfloat16_keeps_its_results_close_and_in_float32() -> None:
    """The tiny model has relative positions, which stay in float32."""
    encoder, mixed, whole = tiny_model().encoder, tiny_model().encoder, tiny_model().encoder
    mixed.multiply_in_bfloat16()
    pixels = torch.randint(0, 256, (2, 3, 512, 512), dtype=torch.uint8)
    exact, tokens = encoder.encode_views(pixels), mixed.encode_views(pixels)
    assert tokens.dtype == torch.float32
    error = relative_error(tokens, exact)
    rounded = relative_error(whole.bfloat16().encode_views(pixels).float(), exact)
    assert 1e-5 < error < 1e-2
    assert error < rounded / 2
