"""SigLIP vision transformer over packed patches, with a mask of keys.

Shapes: S slices, N patches (the cap), P numbers a patch, E width.
Source: openbmb/MiniCPM-V-2_6 (modeling_navit_siglip.py) and Idefics2 (Laurençon et al. 2024), whose encoder of 2.5 is
the same; SigLIP (Zhai et al. 2023). Different: patches come packed, their positions are given, and the convolution is
one matrix product. In 2.5 published code pads a batch without masking it; here each slice is as it is alone.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.idefics2.configuration_idefics2 import Idefics2VisionConfig
from transformers.models.idefics2.modeling_idefics2 import Idefics2VisionTransformer

from encoders.attention.switch import takes_sequences
from encoders.minicpm.packed_patches import normalised
from encoders.native.layers import feed_forward
from encoders.native.sequence_attention import Sequences, sequence_attention
from encoders.pointwise import add_norm


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of each slice. valid: [S, 1, 1, N] bool. sequences: the slices and what is behind each, end to end.

    sequences: where attention within sequences has kernels, which cost half of those that take a mask.
    """

    valid_S11N: Tensor
    sequences: Sequences | None

    @classmethod
    def of(cls, valid_SN: Tensor, x: Tensor) -> "Keys":
        """Returns those of slices whose first patches are valid. x: what attends."""
        S, N = valid_SN.shape
        if not takes_sequences((x,)):
            return cls(valid_SN[:, None, None], None)
        begins = torch.arange(S, device=x.device) * N
        bounds = torch.stack([begins, begins + valid_SN.sum(-1)], dim=1).flatten()
        offsets = functional.pad(bounds, (0, 1), value=S * N).to(torch.int32)
        return cls(valid_SN[:, None, None], Sequences(offsets, N))


class SiglipVit(nn.Module):
    """The vision transformer; transformers' modules hold the weights. Parameter names are the published `vpm.*`."""

    def __init__(self, config: Idefics2VisionConfig) -> None:
        super().__init__()
        self.config = config
        tower = Idefics2VisionTransformer(config)
        self.embeddings, self.encoder = tower.embeddings, tower.encoder
        self.post_layernorm = tower.post_layernorm

    def forward(self, pixels_SNP: Tensor, positions_SN: Tensor, valid_SN: Tensor) -> Tensor:
        """Returns the patches' features [S, N, E]; those of patches that are not valid mean nothing, but are finite.

        pixels: uint8. positions: int32, in the learnt table. valid: at least one patch of every slice.
        """
        convolution = self.embeddings.patch_embedding
        patches = normalised(pixels_SNP, convolution.weight.dtype)
        x = functional.linear(patches, convolution.weight.flatten(1), convolution.bias)
        x = x + self.embeddings.position_embedding(positions_SN)
        keys = Keys.of(valid_SN, x)
        update: Tensor | None = None
        for layer in self.encoder.layers:
            x, normed = add_norm(x, update, layer.layer_norm1)
            x, normed = add_norm(x, _attended(layer.self_attn, normed, keys), layer.layer_norm2)
            update = feed_forward(layer.mlp, normed)
        _, features = add_norm(x, update, self.post_layernorm)
        return features


def _attended(attention: Any, x: Tensor, keys: Keys) -> Tensor:
    """Returns what a layer's attention makes of its normed input, [S, N, E]."""
    S, N, E = x.shape
    projections = attention.q_proj, attention.k_proj, attention.v_proj
    q, k, v = (project(x).view(S, N, attention.num_heads, -1) for project in projections)
    if keys.sequences is not None:
        q, k, v = (each.flatten(0, 1) for each in (q, k, v))
        out = sequence_attention(q, k, v, keys.sequences)
    else:
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=keys.valid_S11N).transpose(1, 2)
    projected: Tensor = attention.out_proj(out.reshape(S, N, E))
    return projected
