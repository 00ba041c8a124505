"""Our language model is transformers' own, bit for bit."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers import DynamicCache
from transformers import UnlimitedOcrTextModel as TransformersModel

from ocr.model.deepseek_ocr import LanguageConfig
from ocr.model.random_weights import redraw
from ocr.model.text_model import UnlimitedOcrTextModel

# A dense and two sparse layers, grouped heads.
TINY = LanguageConfig(
    vocab_size=96, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=2, n_routed_experts=6, n_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=24,
)  # fmt: skip
IN_GROUPS = replace(
    TINY, topk_method="group_limited_greedy", n_group=3, topk_group=2, routed_scaling_factor=2.5
)
ALL_HEADS = replace(TINY, num_key_value_heads=4, rope_theta=500.0)
CASES = [
    pytest.param(config, dtype, experts, id=f"{name}-{str(dtype)[6:]}-{experts}")
    for name, config in {"greedy": TINY, "in groups": IN_GROUPS, "all heads": ALL_HEADS}.items()
    for dtype in (torch.float32, torch.bfloat16)
    for experts in ("grouped_mm", "batched_mm")
]


def pair(config: LanguageConfig, dtype: torch.dtype, experts: str = "grouped_mm") -> tuple[Any, Any]:
    """Ours and transformers', with the same random weights."""
    ours, theirs = (
        UnlimitedOcrTextModel(config.to_text()),
        TransformersModel(config.to_transformers()),
    )
    redraw(ours)
    theirs.load_state_dict(ours.state_dict())
    for model in (ours, theirs):
        model.eval().requires_grad_(False).to(dtype)
        model.config._experts_implementation = experts
    return ours, theirs


@torch.inference_mode()
def read(model: Any, embeds_BTD: torch.Tensor, cuts: list[int]) -> list[torch.Tensor]:
    """Hidden states of one part after the other, each seeing what the cache holds of those before it."""
    cache, hidden = DynamicCache(), []
    for start, end in zip([0, *cuts], [*cuts, embeds_BTD.shape[1]], strict=True):
        part = embeds_BTD[:, start:end]
        hidden.append(model(inputs_embeds=part, past_key_values=cache, use_cache=True).last_hidden_state)
    return hidden


@pytest.mark.parametrize(("config", "dtype", "experts"), CASES)
def test_hidden_states_are_transformers_bit_for_bit(
    config: LanguageConfig, dtype: torch.dtype, experts: str
) -> None:
    ours, theirs = pair(config, dtype, experts)
    embeds_BTD = torch.randn(2, 9, 64, generator=torch.Generator().manual_seed(0)).to(dtype)
    for cuts in ([], [5, 6]):  # at once; a prompt, one token, and three with a mask
        found, expected = read(ours, embeds_BTD, cuts), read(theirs, embeds_BTD, cuts)
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True)), cuts
        assert 0.3 < float(expected[0].float().std()) < 10, (
            "hidden states not of order 1 would compare nothing"
        )


def test_gradients_are_transformers_too() -> None:
    ours, theirs = pair(TINY, torch.float32)
    embeds_BTD = torch.randn(2, 7, 64, generator=torch.Generator().manual_seed(1))
    for model in (ours, theirs):
        model.requires_grad_(True)
        model(inputs_embeds=embeds_BTD, use_cache=False).last_hidden_state.pow(2).sum().backward()
    expected = dict(theirs.named_parameters())
    for name, parameter in ours.named_parameters():
        if name != "embed_tokens.weight":  # the sequence came as embeddings
            torch.testing.assert_close(parameter.grad, expected[name].grad, rtol=1e-5, atol=1e-5, msg=name)


def test_names_and_shapes_are_transformers() -> None:
    ours, theirs = pair(TINY, torch.float32)
    assert [(name, value.shape) for name, value in ours.named_parameters()] == [
        (name, value.shape) for name, value in theirs.named_parameters()
    ]


def test_without_a_kernel_for_grouped_products_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from ocr.model import experts

    ours, _ = pair(TINY, torch.float32)
    embeds_BTD = torch.randn(1, 9, 64, generator=torch.Generator().manual_seed(2))
    expected = read(ours, embeds_BTD, [])
    monkeypatch.setattr(experts, "_KERNEL", None)
    torch.testing.assert_close(read(ours, embeds_BTD, []), expected, rtol=1e-5, atol=1e-5)


def test_random_weights_of_a_new_model_are_small() -> None:
    model = UnlimitedOcrTextModel(TINY.to_text())
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            assert torch.equal(parameter, torch.ones_like(parameter)), name
        else:
            assert 0.01 < float(parameter.detach().std()) < 0.03, name
