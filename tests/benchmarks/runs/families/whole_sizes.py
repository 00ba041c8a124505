"""Lists the sizes of whole published models, language model included, for checkpoints of random weights. Torch-free.

Vision encoders are those of pipeline.bench.encoding.published_sizes where that lists them. What a size says is what
config.json says, in the names used there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.bench.encoding.published_sizes import SIZES


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSize:
    """One model's sizes. kind: its entry in tests.ocr.families.published.tiny_published, or "minicpmv" or "deepseek".

    billions: of parameters, as published. source: where text was read. text, vision, top: of the config.json; top is
    beside the others. image: settings of the image processor. version: MiniCPM-V's. unverified: what was found neither
    where the model is published nor in a copy of it, beside what published_sizes says of encoders.
    """

    kind: str
    billions: float
    source: str
    text: Mapping[str, Any] = field(default_factory=dict)
    vision: Mapping[str, Any] = field(default_factory=dict)
    top: Mapping[str, Any] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""
    unverified: tuple[str, ...] = ()


def _text(
    layers: int, width: int, mlp: int, heads: int, key_heads: int, vocab: int, **more: Any
) -> dict[str, Any]:
    return {
        "num_hidden_layers": layers, "hidden_size": width, "intermediate_size": mlp, "num_attention_heads": heads,
        "num_key_value_heads": key_heads, "vocab_size": vocab, **more,
    }  # fmt: skip


def _rope(theta: float, *mrope: int, **more: Any) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": theta, "mrope_section": list(mrope), **more}


def _minicpm(version: str, billions: float, source: str, text: Mapping[str, Any], **more: Any) -> WholeSize:
    size = SIZES[f"minicpm-v-{version}"]
    top = {key: value for key, value in size.config.items() if key not in ("model_type", "version")}
    text = {"tie_word_embeddings": False, **text}
    assert text["hidden_size"] == top["hidden_size"]
    return WholeSize(
        kind="minicpmv", billions=billions, source=source, text=text, top=top, version=version, **more
    )


_GLM_MROPE = (16, 24, 24)
_QWEN3_8B = _text(36, 4096, 12288, 32, 8, 151936, head_dim=128)
_QWEN2_7B = _text(28, 3584, 18944, 28, 4, 152064)

WHOLE_SIZES: dict[str, WholeSize] = {
    "deepseek-ocr": WholeSize(
        kind="deepseek", billions=3.3, source="the defaults of ocr.model.deepseek_ocr.OcrConfig"
    ),
    "deepseek-ocr-2": WholeSize(
        kind="deepseek_ocr2",
        billions=3.4,
        source="encoders.deepseek2's defaults; the language model is DeepSeek-OCR's",
        text=_text(
            12, 1280, 6848, 10, 10, 129280, head_dim=128, max_position_embeddings=8192, n_routed_experts=64,
            n_shared_experts=2, num_experts_per_tok=6, moe_intermediate_size=896,
            mlp_layer_types=["dense", *["sparse"] * 11],
        ),
        vision={
            "sam_config": {},
            "encoder_config": {
                "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
                "num_key_value_heads": 2, "vocab_size": 8,
                "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
            },
        },
        unverified=("text",),
    ),
    "qwen3-vl-8b": WholeSize(
        kind="qwen3_vl",
        billions=8.8,
        source="Qwen/Qwen3-VL-8B-Instruct as known to its users",
        text={
            **_QWEN3_8B, "max_position_embeddings": 262144, "rope_parameters": _rope(5e6, 24, 20, 20),
        },
        vision=SIZES["qwen3-vl-8b"].config,
        image={key: SIZES["qwen3-vl-8b"].image[key] for key in ("patch_size", "size")},
        unverified=("text", "image"),
    ),
    "qwen2.5-vl-7b": WholeSize(
        kind="qwen2_5_vl",
        billions=8.3,
        source="Qwen/Qwen2.5-VL-7B-Instruct as known to its users",
        text={**_QWEN2_7B, "max_position_embeddings": 128000, "rope_parameters": _rope(1e6, 16, 24, 24)},
        vision=SIZES["qwen2.5-vl-7b"].config,
        image={"size": {"shortest_edge": 3136, "longest_edge": 12845056}},
        unverified=("text", "image"),
    ),
    "minicpm-v-2.5": _minicpm(
        "2.5", 8.5, "Llama 3 8B as known to its users",
        _text(32, 4096, 14336, 32, 8, 128256, max_position_embeddings=8192, rope_theta=5e5, rms_norm_eps=1e-5),
        unverified=("text",),
    ),
    "minicpm-v-2.6": _minicpm(
        "2.6", 8.1, "Qwen2 7B as known to its users; vocab_size of MiniCPM-o 2.6's copies",
        {**_QWEN2_7B, "vocab_size": 151666, "max_position_embeddings": 32768, "rope_theta": 1e6},
        unverified=("text",),
    ),
    "minicpm-v-4.0": _minicpm(
        "4.0", 4.1, "MiniCPM4 3B as known to its users; factors of its longrope are 1",
        _text(
            32, 2560, 10240, 32, 2, 73448, head_dim=128, max_position_embeddings=32768, rope_theta=1e4,
            rms_norm_eps=1e-5,
            rope_scaling={
                "rope_type": "longrope", "original_max_position_embeddings": 32768, "long_factor": [1.0] * 64,
                "short_factor": [1.0] * 64,
            },
        ),
        unverified=("text",),
    ),
    "minicpm-v-4.5": _minicpm(
        "4.5", 8.7, "Qwen3 8B as known to its users",
        {**_QWEN3_8B, "vocab_size": 151748, "max_position_embeddings": 40960, "rope_theta": 1e6},
        unverified=("text",),
    ),
    "paddleocr-vl": WholeSize(
        kind="paddleocr_vl",
        billions=0.9,
        source="transformers, PaddleOCRVLConfig; sizes of images in copies of preprocessor_config.json",
        text={"tie_word_embeddings": False, "rope_parameters": _rope(5e5, 16, 24, 24)},
        vision={"spatial_merge_size": 2},
        top={"tie_word_embeddings": False},
        image={"size": {"shortest_edge": 147384, "longest_edge": 2822400}},
        unverified=("tie_word_embeddings",),
    ),
    "glm-ocr": WholeSize(
        kind="glm_ocr",
        billions=1.1,
        source="zai-org/GLM-OCR (called 0.9B), copies of its configurations; without its MTP layer",
        text=_text(
            16, 1536, 4608, 16, 8, 59392, head_dim=128, max_position_embeddings=131072, tie_word_embeddings=False,
            rope_parameters=_rope(1e4, *_GLM_MROPE, partial_rotary_factor=1.0),
        ),
        vision={"out_hidden_size": 1536},
        image={"size": {"shortest_edge": 12544, "longest_edge": 9633792}},
    ),
    "lighton-ocr": WholeSize(
        kind="lighton_ocr",
        billions=1.0,
        source="transformers, LightOnOcrConfig; 1540 px in docling",
        text=_text(
            28, 1024, 3072, 16, 8, 151936, head_dim=128, max_position_embeddings=40960,
            rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        ),
        vision={
            "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
            "head_dim": 64, "image_size": 1540, "patch_size": 14,
        },
        image={"size": {"longest_edge": 1540}, "patch_size": {"height": 28, "width": 28}},
        unverified=("image.patch_size",),
    ),
    "hunyuan-ocr": WholeSize(
        kind="hunyuan_vl",
        billions=1.0,
        source="tencent/HunyuanOCR, copies of config.json; sizes of images are transformers' defaults",
        text=_text(
            24, 1024, 3584, 16, 8, 120818, head_dim=128, max_position_embeddings=131072, tie_word_embeddings=True,
            rope_parameters=_rope(1e4, 16, 16, 16, 16),
        ),
        vision={"out_hidden_size": 1024, "text_hidden_size": 1024},
        image={"size": {"shortest_edge": 262144, "longest_edge": 4194304}},
        unverified=("image",),
    ),
    "got-ocr2": WholeSize(
        kind="got_ocr2",
        billions=0.6,
        source="transformers, GotOcr2Config",
        text=_text(
            24, 1024, 2816, 16, 16, 151860, max_position_embeddings=32768, tie_word_embeddings=True,
            rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        ),
        image={"size": {"height": 1024, "width": 1024}},
    ),
    "granite-docling": WholeSize(
        kind="granite_docling",
        billions=0.5,
        source="transformers, GraniteDoclingConfig: not that of granite-docling-258M, which is an Idefics3",
        unverified=("billions",),
    ),
}  # fmt: skip
