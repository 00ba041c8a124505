"""The kernels through Triton's interpreter, which needs no GPU, against PyTorch's operators."""

import math
from dataclasses import replace

import pytest
import torch

pytest.importorskip("triton")
from ocr.decoding.gpu.forward import layers, steps
from ocr.decoding.gpu.forward.block_pool import BlockPool, PoolShape
from ocr.decoding.gpu.forward.choices import choose_into
from ocr.decoding.gpu.forward.paged_attention import (
    AttendConfig,
    StepCache,
    append_fused,
    append_plain,
    attend_fused,
    attend_plain,
    default_config,
)
from ocr.decoding.gpu.paged_engine import PagedEngine
from tests.interpreter import INTERPRETED, count_loops, interpreted
from tests.ocr.decoding.gpu.layer_cases import one_step
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
from tests.ocr.tiny_reader import RandomReader


@pytest.fixture(autouse=True)
def counted_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    if INTERPRETED:
        count_loops(monkeypatch)


LENGTHS = (0, 1, 15, 16, 17, 63, 40)


def filled(
    heads: int, width: int, dtype: torch.dtype = torch.float32, lengths: tuple[int, ...] = LENGTHS
) -> tuple[BlockPool, torch.Tensor]:
    """A pool with random contents, and a plan of these lengths whose blocks are in no order."""
    shape = PoolShape(layers=1, heads=heads, head_dim=width, block_tokens=16, dtype=dtype)
    most = shape.blocks(max(lengths) + 16)
    pool = BlockPool(shape, (1 + most * len(lengths)) * shape.block_bytes, torch.device("cpu"))
    generator = torch.Generator().manual_seed(0)
    for states in (pool.keys[0], pool.values[0]):
        states.copy_(torch.randn(states.shape, generator=generator))
    blocks = 1 + torch.randperm(most * len(lengths), generator=generator).view(len(lengths), most)
    plan = torch.cat((torch.tensor(lengths)[:, None], blocks), 1).int()
    plan[0] = 0  # a padded row
    return pool, plan


def states(slots: int, heads: int, width: int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """[S, H, 1, d] out of a projection of [S, 1, H, d]."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(slots, 1, heads, width, generator=generator).to(dtype).transpose(1, 2)


@interpreted
def test_new_keys_and_values_go_to_their_places() -> None:
    pool, plan = filled(3, 16)
    other, _ = filled(3, 16)
    new = [states(len(LENGTHS), 3, 16, torch.float32, seed) for seed in (1, 2)]
    append_fused(StepCache(pool, plan, fused=True), new[0], new[1].contiguous(), 0)
    append_plain(StepCache(other, plan, fused=False), *new, 0)
    for ours, theirs in ((pool.keys, other.keys), (pool.values, other.values)):
        assert torch.equal(ours[0][1:], theirs[0][1:])
    block, place = divmod(LENGTHS[3], 16)
    assert torch.equal(pool.keys[0][plan[3, 1 + block], :, place], new[0][3, :, 0])


@interpreted
@pytest.mark.parametrize(("groups", "splits"), [(1, 1), (2, 8), (1, 2), (3, 1)])
def test_attention_equals_the_definition(groups: int, splits: int) -> None:
    pool, plan = filled(2, 16)
    query = states(len(LENGTHS), 2 * groups, 16, torch.float32, 3)
    cache = StepCache(pool, plan, fused=True, config=AttendConfig(splits=splits))
    got = attend_fused(cache, query, pool.keys[0], pool.values[0], 0.3)
    expected = attend_plain(cache, query, pool.keys[0], pool.values[0], 0.3)
    assert got.shape == expected.shape == (len(LENGTHS), 1, 2 * groups, 16)
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@interpreted
def test_attention_by_hand() -> None:
    """One slot, one head: what its token sees, written out."""
    pool, plan = filled(1, 16, lengths=(5, 18))
    query = states(2, 1, 16, torch.float32, 3)
    cache = StepCache(pool, plan, fused=True, config=AttendConfig(splits=2))
    got = attend_fused(cache, query, pool.keys[0], pool.values[0], 0.25)
    table = plan[1, 1:].tolist()
    seen = [(table[n // 16], n % 16) for n in range(18 + 1)]
    keys, values = (torch.stack([pool_[0][b, 0, n] for b, n in seen]) for pool_ in (pool.keys, pool.values))
    weights = (0.25 * keys @ query[1, 0, 0]).softmax(0)
    torch.testing.assert_close(got[1, 0, 0], weights @ values, rtol=1e-5, atol=1e-5)


@interpreted
def test_attention_in_half_precision() -> None:
    pool, plan = filled(2, 32, torch.float16)
    query = states(len(LENGTHS), 2, 32, torch.float16, 3)
    cache = StepCache(pool, plan, fused=True)
    got = attend_fused(cache, query, pool.keys[0], pool.values[0], 0.2)
    expected = attend_plain(cache, query, pool.keys[0], pool.values[0], 0.2)
    assert got.dtype == torch.float16
    torch.testing.assert_close(got, expected, rtol=4e-3, atol=4e-3)


@interpreted
@pytest.mark.parametrize("vocab", [5, 2048, 8193])
def test_the_likeliest_token(vocab: int) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = (4 * torch.randn(6, vocab + 3, generator=generator))[:, :vocab]
    logits[1] = -torch.inf
    logits[1, vocab // 2] = 0.0
    logits[2] = 1.5  # all equal: the first
    logits[3, -1] = logits[3, vocab // 3] = 40.0
    logits[4, vocab // 2] = math.nan
    tokens = [torch.empty(6, dtype=torch.long) for _ in range(2)]
    results = [torch.empty(6, 2) for _ in range(2)]
    for fused in (False, True):
        choose_into(logits, tokens[fused], results[fused], fused=fused)
    good = [0, 1, 2, 3, 5]
    assert tokens[True][good].tolist() == tokens[False][good].tolist()
    assert tokens[True][2:4].tolist() == [0, vocab // 3]
    assert results[True][good, 0].tolist() == tokens[True][good].tolist()
    torch.testing.assert_close(results[True][good], results[False][good])
    assert results[True][4, 1].isnan()
    assert 0 <= tokens[True][4] < vocab


@interpreted
@pytest.mark.parametrize("lengths", [(40, 16, 3), (17,)])
def test_fused_layers_equal_transformers(lengths: tuple[int, ...]) -> None:
    reader = RandomReader()
    expected, plain = one_step(reader, fused=False, layers=False, lengths=lengths)
    got, fused = one_step(reader, fused=True, layers=True, lengths=lengths)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    for ours, theirs in zip((*fused.keys, *fused.values), (*plain.keys, *plain.values), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    again, _ = one_step(reader, fused=False, layers=False, lengths=lengths)
    assert torch.equal(again, expected), "the modules have their own forwards again"


@interpreted
def test_experts_with_many_tokens_and_with_none() -> None:
    module = RandomReader().language_model.layers[1].mlp.experts
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(70, 64, generator=generator)
    chosen = torch.stack([torch.randperm(5, generator=generator)[:2] for _ in range(70)])
    chosen[:, 1] = 0  # expert 0 has 70 pairs and more, expert 5 none
    shares = torch.rand(70, 2, generator=generator)
    with torch.inference_mode():
        expected = module(hidden, chosen, shares)
        got = layers.experts(module, hidden, chosen, shares)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


@interpreted
def test_the_router_picks_as_transformers() -> None:
    module = RandomReader().language_model.layers[1].mlp.gate
    hidden = torch.randn(9, 1, 64, generator=torch.Generator().manual_seed(0))
    _, shares, chosen = layers.router(module, hidden)
    _, expected_shares, expected = module(hidden)
    order, expected_order = chosen.argsort(1), expected.argsort(1)
    assert torch.equal(chosen.gather(1, order), expected.gather(1, expected_order))
    torch.testing.assert_close(shares.gather(1, order), expected_shares.gather(1, expected_order))


@interpreted
def test_the_engine_with_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "kernels_take", lambda *_: True)
    reader = random_reader(eos_id=-1)
    pages = [PAGES[3], PAGES[5]]  # the shortest ones: the interpreter is slow
    limits = [replace(FREE, max_tokens=count) for count in (12, 19)]
    engine = PagedEngine(reader, replace(SMALL, slots=2, lag=1, graphs=False))
    assert engine._steps.fused
    found = in_order(engine, items(reader, pages, limits))
    same(found, plain_texts(reader, pages, prompt=PROMPT, settings=limits))


def test_more_programs_than_the_device_has_processors() -> None:
    assert default_config(2560).splits == 1
    assert default_config(10).splits == 32
    for rows in range(1, 3000):
        splits = default_config(rows).splits
        assert splits == 32 or rows * splits >= 4 * 132
        assert splits & (splits - 1) == 0
