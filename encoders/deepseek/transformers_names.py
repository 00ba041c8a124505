"""Weights of transformers' own modules under the published names: of SAM, and of the whole encoder (`unlimited_ocr`).

transformers renames tensors when it loads a published checkpoint; this is the way back, for a model that it holds.
Source: transformers' conversion_mapping (unlimited_ocr, deepseek_ocr2).
"""

import re
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

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


def joined_projections(state: Mapping[str, Tensor]) -> dict[str, list[str]]:
    """Returns the names of the three tensors that each joined one of DeepEncoder is made of, in order.

    state: UnlimitedOcrModel.state_dict().
    """
    return {
        f"vision_model.{renamed(name, _CLIP).replace(_PARTS[0], 'qkv_proj')}": [
            _CLIP_PREFIX + name.replace(_PARTS[0], part) for part in _PARTS
        ]
        for name in below(state, _CLIP_PREFIX)
        if f".{_PARTS[0]}." in name
    }


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
