"""Makes vision encoders of published sizes with random weights, without any checkpoint or language model."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from encoders.minicpm.resampler import Resampler
from encoders.minicpm.siglip import SiglipVit
from encoders.minicpm.slices_encoder import SlicesEncoder
from encoders.qwen_vl.qwen_encoder import QwenEncoder
from encoders.qwen_vl.vision_forward import QwenVision
from encoders.views import PageViews
from ocr.families.minicpm.minicpm_model import MiniCpmConfig
from ocr.families.minicpm.slicing import SlicingRule
from ocr.families.minicpm.video_slicing import video_slicing
from ocr.families.qwen_vl.qwen_reference import features
from ocr.families.qwen_vl.qwen_resizing import resizing_of
from ocr.families.qwen_vl.qwen_videos import QwenVideos
from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig, OcrModel
from pipeline.bench.encoding.encoder_subject import EncoderSubject, FamilyReference, deepseek_subject
from pipeline.bench.encoding.published_sizes import PublishedSize
from pipeline.bench.encoding.random_deepseek2 import deepseek2
from pipeline.bench.random_model import draw


def random_subject(size: PublishedSize, device: torch.device, dtype: torch.dtype) -> EncoderSubject:
    """Returns an encoder of these sizes, its weights drawn on the device. On the meta device it holds none."""
    return KINDS[size.kind](size, device, dtype)


def random_deepseek(device: torch.device, dtype: torch.dtype) -> OcrModel:
    """Returns DeepSeek-OCR's encoder at full size beside a stub of a language model, which is not measured here."""
    stub = LanguageConfig(
        vocab_size=96, intermediate_size=64, num_hidden_layers=1, num_attention_heads=10, n_routed_experts=2,
        num_experts_per_tok=1, moe_intermediate_size=64,
    )  # fmt: skip
    with torch.device("meta"):
        model = OcrModel.from_config(OcrConfig(language=stub))
    draw(model, device, dtype)
    if device.type == "cuda":
        model.encoder.store_channels_last()
    return model


def _deepseek(size: PublishedSize, device: torch.device, dtype: torch.dtype) -> EncoderSubject:
    return deepseek_subject(random_deepseek(device, dtype))


def _deepseek2(size: PublishedSize, device: torch.device, dtype: torch.dtype) -> EncoderSubject:
    return deepseek2(device, dtype)


def _minicpm(size: PublishedSize, device: torch.device, dtype: torch.dtype) -> EncoderSubject:
    config = MiniCpmConfig.from_json(size.config).vision
    with torch.device("meta"):
        vit, resampler = SiglipVit(config.vit), Resampler(config.resampler)
    for module in (vit, resampler):
        draw(module, device, dtype)
    return EncoderSubject(
        encoder=SlicesEncoder(vit, resampler, config),
        view_maker=SlicingRule.from_json(size.config),
        video_maker=video_slicing(size.config, size.packed),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _VisionOfQwen:
    """Implements ocr.families.page_model.ReferenceModel for transformers' module alone."""

    module: Any
    mean: Sequence[float]
    std: Sequence[float]

    def reference_features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        return features(self.module, pages, mean=self.mean, std=self.std)


def _qwen(size: PublishedSize, device: torch.device, dtype: torch.dtype) -> EncoderSubject:
    module = _qwen_module(size)
    draw(module, device, dtype)
    resizing = resizing_of(size.kind, size.image, size.video)
    # transformers' classes are measured as they come, with the widths that QwenVision aligns in its own.
    alone = _VisionOfQwen(module=deepcopy(module), mean=resizing.mean, std=resizing.std)
    return EncoderSubject(
        encoder=QwenEncoder(QwenVision(module, mean=resizing.mean, std=resizing.std)),
        view_maker=resizing,
        video_maker=QwenVideos(resizing=resizing),
        open_reference=partial(FamilyReference, alone),
    )


def _qwen_module(size: PublishedSize) -> Any:
    """Returns transformers' vision module on the meta device."""
    from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as older
    from transformers.models.qwen3_vl import modeling_qwen3_vl as newer

    kinds = {
        "qwen2_5_vl": older.Qwen2_5_VisionTransformerPretrainedModel,
        "qwen3_vl": newer.Qwen3VLVisionModel,
    }
    known = kinds[size.kind]
    with torch.device("meta"):
        return known(known.config_class(**size.config))


KINDS: dict[str, Callable[[PublishedSize, torch.device, torch.dtype], EncoderSubject]] = {
    "deepseek_ocr": _deepseek,
    "deepseek_ocr2": _deepseek2,
    "minicpmv": _minicpm,
    "qwen2_5_vl": _qwen,
    "qwen3_vl": _qwen,
}
