"""The encoder of a model that transformers holds (`unlimited_ocr`): its sizes, and its weights, which are shared.

transformers renames tensors when it loads a published checkpoint; this is the way back. SAM's serve DeepSeek-OCR-2 too.
Source: transformers' conversion_mapping (unlimited_ocr, deepseek_ocr2).
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from encoders.deepseek.clip import ClipConfig
from encoders.deepseek.deep_encoder import DeepEncoder, EncoderConfig
from encoders.deepseek.sam import SamConfig, SamEncoder

if TYPE_CHECKING:
    from transformers import UnlimitedOcrConfig
    from transformers.models.unlimited_ocr.modeling_unlimited_ocr import UnlimitedOcrModel


_SAM = (
    (r"^layers\.(\d+)\.layer_norm([12])\.", r"blocks.\1.norm\2."),
    (r"^layers\.", "blocks."),
    (r"^patch_embed\.projection\.", "patch_embed.proj."),
    (r"^neck\.conv1\.", "neck.0."),
    (r"^neck\.layer_norm1\.", "neck.1."),
    (r"^neck\.conv2\.", "neck.2."),
    (r"^neck\.layer_norm2\.", "neck.3."),
    (r"^proj\.conv1\.", "net_2."),
    (r"^proj\.conv2\.", "net_3."),
)
_CLIP = ((r"^encoder\.", "transformer."),)
_CLIP_PREFIX = "vision_tower.vision_encoder."
_PARTS = ("q_proj", "k_proj", "v_proj")


# transformers' names of our sizes.
_SIZES = {"width": "hidden_size", "num_layers": "num_hidden_layers", "num_heads": "num_attention_heads"}
_SAM_SIZES = _SIZES | {
    "mlp_dim": "mlp_dim", "patch_px": "patch_size", "window": "window_size", "global_layers": "global_attn_indexes",
    "use_rel_pos": "use_rel_pos", "neck_channels": "output_channels", "downsample_channels": "downsample_channels",
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


def sam_of(sam: Any) -> SamEncoder:
    """Returns our SAM encoder with the tensors of transformers'."""
    with torch.device("meta"):
        encoder = SamEncoder(sam_config(sam.config))
    encoder.load_state_dict(sam_weights(sam.state_dict()), strict=True, assign=True)
    return encoder


def encoder_of(model: "UnlimitedOcrModel") -> DeepEncoder:
    """Returns the model's encoder in evaluation mode, with the model's own tensors: no weight is held twice.

    Where ours joins projections that the model has apart, the model's become parts of the joined ones.
    """
    with torch.device("meta"):
        encoder = DeepEncoder(encoder_config(model.config))
    encoder.load_state_dict(deep_encoder_weights(model.state_dict()), strict=True, assign=True)
    towers = encoder.vision_model.transformer, model.vision_tower.vision_encoder.encoder
    for ours, theirs in zip(*(tower.layers for tower in towers), strict=True):
        for kind in ("weight", "bias"):
            joined = getattr(ours.self_attn.qkv_proj, kind).data.chunk(len(_PARTS))
            for part, own in zip(_PARTS, joined, strict=True):
                getattr(getattr(theirs.self_attn, part), kind).data = own
    return encoder.eval().requires_grad_(False)


def renamed(name: str, patterns: Sequence[tuple[str, str]]) -> str:
    """Returns the name after the first pattern that fits it, as it is if none does."""
    for pattern, replacement in patterns:
        changed, count = re.subn(pattern, replacement, name)
        if count:
            return changed
    return name


def below(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Returns the tensors whose names begin with the prefix, less it."""
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def sam_weights(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns a SAM encoder's tensors under SamEncoder's names. state: its state_dict(); the tensors are shared."""
    return {renamed(name, _SAM): tensor for name, tensor in state.items()}


def clip_weights(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns a CLIP encoder's tensors under ClipEncoder's names; its three projections joined, which copies them."""
    found = {renamed(name, _CLIP): tensor for name, tensor in state.items()}
    for name in [name for name in found if f".{_PARTS[0]}." in name]:
        parts = [found.pop(name.replace(_PARTS[0], part)) for part in _PARTS]
        found[name.replace(_PARTS[0], "qkv_proj")] = torch.cat(parts)
    return found


def deep_encoder_weights(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns the encoder's tensors under DeepEncoder's names. state: UnlimitedOcrModel.state_dict()."""
    sam = sam_weights(below(state, "vision_tower.sam_encoder."))
    clip = clip_weights(below(state, _CLIP_PREFIX))
    return {
        **{f"sam_model.{name}": tensor for name, tensor in sam.items()},
        **{f"vision_model.{name}": tensor for name, tensor in clip.items()},
        **{
            f"projector.layers.{name}": tensor
            for name, tensor in below(state, "multi_modal_projector.").items()
        },
        "image_newline": state["image_newline"],
        "view_seperator": state["view_separator"],
    }
