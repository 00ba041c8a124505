"""Lists the sizes of published vision encoders, for models with random weights. Torch-free.

What a size says is what its config.json says of the vision encoder and of what lies around it, in the names used there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.bench.bench_figures import RANDOM
from pipeline.errors import ConfigError

_SO400M = {
    "hidden_size": 1152, "image_size": 980, "intermediate_size": 4304, "num_attention_heads": 16,
    "num_hidden_layers": 27, "patch_size": 14,
}  # fmt: skip
_HALVES = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSize:
    """One encoder's sizes. kind: which of subjects.KINDS makes it. config: its config.json's, as far as needed.

    image, video: of its preprocessor_config.json and video_preprocessor_config.json. packed: frames of a video that
    share tokens, None as its published example has it.
    """

    kind: str
    config: Mapping[str, Any] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)
    video: Mapping[str, Any] | None = None
    packed: int | None = None


def _minicpm(version: str, width: int, queries: int = 64, packed: int | None = None) -> PublishedSize:
    config = {
        "model_type": "minicpmv", "version": version, "hidden_size": width, "query_num": queries,
        "drop_vision_last_layer": False, "slice_config": {"max_slice_nums": 9, "patch_size": 14},
        "vision_config": _SO400M,
    }  # fmt: skip
    return PublishedSize(kind="minicpmv", config=config, packed=packed)


SIZES: dict[str, PublishedSize] = {
    # deepseek-ai/DeepSeek-OCR: the defaults of ocr.model.deepseek_ocr.OcrConfig.
    "deepseek-ocr": PublishedSize(kind="deepseek_ocr"),
    # deepseek-ai/DeepSeek-OCR-2; SAM's are the defaults of transformers.
    "deepseek-ocr-2": PublishedSize(
        kind="deepseek_ocr2",
        config={
            "vision_config": {
                "encoder_config": {
                    "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
                    "num_key_value_heads": 2, "rms_norm_eps": 1e-6,
                    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
                }
            },
            "text_config": {"hidden_size": 1280},
        },
    ),
    # transformers, Qwen3VLVisionConfig; copies of Qwen/Qwen3-VL-8B-Instruct's config.json in code of others. Its
    # processors' files were not found.
    "qwen3-vl-8b": PublishedSize(
        kind="qwen3_vl",
        config={"out_hidden_size": 4096, "deepstack_visual_indexes": [8, 16, 24]},
        image={"patch_size": 16, "size": {"shortest_edge": 65536, "longest_edge": 16777216}, **_HALVES},
        video={"size": {"shortest_edge": 4096, "longest_edge": 25165824}},
    ),
    # transformers, Qwen2_5_VLVisionConfig; printed modules of Qwen/Qwen2.5-VL-7B-Instruct in code of others. Its
    # processor's file was not found.
    "qwen2.5-vl-7b": PublishedSize(
        kind="qwen2_5_vl",
        config={"hidden_size": 1280, "out_hidden_size": 3584},
        image={"patch_size": 14, "min_pixels": 3136, "max_pixels": 12845056},
    ),
    # Copies of the config.json of openbmb/MiniCPM-Llama3-V-2_5 and MiniCPM-V-4_5. Of MiniCPM-V-2_6 only the vision part
    # was found, which MiniCPM-V-4 has too: their widths, queries and drop_vision_last_layer are not verified.
    "minicpm-v-2.5": _minicpm("2.5", 4096, 96),
    "minicpm-v-2.6": _minicpm("2.6", 3584),
    "minicpm-v-4.0": _minicpm("4.0", 2560),
    "minicpm-v-4.5": _minicpm("4.5", 4096),
    "minicpm-v-4.5-packed": _minicpm("4.5", 4096, packed=3),
}  # fmt: skip


def published_size(model: str) -> PublishedSize | None:
    """Returns the sizes that a --model names with "random" (DeepSeek-OCR's) or "random:NAME"; None for other models.

    Raises: ConfigError for a name that is not listed.
    """
    prefix, separator, name = model.partition(":")
    if prefix != RANDOM:
        return None
    found = SIZES.get(name if separator else "deepseek-ocr")
    if found is None:
        raise ConfigError(
            f"--model {model}: no sizes are listed for {name!r}; choose from {', '.join(SIZES)}"
        )
    return found
