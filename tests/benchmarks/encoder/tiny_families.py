"""Sizes and requests small enough to try the comparison of families on a CPU."""

from typing import Any

from pipeline.bench.encoding.published_sizes import PublishedSize
from tests.ocr.families.minicpm.tiny_minicpm import config_json

_VISION: dict[str, Any] = {
    "depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "out_hidden_size": 32
}  # fmt: skip
TINY: dict[str, PublishedSize] = {
    "qwen3-vl-8b": PublishedSize(
        kind="qwen3_vl",
        source="",
        config={
            **_VISION, "patch_size": 16, "num_position_embeddings": 64, "deepstack_visual_indexes": [0],
        },
        image={"patch_size": 16, "size": {"shortest_edge": 4096, "longest_edge": 20480}},
    ),
    "minicpm-v-2.5": PublishedSize(kind="minicpmv", source="", config=config_json("2.5")),
    "minicpm-v-4.5-packed": PublishedSize(kind="minicpmv", source="", config=config_json("4.5"), packed=3),
}  # fmt: skip
TINY_CASES: tuple[dict[str, Any], ...] = (
    {
        "name": "mixed, 2",
        "buckets": {(64, 96): 1.0, (120, 40): 1.0},
        "num_prompts": 4,
        "batch_size": 2,
        "mixed": True,
    },
    {"name": "image, 1", "buckets": {(64, 96): 1.0}, "num_prompts": 2},
    {"name": "video 4", "buckets": {(64, 96): 1.0}, "num_prompts": 2, "frames": 4},
)
