"""The encoder of a model that transformers holds (`unlimited_ocr`): its sizes, and its weights, which are shared.

transformers renames tensors when it loads a published checkpoint, and takes that back when it saves one: the names of
our modules are the published ones. SAM's serve DeepSeek-OCR-2 too. Pages' tokens as that model computes them are here
as well, to compare with.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers.core_model_loading import revert_weight_conversion

from encoders.deepseek.clip import ClipConfig
from encoders.deepseek.deep_encoder import DeepEncoder, EncoderConfig
from encoders.deepseek.sam import SamConfig, SamEncoder
from encoders.views import PageViews, UInt8Array

if TYPE_CHECKING:
    from transformers import PreTrainedModel, UnlimitedOcrConfig
    from transformers.models.deepseek_ocr2.modeling_deepseek_ocr2 import DeepseekOcr2Model
    from transformers.models.unlimited_ocr.modeling_unlimited_ocr import UnlimitedOcrModel

# transformers' names of our sizes.
_SIZES = {"width": "hidden_size", "num_layers": "num_hidden_layers", "num_heads": "num_attention_heads"}
_SAM_SIZES = _SIZES | {
    "mlp_dim": "mlp_dim", "patch_px": "patch_size", "window": "window_size", "global_layers": "global_attn_indexes",
    "neck_channels": "output_channels", "downsample_channels": "downsample_channels",
    "layer_norm_eps": "layer_norm_eps",
}  # fmt: skip
_CLIP_SIZES = _SIZES | {"mlp_dim": "intermediate_size", "layer_norm_eps": "layer_norm_eps"}
# It only tells how many positions there are: SAM's features stand in for CLIP's patches.
_CLIP_PATCH_PX = 14


def sam_config(sam: Any) -> SamConfig:
    """Returns SAM's sizes by transformers' configuration of it."""
    sizes = {ours: getattr(sam, theirs) for ours, theirs in _SAM_SIZES.items()}
    lists = {name: tuple(sizes[name]) for name in ("global_layers", "downsample_channels")}
    return SamConfig(**sizes | lists, pos_grid=sam.image_size // sam.patch_size)


def encoder_config(config: "UnlimitedOcrConfig") -> EncoderConfig:
    """Returns the encoder's sizes. config: of the whole model."""
    clip = config.vision_config.encoder_config
    sizes = {ours: getattr(clip, theirs) for ours, theirs in _CLIP_SIZES.items()}
    return EncoderConfig(
        sam=sam_config(config.vision_config.sam_config),
        clip=ClipConfig(**sizes, pos_grid=clip.image_size // clip.patch_size),
        embed_dim=config.text_config.hidden_size,
    )


def vision_config(config: EncoderConfig) -> dict[str, Any]:
    """Returns transformers' configuration of the same vision encoder."""
    sam = {theirs: getattr(config.sam, ours) for ours, theirs in _SAM_SIZES.items()}
    clip = {theirs: getattr(config.clip, ours) for ours, theirs in _CLIP_SIZES.items()}
    return {
        "sam_config": sam | {"image_size": config.sam.pos_grid * config.sam.patch_px},
        "encoder_config": clip
        | {"image_size": config.clip.pos_grid * _CLIP_PATCH_PX, "patch_size": _CLIP_PATCH_PX},
    }


def sam_of(model: "DeepseekOcr2Model") -> SamEncoder:
    """Returns our SAM encoder with the model's own tensors."""
    with torch.device("meta"):
        encoder = SamEncoder(sam_config(model.vision_tower.sam_encoder.config))
    published = _published(model, "vision_tower.sam_encoder.")
    weights = {name.removeprefix("sam_model."): tensor for name, tensor in published.items()}
    encoder.load_state_dict(weights, strict=True, assign=True)
    return encoder


def encoder_of(model: "UnlimitedOcrModel") -> DeepEncoder:
    """Returns the model's encoder in evaluation mode, with the model's own tensors: no weight is held twice.

    Where ours joins projections that the model has apart, the model's become parts of the joined ones.
    """
    with torch.device("meta"):
        encoder = DeepEncoder(encoder_config(model.config))
    own = ("vision_tower.", "multi_modal_projector.", "image_newline", "view_separator")
    encoder.load_state_dict(_published(model, own), strict=True, assign=True)
    towers = encoder.vision_model.transformer, model.vision_tower.vision_encoder.encoder
    for ours, theirs in zip(*(tower.layers for tower in towers), strict=True):
        parts = [theirs.self_attn.q_proj, theirs.self_attn.k_proj, theirs.self_attn.v_proj]
        for kind in ("weight", "bias"):
            joined = getattr(ours.self_attn.qkv_proj, kind).data.chunk(len(parts))
            for part, values in zip(parts, joined, strict=True):
                getattr(part, kind).data = values
    return encoder.eval().requires_grad_(False)


def _published(model: "PreTrainedModel", prefixes: str | tuple[str, ...]) -> dict[str, Tensor]:
    """Returns the model's tensors of these names under their published ones: shared, but for those that are joined."""
    state = model.state_dict()
    published: dict[str, Tensor] = revert_weight_conversion(
        model, {name: tensor for name, tensor in state.items() if name.startswith(prefixes)}
    )
    return published


def page_tokens(model: Any, pages: Sequence[PageViews]) -> list[Tensor]:
    """Returns the pages' vision tokens, [T, D] each, in order. model: without the head; of DeepSeek-OCR or -OCR-2."""
    tiles = [tile for page in pages for tile in page.local_views]
    grids = {"patches_grid": [list(page.grid) for page in pages]} if hasattr(model, "image_newline") else {}
    found = model.get_image_features(
        _stacked(model, [page.global_view for page in pages]),
        _stacked(model, tiles) if tiles else None,
        num_local_patches=[page.num_tiles for page in pages],
        **grids,
    )
    return list(found.pooler_output)


def _stacked(model: Any, views: Sequence[UInt8Array]) -> Tensor:
    like = next(model.parameters())
    return (torch.stack([torch.from_numpy(view) for view in views]).to(like.device) / 127.5 - 1).to(
        like.dtype
    )
