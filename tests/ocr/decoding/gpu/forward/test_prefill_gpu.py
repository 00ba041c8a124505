"""Prompts through our kernels on a CUDA device."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.models.unlimited_ocr.modeling_unlimited_ocr import UnlimitedOcrTextMoe

from ocr.decoding.gpu.forward import prefill_experts
from ocr.decoding.gpu.forward.block_pool import BlockPool, PoolShape
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.model.deepseek_ocr import LanguageConfig
from ocr.model.random_weights import redraw
from tests.ocr.decoding.gpu.test_gpu import CUDA, exact_products, pytestmark, reader_on
from tests.ocr.decoding.gpu.test_paged_engine import FREE, PAGES, PROMPT, SMALL, in_order, items, same
from tests.ocr.decoding.plain import plain_texts

__all__ = ["exact_products", "pytestmark"]


def combined(module: Any, hidden: Tensor, routed: prefill_experts.Routed) -> Tensor:
    """[T, D] in float32."""
    rows = prefill_experts.experts_tiles(module, hidden, routed)
    return (rows[routed.places.long()].float() * routed.shares[:, :, None]).sum(1)


@pytest.mark.parametrize("tokens", [1, 16, 903, 7224])
def test_experts_of_the_published_size(tokens: int) -> None:
    config = LanguageConfig(num_hidden_layers=2).to_transformers()
    with CUDA:
        module = UnlimitedOcrTextMoe(config).bfloat16().requires_grad_(False)
    redraw(module)
    hidden = torch.randn(tokens, 1280, device=CUDA).bfloat16()
    with torch.inference_mode():
        routed = prefill_experts.route(module.gate, hidden)
        _, expected_shares, expected = module.gate(hidden)
        places = torch.arange(tokens * 6, device=CUDA)
        assert torch.equal(routed.order.long().sort().values, places)
        assert torch.equal(routed.order[routed.places.flatten().long()].long(), places)
        counts = torch.bincount(expected.flatten(), minlength=64)
        assert (routed.starts.diff() - counts).abs().sum() <= 0.01 * tokens * 6 + 2
        torch.testing.assert_close(
            routed.shares.sort(1).values, expected_shares.sort(1).values, rtol=1e-3, atol=1e-5
        )
        got = combined(module.experts, hidden, routed)
        expert = torch.searchsorted(routed.starts[1:].contiguous(), routed.places, right=True)
        exact = module.experts.float()(hidden.float(), expert, routed.shares)
    assert (got - exact).norm() / exact.norm() < 1e-2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("pages", "length"), [(1, 1), (3, 64), (5, 77)])
def test_the_same_states_as_transformers(pages: int, length: int, dtype: torch.dtype) -> None:
    found = []
    for kernels in (False, True):
        reader = reader_on(dtype)
        shape = PoolShape.of(reader.model.language_model, dtype, 16)
        count = shape.blocks(length)
        with torch.inference_mode():
            pool = BlockPool(shape, (2 + pages * count) * shape.block_bytes, CUDA)
            blocks = (
                (1 + torch.randperm(pages * count, generator=torch.Generator().manual_seed(0)))
                .view(pages, count)
                .tolist()
            )
            steps = DeviceSteps(
                reader.model, pool, slots=pages, max_tokens=128, kernels=kernels, graphs=False
            )
            embeds = torch.randn(
                pages, length, 64, device=CUDA, generator=torch.Generator(CUDA).manual_seed(0)
            )
            found.append((steps.prefill(embeds.to(dtype), blocks, list(range(pages))).logits_NV, pool))
    (expected, plain), (got, ours) = found
    exactly = dtype == torch.float32
    close = {"rtol": 1e-4, "atol": 1e-4} if exactly else {"rtol": 2e-2, "atol": 2e-2}
    # Where rounding may change an expert only what comes before them is alike.
    layers = range(3) if exactly else range(1)
    for layer in layers:
        torch.testing.assert_close(ours.keys[layer], plain.keys[layer], **close)
        torch.testing.assert_close(ours.values[layer], plain.values[layer], **close)
    if exactly:
        torch.testing.assert_close(got, expected, **close)
    assert got.isfinite().all()


@pytest.mark.parametrize(("slots", "graphs"), [(1, False), (3, True), (8, True)])
def test_the_engine_equals_plain_decoding_in_fp32(slots: int, graphs: bool) -> None:
    reader = reader_on(torch.float32)
    pages = [replace(page, tokens_TD=page.tokens_TD.to(CUDA)) for page in PAGES]
    limits = [replace(FREE, max_tokens=count) for count in (120, 60, 90, 33, 120, 70, 50, 100)]
    expected = plain_texts(reader, pages, prompt=PROMPT, settings=limits)
    engine = PagedEngine(reader, replace(SMALL, slots=slots, graphs=graphs))
    assert engine._steps._forward.prefills
    same(in_order(engine, items(reader, pages, limits)), expected)
