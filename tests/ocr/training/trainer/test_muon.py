import torch
from torch import nn

from ocr.training.trainer.muon import Muon, is_matrix, orthogonalise


def test_singular_values_come_near_one() -> None:
    torch.manual_seed(0)
    for shape in [(2, 48, 16), (2, 16, 48)]:
        values = torch.linalg.svdvals(orthogonalise(torch.randn(shape)))
        assert values.min() > 0.5
        assert values.max() < 1.4


def test_a_fused_projection_is_three_matrices() -> None:
    torch.manual_seed(0)
    fused = nn.Parameter(torch.zeros(24, 8))
    parts = [nn.Parameter(torch.zeros(8, 8)) for _ in range(3)]
    fused.grad = torch.randn(24, 8)
    for part, grad in zip(parts, fused.grad.chunk(3), strict=True):
        part.grad = grad.clone()
    Muon([("block.qkv.weight", fused)], lr=0.1).step()
    Muon([(f"{i}.weight", p) for i, p in enumerate(parts)], lr=0.1).step()
    torch.testing.assert_close(fused, torch.cat(list(parts)), atol=1e-3, rtol=0)


def test_it_fits_a_linear_map() -> None:
    torch.manual_seed(0)
    layer, target = nn.Linear(16, 16, bias=False), torch.randn(16, 16) / 4
    optimiser, x = Muon([("weight", layer.weight)], lr=0.05), torch.randn(256, 16)
    losses = []
    for step in range(150):
        loss = ((layer(x) - x @ target.T) ** 2).mean()
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.param_groups[0]["lr"] = 0.05 * (1 - step / 150)
        optimiser.step()
    assert losses[-1] < losses[0] / 50


def test_embeddings_and_heads_go_to_adamw() -> None:
    matrix = nn.Parameter(torch.zeros(4, 4))
    assert is_matrix("layers.0.mlp.up_proj.weight", matrix)
    assert not is_matrix("language_model.embed_tokens.weight", matrix)
    assert not is_matrix("character_head.classify.weight", matrix)
    assert not is_matrix("layers.0.norm.weight", nn.Parameter(torch.zeros(4)))
