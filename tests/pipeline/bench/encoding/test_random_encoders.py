"""Encoders of published sizes with random weights: their sizes on the meta device, their results at tiny ones."""

from typing import Any

import numpy as np
import pytest
import torch

from ocr.families.unlimited_ocr.unlimited_views import UnlimitedViews
from ocr.imaging.tiling import views
from pipeline.bench.encoding.encoder_bench import BenchSettings, bench
from pipeline.bench.encoding.subjects import (
    SIZES,
    EncoderSubject,
    PublishedSize,
    load_encoder,
    published_size,
    random_subject,
)
from pipeline.errors import ConfigError
from tests.encoders.graphs.eager_capture import Winning
from tests.ocr.families.minicpm.tiny_minicpm import config_json

CPU, META = torch.device("cpu"), torch.device("meta")
VISION = {"depth": 3, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "out_hidden_size": 32}
QWEN3 = PublishedSize(
    kind="qwen3_vl",
    config={**VISION, "patch_size": 16, "num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1]},
    image={"patch_size": 16, "size": {"shortest_edge": 4096, "longest_edge": 20480}},
    video={"size": {"shortest_edge": 4096, "longest_edge": 40960}},
)
QWEN2_5 = PublishedSize(
    kind="qwen2_5_vl",
    config={**VISION, "patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1]},
    image={"min_pixels": 3136, "max_pixels": 15680},
)


# Of published vision towers and resamplers, counted from the papers' descriptions. Of the second the feed-forward, of
# 3,420 as published, is aligned.
EXPECTED = {
    "qwen3-vl-8b": 576_388_336,
    "qwen2.5-vl-7b": 677_041_920,
    "minicpm-v-2.5": 506_831_088,
    "minicpm-v-2.6": 486_411_504,
    "minicpm-v-4.0": 453_698_800,
    "minicpm-v-4.5": 506_700_016,
    "minicpm-v-4.5-packed": 506_700_016,
}


def weights(subject: EncoderSubject) -> int:
    """Its parameters' numbers, each counted once; buffers and tables are not weights."""
    watched = {id(tensor): tensor for path in subject.encoder.paths for tensor in path.watched("any")}
    return sum(t.numel() for t in watched.values() if isinstance(t, torch.nn.Parameter))


@pytest.mark.parametrize("name", SIZES)
def test_every_size_builds_without_memory(name: str) -> None:
    subject = random_subject(SIZES[name], META, torch.bfloat16)
    found = weights(subject)
    if name in EXPECTED:
        assert found == EXPECTED[name]
    else:  # DeepSeek's two, of 380 M and 430 M for SAM, CLIP or Qwen2, and a projector
        assert 395e6 < found < 460e6
    assert all(
        tensor.device.type == "meta" for path in subject.encoder.paths for tensor in path.watched("any")
    )


def run(subject: EncoderSubject, **settings: Any) -> Any:
    few = {"num_prompts": 4, "num_warmups": 1, "batch_size": 2, "budgets": "auto"}
    chosen: dict[str, Any] = {**few, **settings}
    return bench(BenchSettings(**chosen), subject, Winning())


@pytest.mark.parametrize("size", [QWEN3, QWEN2_5], ids=["qwen3", "qwen2.5"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_drawn_qwen_encoders_equal_transformers(size: PublishedSize, dtype: torch.dtype) -> None:
    subject = random_subject(size, CPU, dtype)
    limit = 1e-4 if dtype == torch.float32 else 0.05
    for settings in (
        {"buckets": {(280, 200): 1.0, (99, 70): 1.0}},
        {"buckets": {(64, 96): 1.0}, "frames": 5},
    ):
        result = run(subject, **settings)
        assert 0 < max(result["parity"][f"{arm} to reference"] for arm in ("eager", "graph")) < limit
        assert sum(its["hits"] for its in result["arms"][-1]["statistics"].values()) == 4


def test_packed_frames_share_tokens() -> None:
    """In groups of 3 the frames of 4.5's videos make a third of the tokens, in graphs with room for groups."""
    tokens, axes = [], []
    for packed in (None, 3):
        size = PublishedSize(kind="minicpmv", config=config_json("4.5"), packed=packed)
        result = run(random_subject(size, CPU, torch.float32), buckets={(60, 88): 1.0}, frames=8)
        stats = result["arms"][-1]["statistics"]["slices"]
        tokens.append(stats["replayed_tokens"])
        axes.append([axis.partition("x")[2] for axis, sizes in stats["budgets"].items() if sizes])
    assert tokens == [4 * 8 * 4, 4 * 3 * 4]
    assert axes == [[""], ["3"]]


@pytest.mark.slow
def test_deepseek_ocr_2_equals_transformers() -> None:
    vision = {
        "sam_config": {
            "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "mlp_dim": 48,
            "global_attn_indexes": [1], "output_channels": 16, "downsample_channels": [24, 32],
        },
        "encoder_config": {
            "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
            "intermediate_size": 48,
        },
    }  # fmt: skip
    config = {"vision_config": vision, "text_config": {"hidden_size": 40}}
    size = PublishedSize(kind="deepseek_ocr2", config=config)
    result = run(
        random_subject(size, CPU, torch.float32), buckets={(300, 800): 1.0}, num_prompts=1, max_items=2
    )
    assert result["grids"] == [[3, 1]]
    assert 0 < result["parity"]["eager to reference"] < 1e-4
    assert result["arms"][0]["num_encoder_calls"] == 2, (
        "one forward for the global views and one for the tiles"
    )
    assert [result["arms"][-1]["statistics"][path]["hits"] for path in ("global", "local")] == [1, 3]


@pytest.mark.parametrize("size", [(700, 500), (769, 400), (1684, 1190), (900, 3000)])
def test_larger_tiles_are_transformers(size: tuple[int, int]) -> None:
    from transformers.models.deepseek_ocr2.image_processing_pil_deepseek_ocr2 import (
        DeepseekOcr2ImageProcessorPil,
    )

    pixels = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    found = UnlimitedViews(max_tiles=6, tile_px=768)(pixels)
    expected = DeepseekOcr2ImageProcessorPil()(pixels, return_tensors="pt", do_normalize=False)
    assert found.num_tiles == expected["num_local_patches"].tolist()[0]
    assert found.global_view.shape == (3, 1024, 1024)
    if found.num_tiles:
        tiles = (expected["pixel_values_local"] * 255).round().to(torch.uint8).view(-1, 3, 768, 768)
        assert torch.equal(torch.from_numpy(found.local_views), tiles)
        assert found.grid[0] * found.grid[1] == found.num_tiles
    assert np.array_equal(found.global_view, views(pixels, "gundam", 6).global_view)


def test_names() -> None:
    assert published_size("random") is SIZES["deepseek-ocr"] is published_size("random:deepseek-ocr")
    assert published_size("small") is None
    assert published_size("random-model") is None
    with pytest.raises(
        ConfigError, match=r"random:qwen9.*'qwen9'.*deepseek-ocr-2.*qwen3-vl-8b.*minicpm-v-4.5"
    ):
        load_encoder("random:qwen9", CPU, "float32")
    with pytest.raises(ConfigError, match="choose from"):
        published_size("random:")
