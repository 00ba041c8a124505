"""Document models' vision encoders with every structural feature of the published ones, and transformers' results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor

from encoders.native.patch_vision import PatchVision
from encoders.native.towers import GlmVision, HunyuanVision, LightOnVision, PaddleVision
from encoders.views import UInt8Array
from ocr.model.random_weights import redraw

# Unequal channels, so that none can take another's place.
MEAN, STD = (0.48, 0.4, 0.55), (0.27, 0.3, 0.25)
PATCH_PX = 4
VISION = {"hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 2, "patch_size": PATCH_PX}
TEXT = {
    "hidden_size": 24, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 16, "pad_token_id": 0,
}  # fmt: skip
# No image is resized: all sides are multiples of a token's, and none is too small or too large.
ANY_SIZE = {"shortest_edge": 1, "longest_edge": 1 << 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """model: of the library's random weights. processor: without torchvision. extra: tokens of h x w merged ones."""

    vision: type[Any]
    model: Callable[[], Any]
    processor: Callable[[], Any]
    extra: Callable[[int, int], int] = lambda high, wide: 0


def _paddle() -> Any:
    config = transformers.PaddleOCRVLConfig(
        vision_config={**VISION, "num_hidden_layers": 3, "image_size": 5 * PATCH_PX},
        text_config={**TEXT, "head_dim": 8},
    )
    return transformers.PaddleOCRVLModel(config)


def _glm() -> Any:
    vision = {
        "depth": 3, "hidden_size": 32, "num_heads": 2, "patch_size": PATCH_PX, "out_hidden_size": 24,
        "intermediate_size": 48,
    }  # fmt: skip
    return transformers.GlmOcrModel(transformers.GlmOcrConfig(vision_config=vision, text_config=TEXT))


def _hunyuan() -> Any:
    config = transformers.HunYuanVLConfig(
        vision_config={**VISION, "num_hidden_layers": 3, "max_image_size": 5 * PATCH_PX},
        text_config={**TEXT, "head_dim": 12},
    )
    return transformers.HunYuanVLModel(config)


def _lighton() -> Any:
    config = transformers.LightOnOcrConfig(
        vision_config={"model_type": "pixtral", **VISION, "num_hidden_layers": 3, "hidden_act": "silu"},
        text_config={"model_type": "qwen3", **TEXT, "head_dim": 8},
    )
    return transformers.LightOnOcrModel(config)


_COMMON = {"image_mean": list(MEAN), "image_std": list(STD)}
FAMILIES = {
    "paddleocr_vl": Family(
        vision=PaddleVision,
        model=_paddle,
        processor=lambda: transformers.PaddleOCRVLImageProcessorPil(
            patch_size=PATCH_PX, size=ANY_SIZE, **_COMMON
        ),
    ),
    "glm_ocr": Family(
        vision=GlmVision,
        model=_glm,
        processor=lambda: transformers.Glm46VImageProcessorPil(patch_size=PATCH_PX, size=ANY_SIZE, **_COMMON),
    ),
    "hunyuan_vl": Family(
        vision=HunyuanVision,
        model=_hunyuan,
        processor=lambda: transformers.HunYuanVLImageProcessorPil(
            patch_size=PATCH_PX, size=ANY_SIZE, **_COMMON
        ),
        extra=lambda high, wide: high + 2,
    ),
    "lighton_ocr": Family(
        vision=LightOnVision,
        model=_lighton,
        processor=lambda: transformers.PixtralImageProcessorPil(
            patch_size={"height": 2 * PATCH_PX, "width": 2 * PATCH_PX}, size={"longest_edge": 1024}, **_COMMON
        ),
    ),
}


def tiny_model(family: str, seed: int = 0) -> Any:
    model = FAMILIES[family].model().eval()
    sharpen(model, seed)
    return model.requires_grad_(False)


def sharpen(model: Any, seed: int) -> None:
    """Redraws the weights so that all of them matter: fresh ones leave attention even and positions faint."""
    redraw(model, seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("qkv.weight", "q_proj.weight", "k_proj.weight")):
                parameter.mul_(1.5)


def vision_of(family: str, model: Any) -> PatchVision:
    vision: PatchVision = FAMILIES[family].vision(model, mean=MEAN, std=STD)
    return vision


def draw(tokens_high: int, tokens_wide: int, seed: int = 0) -> UInt8Array:
    """A random image, uint8 [3, H, W]."""
    generator = np.random.default_rng([seed, tokens_high, tokens_wide])
    return generator.integers(
        0, 256, (3, tokens_high * 2 * PATCH_PX, tokens_wide * 2 * PATCH_PX), dtype=np.uint8
    )


@torch.no_grad()
def reference(family: str, model: Any, images: Sequence[UInt8Array]) -> list[Tensor]:
    """transformers' tokens of each image, all in one batch: its image processor, then its features."""
    inputs = FAMILIES[family].processor()([image.transpose(1, 2, 0) for image in images], return_tensors="pt")
    dtype = next(model.parameters()).dtype
    inputs["pixel_values"] = inputs["pixel_values"].to(dtype)
    return list(model.get_image_features(**inputs).pooler_output)
