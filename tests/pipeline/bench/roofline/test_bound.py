"""The bound of a page, against figures worked out by hand and against a model's own weights."""

import math
from dataclasses import replace

import pytest
import torch

from encoders.deepseek.deep_encoder import EncoderConfig
from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig, OcrModel
from pipeline.bench.roofline.bound import (
    AveragePage,
    clip_flops,
    page_bound,
    prefill_flops,
    sam_flops,
    step_weights,
    token_cache_numbers,
    view_flops,
)
from pipeline.bench.roofline.rates import Rates, measure_rates
from tests.ocr.tiny import TINY

RATES = Rates(matrix_flops_s=790e12, copy_bytes_s=4.3e12)
A4 = AveragePage(readings=1, tiles=6, view_px=1024, words=4, output_tokens=1000, rows=256)


def test_an_a4_page_of_the_published_model() -> None:
    bound = page_bound(OcrConfig(), A4, RATES, 2)
    assert A4.prompt_tokens == 907
    assert bound["encoder_s"] * 1e3 == pytest.approx(4.4, abs=0.05)
    assert bound["kv_s"] * 1e3 == pytest.approx(1000 * 1407 * 61440 / 4.3e12 * 1e3)
    assert bound["page_s"] * 1e3 == pytest.approx(30.5, abs=0.1)
    assert bound["pages_s"] == pytest.approx(1 / bound["page_s"])


def test_views_become_the_tokens_that_the_model_gets() -> None:
    alone = replace(A4, view_px=640, tiles=0, words=0)
    assert (replace(A4, words=0).prompt_tokens, alone.prompt_tokens) == (903, 111)


def test_a_step_of_many_rows_reads_all_weights_but_the_embedding() -> None:
    language = LanguageConfig()
    with torch.device("meta"):
        model = OcrModel(OcrConfig())
    held = sum(weight.numel() for weight in model.language_model.layers.parameters() if weight.ndim > 1)
    held += model.lm_head.weight.numel()
    assert step_weights(language, 10_000) == pytest.approx(held)
    routed = (language.num_hidden_layers - 1) * 58 * 3 * language.hidden_size * language.moe_intermediate_size
    assert step_weights(language, 1) == pytest.approx(held - routed), "one row takes 6 of 64 experts"


def test_a_prefill_is_two_operations_a_weight_and_its_attention() -> None:
    language = replace(TINY.language, n_routed_experts=2, num_experts_per_tok=2)  # every token takes all
    weights = step_weights(language, 1)
    head = language.vocab_size * language.hidden_size
    attended = 2 * 10**2 * language.hidden_size * language.num_hidden_layers
    assert prefill_flops(language, 10) == pytest.approx(20 * (weights - head) + attended + 2 * head)
    assert token_cache_numbers(language) == 2 * 3 * 2 * 16


def test_pages_in_parts_count_each_part() -> None:
    whole = AveragePage(readings=1, tiles=2, view_px=1024, words=4, output_tokens=300, rows=8)
    parts = replace(whole, readings=3, tiles=6, output_tokens=900)
    one, three = (page_bound(TINY, work, RATES, 4) for work in (whole, parts))
    assert three["page_s"] == pytest.approx(3 * one["page_s"])
    assert (parts.prompt_tokens, parts.context) == (whole.prompt_tokens, whole.context)


def test_the_encoder_is_counted_by_its_views() -> None:
    config = EncoderConfig()
    work = replace(A4, tiles=0, output_tokens=0)
    bound = page_bound(OcrConfig(encoder=config), work, RATES, 2)
    assert bound["encoder_s"] * RATES.matrix_flops_s == pytest.approx(view_flops(config, 1024))
    assert bound["weights_s"] == bound["kv_s"] == 0


@pytest.mark.parametrize(("view_px", "sam", "clip"), [(1024, 977, 162), (640, 326, 62)])
def test_operations_of_the_published_model(view_px: int, sam: int, clip: int) -> None:
    config = EncoderConfig()
    assert sam_flops(config.sam, view_px) / 1e9 == pytest.approx(sam, rel=0.005)
    assert clip_flops(config.clip, view_px) / 1e9 == pytest.approx(clip, rel=0.005)
    assert view_flops(config, view_px) / 1e9 == pytest.approx(sam + clip, rel=0.005)


def test_a_cpu_has_no_rates() -> None:
    assert measure_rates(torch.device("cpu"), torch.float32) is None


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_has_rates() -> None:
    rates = measure_rates(torch.device("cuda"), torch.bfloat16)
    assert rates is not None
    assert math.isfinite(rates.matrix_flops_s)
    assert rates.matrix_flops_s > 1e13
    assert rates.copy_bytes_s > 1e11
