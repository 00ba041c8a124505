"""Prompts through our kernels and transformers' layers: the same states, keys and values. Triton's interpreter."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

pytest.importorskip("triton")
from torch import Tensor

from ocr.decoding.gpu.forward import prefill, prefill_experts, steps, text_forward
from ocr.decoding.gpu.forward.block_pool import BlockPool, PoolShape
from ocr.decoding.gpu.forward.layers import ExpertsConfig
from ocr.decoding.gpu.forward.prefill_experts import Routed, TilesConfig
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.forward.text_forward import TextForward
from ocr.decoding.gpu.paged_engine import PagedEngine
from tests.interpreter import INTERPRETED, count_loops, interpreted
from tests.ocr.decoding.gpu.test_paged_engine import (
    FREE,
    PAGES,
    PROMPT,
    SMALL,
    in_order,
    items,
    random_reader,
    same,
)
from tests.ocr.decoding.plain import plain_texts
from tests.ocr.tiny_reader import ChainReader, RandomReader


@pytest.fixture(autouse=True)
def counted_loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels run where there is no GPU, loops to a number known only then included."""
    if INTERPRETED:
        count_loops(monkeypatch)
        monkeypatch.setattr(steps, "kernels_take", lambda *_: True)
    with torch.inference_mode():
        yield


def prefilled(reader: RandomReader, kernels: bool, pages: int, length: int) -> tuple[Tensor, BlockPool]:
    """Logits after each prompt, and the cache, whose blocks are in no order and held something before."""
    shape = PoolShape.of(reader.language_model, torch.float32, 16)
    each = shape.blocks(length)
    pool = BlockPool(shape, (2 + pages * each) * shape.block_bytes, torch.device("cpu"))
    for states in (*pool.keys, *pool.values):
        states.fill_(7.0)
    generator = torch.Generator().manual_seed(0)
    blocks = (1 + torch.randperm(pages * each, generator=generator)).view(pages, each).tolist()
    device = DeviceSteps(reader, pool, slots=pages, max_tokens=64, kernels=kernels, graphs=False)
    embeds = torch.randn(pages, length, 64, generator=generator)
    return device.prefill(embeds, blocks, list(range(pages))).logits_NV, pool


@interpreted
@pytest.mark.parametrize(("pages", "length"), [(1, 1), (2, 17)])
def test_the_same_states_as_transformers(pages: int, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = RandomReader()
    expected, plain = prefilled(reader, False, pages, length)
    monkeypatch.setattr(TextForward, "_forward", None)  # not asked any more
    got, pool = prefilled(reader, True, pages, length)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    assert float(expected.std()) > 0.1
    for ours, theirs in zip((*pool.keys, *pool.values), (*plain.keys, *plain.values), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def experts_and_gate() -> tuple[Any, Any]:
    layer = RandomReader().language_model.layers[1].mlp
    return layer.experts, layer.gate


def by_hand(chosen: Tensor, shares: Tensor, experts: int) -> Routed:
    order = chosen.flatten().sort(stable=True).indices
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order))
    counts = torch.bincount(chosen.flatten(), minlength=experts)
    starts = torch.cat((counts.new_zeros(1), counts.cumsum(0)))
    return Routed(shares, order.int(), places.view(chosen.shape).int(), starts.int())


@interpreted
@pytest.mark.parametrize("tokens", [1, 64, 70])
def test_tokens_go_where_the_router_says(tokens: int) -> None:
    _, gate = experts_and_gate()
    hidden = torch.randn(tokens, 64, generator=torch.Generator().manual_seed(0))
    _, shares, chosen = gate(hidden)
    shares, places = shares.sort(1, descending=True)
    expected = by_hand(chosen.gather(1, places), shares, 6)
    got = prefill_experts.route(gate, hidden)
    torch.testing.assert_close(got.shares, shares)
    for ours, theirs in zip(got[1:], expected[1:], strict=True):
        assert torch.equal(ours, theirs)


@interpreted
def test_no_numbers_go_to_some_expert_each_place_once() -> None:
    _, gate = experts_and_gate()
    hidden = torch.randn(40, 64, generator=torch.Generator().manual_seed(0))
    hidden[3] = torch.nan
    got = prefill_experts.route(gate, hidden)
    assert got.order.sort().values.tolist() == list(range(80))
    assert got.starts[-1] == 80
    assert got.shares[3].isnan().any()  # so that what comes out is none either


@interpreted
@pytest.mark.parametrize("block_m", [16, 32])
def test_experts_with_many_tokens_and_with_none(block_m: int) -> None:
    module, _ = experts_and_gate()
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(40, 64, generator=generator)
    chosen = torch.stack([torch.randperm(5, generator=generator)[:2] for _ in range(40)])
    chosen[:, 1] = 0  # expert 0 has 40 pairs and more, expert 5 none
    shares = torch.rand(40, 2, generator=generator)
    routed = by_hand(chosen, shares, 6)
    launch = ExpertsConfig(block_m=block_m, block_n=16, block_k=16)
    rows = prefill_experts.experts_tiles(module, hidden, routed, TilesConfig(gate_up=launch, down=launch))
    got = (rows[routed.places.long()] * shares[:, :, None]).sum(1)
    torch.testing.assert_close(got, module(hidden, chosen, shares), rtol=1e-4, atol=1e-4)


@interpreted
def test_sums_and_norms() -> None:
    norm = RandomReader().language_model.norm
    generator = torch.Generator().manual_seed(0)
    wide, other, rows = (torch.randn(n, 64, generator=generator) for n in (21, 7, 14))
    residual = wide.view(7, 3, 64)[:, -1]  # the last of three tokens
    chosen = torch.randint(6, (7, 2), generator=generator)
    routed = by_hand(chosen, torch.rand(7, 2, generator=generator), 6)
    expected = residual + other
    for given, total in (
        ((None, None), expected),
        ((rows, routed), expected + (rows[routed.places.long()] * routed.shares[:, :, None]).sum(1)),
    ):
        out, normed = prefill.sum_norm(norm, residual, other, *given)
        torch.testing.assert_close(out, total)
        torch.testing.assert_close(normed, norm(total))


@interpreted
def test_the_engine_writes_what_it_wrote() -> None:
    reader = random_reader(eos_id=-1)
    limits = [replace(FREE, max_tokens=9)]
    engine = PagedEngine(reader, replace(SMALL, slots=1, lag=1, graphs=False))
    found = in_order(engine, items(reader, PAGES[3:4], limits))
    same(found, plain_texts(reader, PAGES[3:4], prompt=PROMPT, settings=limits))


def test_every_kernel_is_tried_before_pages_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial's prompts use every tile that prompts of any length use."""
    monkeypatch.setattr(steps, "kernels_take", lambda *_: True)
    lengths = []

    def recorded(model: Any, prompts_NLD: Tensor, *_: object, **__: object) -> Tensor:
        lengths.append(prompts_NLD.shape[1])
        return prompts_NLD[:, -1]

    monkeypatch.setattr(text_forward, "last_states", recorded)
    monkeypatch.setattr(steps, "choose_into", lambda *_, **__: None)
    reader = RandomReader()
    shape = PoolShape.of(reader.language_model, torch.float32, 16)
    pool = BlockPool(shape, 4 * shape.block_bytes, torch.device("cpu"))
    for kernels in (False, True):
        DeviceSteps(reader, pool, slots=1, max_tokens=64, kernels=kernels, graphs=False).try_prompts()
        assert bool(lengths) == kernels

    def tiles(tokens: int) -> TilesConfig:
        return prefill_experts.tiles_config(tokens * 2 / 6, torch.bfloat16, 228 << 10)

    assert {tiles(length) for length in lengths} == {tiles(tokens) for tokens in range(1, 9000)}


def test_only_models_that_it_knows() -> None:
    assert prefill.takes(RandomReader().language_model)
    assert not prefill.takes(ChainReader({}).language_model)
    biased = RandomReader().language_model
    biased.layers[0].self_attn.k_proj.bias = torch.nn.Parameter(torch.zeros(32))
    assert not prefill.takes(biased)
    grouped = RandomReader().language_model
    grouped.layers[1].mlp.gate.topk_method = "group_limited_greedy"
    assert not prefill.takes(grouped)


def test_tiles_fit_what_an_expert_gets_and_what_the_device_has() -> None:
    def tiles(pairs: float, shared_bytes: int) -> list[tuple[int, int]]:
        config = prefill_experts.tiles_config(pairs, torch.bfloat16, shared_bytes)
        # Rows and weights of every stage, gates and ups both.
        gate_up, down = config.gate_up, config.down
        used = [
            2 * launch.num_stages * launch.block_k * (launch.block_m + columns * launch.block_n)
            for launch, columns in ((gate_up, 2), (down, 1))
        ]
        return [(gate_up.block_m, used[0]), (down.block_m, used[1])]

    for most in (99 << 10, 163 << 10, 227 << 10):
        found = [tiles(pairs, most) for pairs in (1, 32, 85, 128, 129, 1354)]
        assert [gate_up[0] for gate_up, _ in found] == [32, 32, 64, 64, 128, 128]
        assert all(used <= most for launches in found for _, used in launches)
