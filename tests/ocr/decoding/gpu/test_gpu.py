"""Kernels, graphs and the whole engine on a CUDA device."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers.models.unlimited_ocr.modeling_unlimited_ocr import UnlimitedOcrTextMoe

from encoders.types import VisionTokens
from ocr.decoding.gpu.forward import layers, text_forward
from ocr.decoding.gpu.forward.block_pool import BlockPool, PoolShape
from ocr.decoding.gpu.forward.choices import choose_into
from ocr.decoding.gpu.forward.paged_attention import (
    AttendConfig,
    StepCache,
    append_fused,
    attend_fused,
    attend_plain,
    default_config,
)
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.gpu.schedule.in_flight import InFlight
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.model.deepseek_ocr import LanguageConfig
from ocr.model.random_weights import redraw
from ocr.types import Transcript
from tests.ocr.decoding.gpu.layer_cases import one_step
from tests.ocr.decoding.gpu.test_paged_engine import (
    FREE,
    PAGES,
    PROMPT,
    SMALL,
    in_order,
    items,
    noted,
    random_reader,
    same,
)
from tests.ocr.decoding.plain import plain_texts
from tests.ocr.tiny_reader import Reader

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
CUDA = torch.device("cuda", 0)


@pytest.fixture(autouse=True)
def exact_products() -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


def reader_on(dtype: torch.dtype, eos_id: int = -1) -> Reader:
    reader = random_reader(eos_id)
    reader.model.to(device=CUDA, dtype=dtype)
    return reader


def pages_on(dtype: torch.dtype) -> list[VisionTokens]:
    return [replace(page, tokens_TD=page.tokens_TD.to(CUDA, dtype)) for page in PAGES]


@pytest.mark.parametrize("splits", [None, 1, 2, 32])
@pytest.mark.parametrize(("heads", "groups", "width"), [(10, 1, 128), (2, 2, 64), (4, 3, 16)])
def test_attention_in_bf16(heads: int, groups: int, width: int, splits: int | None) -> None:
    shape = PoolShape(layers=1, heads=heads, head_dim=width, block_tokens=64, dtype=torch.bfloat16)
    lengths = [0, 1, 63, 64, 65, 903, 1402, 1903]
    most = shape.blocks(2000)
    pool = BlockPool(shape, (1 + most * len(lengths)) * shape.block_bytes, CUDA)
    pool.keys[0].normal_()
    pool.values[0].normal_()
    blocks = 1 + torch.randperm(most * len(lengths)).view(len(lengths), most)
    plan = torch.cat((torch.tensor(lengths)[:, None], blocks), 1).int().to(CUDA)
    query, keys, values = (
        torch.randn(len(lengths), 1, count, width, device=CUDA).bfloat16().transpose(1, 2)
        for count in (heads * groups, heads, heads)
    )
    config = AttendConfig(splits=splits) if splits else default_config(len(lengths) * heads)
    cache = StepCache(pool, plan, fused=True, config=config)
    append_fused(cache, keys, values, 0)
    got = attend_fused(cache, query, pool.keys[0], pool.values[0], width**-0.5)
    exact = attend_plain(cache, query.float(), pool.keys[0].float(), pool.values[0].float(), width**-0.5)
    error = (got.float() - exact).norm() / exact.norm()
    assert error < 5e-3
    table = plan[6, 1:].long()
    assert torch.equal(pool.keys[0][table[1402 // 64], :, 1402 % 64], keys[6, :, 0])


def test_the_likeliest_of_a_large_vocabulary() -> None:
    logits = (3 * torch.randn(33, 129280, device=CUDA)).bfloat16()
    tokens = [torch.empty(33, dtype=torch.long, device=CUDA) for _ in range(2)]
    results = [torch.empty(33, 2, device=CUDA) for _ in range(2)]
    for fused in (False, True):
        choose_into(logits, tokens[fused], results[fused], fused=fused)
    best = logits.float().max(-1).values
    assert torch.equal(logits.float().gather(1, tokens[True][:, None])[:, 0], best)
    first = (logits.float() == best[:, None]).float().argmax(-1)
    assert torch.equal(tokens[True], first)
    torch.testing.assert_close(results[True][:, 1], results[False][:, 1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tokens", [1, 8, 64, 256, 512])
def test_experts_of_the_published_size(tokens: int) -> None:
    config = LanguageConfig(num_hidden_layers=2).to_transformers()
    with CUDA:
        module = UnlimitedOcrTextMoe(config).bfloat16().requires_grad_(False)
    redraw(module)
    hidden = torch.randn(tokens, 1, 1280, device=CUDA).bfloat16()
    _, shares, chosen = layers.router(module.gate, hidden)
    _, expected_shares, expected = module.gate(hidden)
    torch.testing.assert_close(shares.sort(1).values, expected_shares.sort(1).values, rtol=1e-3, atol=1e-5)
    assert (chosen.sort(1).values == expected.sort(1).values).float().mean() > 0.99
    exact = module.experts.float()(hidden[:, 0].float(), chosen, shares)
    got = layers.experts(module.experts.bfloat16(), hidden[:, 0], chosen, shares)
    assert (got.float() - exact).norm() / exact.norm() < 1e-2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("lengths", [(7,), (0, 40, 16, 3), (9, 17)])
def test_fused_layers_equal_transformers(lengths: tuple[int, ...], dtype: torch.dtype) -> None:
    model = reader_on(dtype).model
    got, fused = one_step(model, fused=True, layers=True, lengths=lengths)
    expected, plain = one_step(model, fused=False, layers=False, lengths=lengths)
    if dtype == torch.float32:
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    else:  # where rounding may change an expert only what comes before them is alike
        torch.testing.assert_close(fused.keys[0], plain.keys[0], rtol=2e-2, atol=2e-2)
        torch.testing.assert_close(fused.values[0], plain.values[0], rtol=2e-2, atol=2e-2)
        assert got.isfinite().all()


@pytest.mark.parametrize("most_pairs", [0, layers.MAX_PAIRS], ids=["many rows", "few rows"])
@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize(("slots", "lag"), [(1, 1), (3, 0), (3, 1), (8, 1)])
def test_equals_plain_decoding_in_fp32(
    slots: int, lag: int, graphs: bool, most_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_forward, "MAX_PAIRS", most_pairs)
    reader, pages = reader_on(torch.float32), pages_on(torch.float32)
    rewinds = noted(monkeypatch, InFlight, "_choose_again")
    limits = [replace(FREE, max_tokens=count) for count in (120, 60, 90, 33, 120, 70, 50, 100)]
    expected = plain_texts(reader, pages, prompt=PROMPT, settings=limits)
    paged = PagedEngine(reader, replace(SMALL, slots=slots, lag=lag, graphs=graphs))
    same(in_order(paged, items(reader, pages, limits)), expected)
    assert rewinds


@pytest.mark.parametrize("graphs", [False, True])
def test_sampled_pages_are_drawn_as_plain_decoding_draws_them(graphs: bool) -> None:
    reader, pages = reader_on(torch.float32), pages_on(torch.float32)
    limits = [replace(FREE, temperature=(number % 3) / 2, seed=number) for number in range(len(pages))]
    expected = plain_texts(reader, pages, prompt=PROMPT, settings=limits)
    paged = PagedEngine(reader, replace(SMALL, graphs=graphs))
    same(in_order(paged, items(reader, pages, limits)), expected)


@pytest.fixture(scope="module")
def in_fp32() -> tuple[Reader, list[VisionTokens], list[DecodeSettings], list[Transcript]]:
    """A reader, pages, their limits and what they hold."""
    torch.backends.cuda.matmul.allow_tf32 = False
    reader, pages = reader_on(torch.float32), pages_on(torch.float32)
    limits = [replace(FREE, max_tokens=count) for count in (80, 60, 70, 33, 80, 50, 40, 60)]
    return reader, pages, limits, plain_texts(reader, pages, prompt=PROMPT, settings=limits)


def test_without_kernels(in_fp32: Any) -> None:
    """The engine of a GPU whose kernels do not run, or whose engine with kernels has failed."""
    reader, pages, limits, expected = in_fp32
    engine = PagedReader.plain(reader, prompt=PROMPT, num_slots=3)
    requests = [PageRequest(vision=page, settings=limit) for page, limit in zip(pages, limits, strict=True)]
    found = sorted(engine.read(requests), key=lambda page: page.index)
    same([page.transcript for page in found], expected)


def test_pages_made_on_another_stream(in_fp32: Any) -> None:
    """And given up at once, so that their memory would be used for others."""
    reader, pages, limits, expected = in_fp32
    encoder, decoder = torch.cuda.Stream(CUDA), torch.cuda.Stream(CUDA)
    torch.cuda.synchronize()

    def asked() -> Iterator[PageRequest]:
        for page, limit in zip(pages, limits, strict=True):
            with torch.cuda.stream(encoder):
                tokens_TD = page.tokens_TD + 0.0
            encoder.synchronize()
            yield PageRequest(vision=replace(page, tokens_TD=tokens_TD), settings=limit)
            del tokens_TD
            with torch.cuda.stream(encoder):
                torch.full((4096, 64), torch.nan, device=CUDA)

    with torch.cuda.stream(decoder):
        paged = PagedReader(reader, replace(SMALL, slots=3), PROMPT)
        found = sorted(paged.read(asked()), key=lambda page: page.index)
    same([page.transcript for page in found], expected)


def test_graphs_equal_eager_steps_in_bf16() -> None:
    reader, pages = reader_on(torch.bfloat16), pages_on(torch.bfloat16)
    limits = [FREE] * len(pages)
    eager, captured = (
        in_order(PagedEngine(reader, replace(SMALL, slots=1, graphs=graphs)), items(reader, pages, limits))
        for graphs in (False, True)
    )
    assert [page.token_ids for page in captured] == [page.token_ids for page in eager]
    assert [page.logprobs for page in captured] == [page.logprobs for page in eager]


def test_nothing_waits_for_the_device() -> None:
    reader = reader_on(torch.bfloat16)
    shape = PoolShape.of(reader.model.language_model, torch.bfloat16, 16)
    with torch.inference_mode():
        steps = DeviceSteps(
            reader.model, BlockPool(shape, 64 * shape.block_bytes, CUDA), slots=4, max_tokens=64
        )
        prompts = torch.randn(2, 20, 64, device=CUDA, dtype=torch.bfloat16)

        def everything() -> torch.Tensor:
            steps.prefill(prompts, [[1, 2], [3, 4]], [0, 1])
            steps.plan[:2, :3] = [[20, 1, 2], [20, 3, 4]]
            steps.step(2)
            steps.plan[:2, 0] = 21
            steps.step(2)
            pending = steps.choose_again(steps.previous, [1], [{3, 4}], [1])
            steps.move([1], [3])
            return pending.host

        everything()
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            host = everything()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()
        assert host.isfinite().all()


def test_memory_that_runs_out_halves_the_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, pages = reader_on(torch.float32), pages_on(torch.float32)
    limits = [FREE] * len(pages)
    expected = plain_texts(reader, pages, prompt=PROMPT, settings=limits)
    capture, calls = DeviceSteps.capture, iter(range(100))

    def failing(self: DeviceSteps, rows: int) -> int:
        if next(calls) == 0:
            torch.empty(1 << 50, dtype=torch.uint8, device=CUDA)
        return capture(self, rows)

    monkeypatch.setattr(DeviceSteps, "capture", failing)
    paged = PagedEngine(reader, replace(SMALL, slots=8, graphs=True))
    same(in_order(paged, items(reader, pages, limits)), expected)
    assert paged.slots == 4
