"""Every family's tiny checkpoint through `bench`: images and videos, graphs that are really replayed, and parity."""

from pathlib import Path
from typing import Any

import pytest
import torch

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from pipeline.bench.encoding.encoder_arms import build
from pipeline.bench.encoding.encoder_bench import BenchSettings, bench
from pipeline.bench.encoding.requests import random_requests
from pipeline.bench.encoding.subjects import load_encoder
from pipeline.errors import ConfigError
from tests.encoders.graphs.eager_capture import EagerCapture, Winning
from tests.ocr.families.minicpm import tiny_minicpm
from tests.ocr.families.published import tiny_published

CPU = torch.device("cpu")
MIXED = {(60, 44): 0.4, (90, 130): 0.4, (40, 40): 0.2}
FRAMES = {(60, 88): 1.0}


def minicpm(version: str, folder: Path) -> str:
    config = tiny_minicpm.config_json(version)
    tiny_minicpm.save(tiny_minicpm.plain_model(version, config), config, folder)
    tiny_minicpm.tokenizer().save(str(folder / "tokenizer.json"))
    return str(folder)


def measured(model: str, capture: EagerCapture | None = None, **settings: Any) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "num_prompts": 5,
        "num_warmups": 1,
        "batch_size": 3,
        "buckets": MIXED,
        "budgets": "auto",
    }
    return bench(BenchSettings(model=model, **chosen | settings), capture=capture or Winning())


def check(result: dict[str, Any], path: str, units: int, *, with_reference: bool) -> None:
    names = ["reference", "eager", "graph"] if with_reference else ["eager", "graph"]
    assert [arm["arm"] for arm in result["arms"]] == names
    stats = result["arms"][-1]["statistics"][path]
    assert stats["hits"] == units, "every unit of the measured requests was replayed"
    assert stats["graph_bytes"] > 0
    padded, real = stats["padding_tokens"], stats["replayed_tokens"]
    assert stats["padding_share"] == padded / (padded + real)
    assert result["arms"][-1]["num_encoder_calls"] == stats["replays"]
    assert result["parity"]["graph to eager"] < 1e-4
    if with_reference:
        assert 0 < result["parity"]["eager to reference"] < 1e-4


def test_minicpm_images_have_no_reference(tmp_path: Path) -> None:
    result = measured(minicpm("2.5", tmp_path))
    slices = sum(1 + (grid[0] * grid[1] if grid != (1, 1) else 0) for grid in result["grids"])
    check(result, "slices", slices, with_reference=False)
    assert list(result["missing_arms"]) == ["reference"]
    assert "transformers has no class" in result["missing_arms"]["reference"]


def test_minicpm_videos(tmp_path: Path) -> None:
    check(measured(minicpm("4.5", tmp_path), frames=4, buckets=FRAMES), "slices", 20, with_reference=False)


@pytest.mark.parametrize("model_type", ["qwen3_vl", "qwen2_5_vl"])
def test_qwen_images_and_videos_against_transformers(model_type: str, tmp_path: Path) -> None:
    model = str(tiny_published.save(model_type, tmp_path))
    buckets = {(280, 200): 0.5, (150, 260): 0.3, (99, 70): 0.2}
    check(measured(model, buckets=buckets, num_prompts=6), "image", 6, with_reference=True)
    result = measured(model, frames=3, buckets={(64, 96): 1.0})
    check(result, "video", 5, with_reference=True)
    assert result["arms"][-1]["statistics"]["image"]["hits"] == 0


def test_an_encoder_without_paths_is_timed_as_it_is(tmp_path: Path) -> None:
    model = str(tiny_published.save("got_ocr2", tmp_path))
    result = measured(model, buckets={(140, 112): 1.0}, num_prompts=2)
    assert [arm["arm"] for arm in result["arms"]] == ["eager"]
    assert (result["arms"][0]["num_requests"], result["arms"][0]["num_encoder_calls"]) == (2, 2)
    assert sorted(result["missing_arms"]) == ["graph", "reference"]
    with pytest.raises(ConfigError, match="add eager"):
        measured(model, arms=("graph",))


@pytest.mark.parametrize(
    "model_type", ["paddleocr_vl", pytest.param("deepseek_ocr2", marks=pytest.mark.slow)]
)
def test_a_models_own_processor_is_a_stage_before_our_encoder(model_type: str, tmp_path: Path) -> None:
    """Its class does all of it in one, and its tokens are the same."""
    model = str(tiny_published.save(model_type, tmp_path))
    result = measured(model, buckets={(280, 200): 0.5, (150, 260): 0.5}, num_prompts=2, budgets="fitted")
    path = "image" if model_type == "paddleocr_vl" else "global"
    check(result, path, 2, with_reference=True)
    reference, eager, graph = result["arms"]
    assert "prepare_ms" not in reference
    assert eager["prepare_ms"] == graph["prepare_ms"]
    assert eager["preprocessor_total_ms"]["mean"] > eager["prepare_ms"]["mean"] > 0


def test_the_eager_arm_gives_what_a_run_gives(tmp_path: Path) -> None:
    subject = load_encoder(minicpm("4.5", tmp_path), CPU, "float32")
    pages = [request.items[0] for request in random_requests(MIXED, 4, 1, 6, subject.view_maker)]
    found = build("eager", subject, GraphSettings(max_items=2)).encode(pages)
    encoder = subject.encoder
    for page, tokens in zip(pages, found, strict=True):
        manager = EncoderGraphManager(encoder.paths, GraphSettings(), CPU)
        alone = {path: encoder.encode(manager, path, [page])[0] for path in encoder.path_names}
        (expected,) = encoder.assemble([page], alone)
        torch.testing.assert_close(tokens, expected.tokens_TD, atol=1e-5, rtol=1e-5)


def test_fitted_budgets_pad_little_on_mixed_shapes(tmp_path: Path) -> None:
    model = minicpm("2.6", tmp_path)
    buckets = {(280, 200): 0.5, (150, 260): 0.3, (99, 70): 0.2, (60, 44): 0.2}
    shares = {}
    for budgets in ("default", "fitted"):
        result = measured(model, buckets=buckets, num_prompts=12, batch_size=12, budgets=budgets)
        stats = result["arms"][-1]["statistics"]["slices"]
        assert stats["hits"] > 0
        shares[budgets] = stats["padding_share"]
    assert shares["fitted"] <= shares["default"]
    assert shares["fitted"] < 0.05


def test_a_memory_limit_bounds_the_graphs(tmp_path: Path) -> None:
    model = minicpm("2.6", tmp_path)
    free = measured(model)["arms"][-1]["statistics"]["slices"]
    limit = free["graph_bytes"] // 2
    bounded = measured(model, memory_limit=limit)["arms"][-1]["statistics"]["slices"]
    assert 0 < bounded["graph_bytes"] <= limit < free["graph_bytes"]
    with pytest.raises(ConfigError, match="--memory-limit"):
        measured(model, memory_limit=100, budgets="fitted")


def test_a_size_that_a_model_cannot_take_names_the_option(tmp_path: Path) -> None:
    model = str(tiny_published.save("qwen3_vl", tmp_path))
    with pytest.raises(ConfigError, match=r"--buckets \(4000, 10\).*200 times"):
        measured(model, buckets={(4000, 10): 1.0})


def test_encoders_that_form_units_as_they_encode(tmp_path: Path) -> None:
    model = str(tiny_published.save("lighton_ocr", tmp_path))
    result = measured(model, buckets={(140, 112): 1.0, (56, 84): 1.0})
    check(result, "image", 5, with_reference=True)
