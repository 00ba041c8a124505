"""Loads what is measured: a vision encoder, what makes its inputs, and transformers' own with the same weights.

It is a checkpoint's of any family, or one of published sizes (published_sizes.yaml) with random weights, without any
language model.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from typing import Any

import torch
import yaml
from pydantic import TypeAdapter
from torch import Tensor

from encoders.deepseek.from_transformers import page_tokens
from encoders.deepseek2.deep_encoder_v2 import DeepEncoderV2
from encoders.minicpm.resampler import Resampler
from encoders.minicpm.siglip import SiglipVit
from encoders.minicpm.slices_encoder import SlicesEncoder
from encoders.native.native_encoder import NativeEncoder
from encoders.native.towers import QwenVision
from encoders.square_views import SquareViewsEncoder
from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.families.family import Loading, NumberFormat
from ocr.families.minicpm.minicpm_model import MiniCpmConfig
from ocr.families.minicpm.slicing import SlicingRule
from ocr.families.minicpm.video_slicing import video_slicing
from ocr.families.qwen_vl.qwen_reference import features
from ocr.families.qwen_vl.qwen_resizing import QwenVideos, resizing_of
from ocr.families.registry import family_of
from ocr.families.unlimited_ocr.unlimited_views import UnlimitedViews
from ocr.families.view_makers import VideoMaker, ViewMaker
from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig, OcrModel
from ocr.model_files.locate import find_directory
from pipeline.bench.bench_figures import RANDOM
from pipeline.bench.random_model import draw, random_loaded
from pipeline.bench.reference import load_reference
from pipeline.errors import ConfigError

# Encodes pages or videos as transformers does: their vision tokens, [T, D] each, in order.
Features = Callable[[Sequence[PageViews]], list[Tensor]]
# Stands for DeepSeek-OCR's language model, which is not measured here.
_STUB: dict[str, Any] = {
    "vocab_size": 96, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 10,
    "n_routed_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 64,
}  # fmt: skip


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


SIZES: dict[str, PublishedSize] = TypeAdapter(dict[str, PublishedSize]).validate_python(
    yaml.safe_load(
        resources.files("pipeline.bench.encoding").joinpath("published_sizes.yaml").read_text("utf-8")
    )
)


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncoderSubject:
    """A vision encoder to measure.

    view_maker: None for DeepSeek-OCR's global view and tiles. video_maker: None for a model that takes no videos.
    open_reference: loads transformers' implementation; None where there is none to compare with.
    """

    encoder: PageEncoder
    view_maker: ViewMaker | None = None
    video_maker: VideoMaker | None = None
    open_reference: Callable[[], Features] | None = None

    def missing(self) -> dict[str, str]:
        """Returns the arms that it lacks, each with the reason."""
        if not self.encoder.paths:
            own = "this model's encoder is transformers' own"
            return {
                "reference": f"{own}, which the arm eager runs",
                "graph": f"{own}, without paths for graphs",
            }
        return {} if self.open_reference else {"reference": "transformers has no class for this model"}


def load_encoder(name: str, device: torch.device, dtype: NumberFormat) -> EncoderSubject:
    """Returns the encoder that --model names, on its device; pages are in mode "gundam" if it has modes.

    Raises: CheckpointError, ConfigError for unknown sizes.
    """
    size = published_size(name)
    if size is not None:
        return random_subject(size, device, getattr(torch, dtype))
    directory = find_directory(name)
    family = family_of(directory)
    asked = Loading(
        directory=directory, name=name, device=device.type, dtype=dtype, encoder_dtype=dtype, prompt=None
    )
    loaded = family.load(asked)
    open_reference: Callable[[], Features] | None = None
    if isinstance(loaded, LoadedModel):
        open_reference = partial(_deepseek_reference, loaded.model)
    elif hasattr(loaded, "reference_features"):
        open_reference = partial(getattr, loaded, "reference_features")
    return EncoderSubject(
        encoder=loaded.vision_encoder("gundam"),
        view_maker=family.view_maker(directory),
        video_maker=family.video_maker(directory),
        open_reference=open_reference,
    )


def random_subject(size: PublishedSize, device: torch.device, dtype: torch.dtype) -> EncoderSubject:
    """Returns an encoder of these sizes, its weights drawn on the device. On the meta device it holds none."""
    return KINDS[size.kind](size, device, dtype)


def random_deepseek(device: torch.device, dtype: torch.dtype) -> OcrModel:
    """Returns DeepSeek-OCR's encoder at full size beside a stub of a language model."""
    model = random_loaded(OcrConfig(language=LanguageConfig(**_STUB)), device, dtype).model
    if device.type == "cuda":
        model.encoder.store_channels_last()
    return model


def deepseek_subject(model: OcrModel) -> EncoderSubject:
    """Returns the encoder of a DeepSeek-OCR model that no checkpoint was loaded for."""
    return EncoderSubject(
        encoder=SquareViewsEncoder(model.encoder), open_reference=partial(_deepseek_reference, model)
    )


def _deepseek_reference(model: OcrModel) -> Features:
    return partial(page_tokens, load_reference(model).model)


def _deepseek2(size: PublishedSize, device: torch.device, dtype: torch.dtype) -> EncoderSubject:
    from transformers import DeepseekOcr2Config
    from transformers.models.deepseek_ocr2.modeling_deepseek_ocr2 import DeepseekOcr2Model

    stub = {**_STUB, "n_shared_experts": 1, "mlp_layer_types": ["dense"], "pad_token_id": 0}
    with torch.device("meta"):
        model: Any = DeepseekOcr2Model(
            DeepseekOcr2Config(
                vision_config=size.config["vision_config"],
                text_config=stub | size.config["text_config"],
                image_token_id=1,
            )
        )
    draw(model, device, dtype)
    return EncoderSubject(
        encoder=SquareViewsEncoder(DeepEncoderV2(model)),
        view_maker=UnlimitedViews(max_tiles=6, tile_px=DeepEncoderV2.tile_px),  # as its processor makes them
        open_reference=lambda: partial(page_tokens, model),
    )


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


def _qwen(size: PublishedSize, device: torch.device, dtype: torch.dtype) -> EncoderSubject:
    from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as older
    from transformers.models.qwen3_vl import modeling_qwen3_vl as newer

    known: Any = {
        "qwen2_5_vl": older.Qwen2_5_VisionTransformerPretrainedModel,
        "qwen3_vl": newer.Qwen3VLVisionModel,
    }[size.kind]
    with torch.device("meta"):
        module = known(known.config_class(**size.config))
    draw(module, device, dtype)
    resizing = resizing_of(size.kind, size.image, size.video)
    # transformers' classes are measured as they come, with the widths that QwenVision aligns in its own.
    alone = deepcopy(module)
    return EncoderSubject(
        encoder=NativeEncoder(QwenVision(module, mean=resizing.mean, std=resizing.std), videos=True),
        view_maker=resizing,
        video_maker=QwenVideos(resizing=resizing),
        open_reference=lambda: partial(features, alone, mean=resizing.mean, std=resizing.std),
    )


KINDS: Mapping[str, Callable[[PublishedSize, torch.device, torch.dtype], EncoderSubject]] = {
    "deepseek_ocr": lambda _, device, dtype: deepseek_subject(random_deepseek(device, dtype)),
    "deepseek_ocr2": _deepseek2,
    "minicpmv": _minicpm,
    "qwen2_5_vl": _qwen,
    "qwen3_vl": _qwen,
}
