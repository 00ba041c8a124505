"""SigLIP vision transformer over packed patches, with a mask of keys.

Shapes: S slices, N patches (the cap), P numbers a patch, E width.
Source: openbmb/MiniCPM-V-2_6 (modeling_navit_siglip.py) and Idefics2 (Laurençon et al. 2024), whose encoder of 2.5 is
the same; SigLIP (Zhai et al. 2023). Different: patches come packed, their positions are given, and the convolution is
one matrix product. In 2.5 published code pads a batch without masking it; here each slice is as it is alone.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.attention.switch import takes
from encoders.initial import embedding
from encoders.minicpm.packed_patches import normalised
from encoders.native.sequence_attention import Sequences, sequence_attention
from encoders.pointwise import add_norm, linear_gelu


@dataclass(frozen=True, slots=True, kw_only=True)
class VitConfig:
    """Sizes of the transformer; defaults are the published models'.

    num_layers: of those that are there. image_px: side of the image that the learnt positions are spread over.
    """

    width: int = 1152
    num_layers: int = 27
    num_heads: int = 16
    mlp_dim: int = 4304
    image_px: int = 980
    patch_px: int = 14
    layer_norm_eps: float = 1e-6

    @property
    def positions_side(self) -> int:
        """The side of the table of learnt positions."""
        return self.image_px // self.patch_px


class SiglipEmbeddings(nn.Module):
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.patch_embedding = nn.Conv2d(3, config.width, config.patch_px, config.patch_px)
        self.position_embedding = embedding(config.positions_side**2, config.width, std=0.02)

    def forward(self, pixels_SNP: Tensor, positions_SN: Tensor) -> Tensor:
        """Returns the patches' embeddings with their positions, [S, N, E]."""
        convolution = self.patch_embedding
        patches = normalised(pixels_SNP, convolution.weight.dtype)
        tokens = functional.linear(patches, convolution.weight.flatten(1), convolution.bias)
        out: Tensor = tokens + self.position_embedding(positions_SN)
        return out


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
        if not takes((x,)):
            return cls(valid_SN[:, None, None], None)
        begins = torch.arange(S, device=x.device) * N
        bounds = torch.stack([begins, begins + valid_SN.sum(-1)], dim=1).flatten()
        offsets = functional.pad(bounds, (0, 1), value=S * N).to(torch.int32)
        return cls(valid_SN[:, None, None], Sequences(offsets, N))


class SiglipAttention(nn.Module):
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.k_proj = nn.Linear(config.width, config.width)
        self.v_proj = nn.Linear(config.width, config.width)
        self.q_proj = nn.Linear(config.width, config.width)
        self.out_proj = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor, keys: "Keys") -> Tensor:
        S, N, E = x.shape
        q, k, v = (
            project(x).view(S, N, self.num_heads, -1) for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        if keys.sequences is not None:
            q, k, v = (each.flatten(0, 1) for each in (q, k, v))
            out = sequence_attention(q, k, v, keys.sequences)
        else:
            q, k, v = (each.transpose(1, 2) for each in (q, k, v))
            out = functional.scaled_dot_product_attention(q, k, v, attn_mask=keys.valid_S11N).transpose(1, 2)
        projected: Tensor = self.out_proj(out.reshape(S, N, E))
        return projected


class SiglipMlp(nn.Module):
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.fc1 = nn.Linear(config.width, config.mlp_dim)
        self.fc2 = nn.Linear(config.mlp_dim, config.width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc2(linear_gelu(x, self.fc1, tanh=True))
        return out


class SiglipLayer(nn.Module):
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.self_attn = SiglipAttention(config)
        self.layer_norm1 = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.mlp = SiglipMlp(config)
        self.layer_norm2 = nn.LayerNorm(config.width, eps=config.layer_norm_eps)

    def forward(self, x: Tensor, update: Tensor | None, keys: Keys) -> tuple[Tensor, Tensor]:
        """Returns x and the update still to be added to it after this layer, from those before it; both [S, N, E]."""
        x, normed = add_norm(x, update, self.layer_norm1)
        x, normed = add_norm(x, self.self_attn(normed, keys), self.layer_norm2)
        return x, self.mlp(normed)


class SiglipLayers(nn.Module):
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(SiglipLayer(config) for _ in range(config.num_layers))


class SiglipVit(nn.Module):
    """The vision transformer. Parameter names are the published `vpm.*`."""

    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = SiglipEmbeddings(config)
        self.encoder = SiglipLayers(config)
        self.post_layernorm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)

    def forward(self, pixels_SNP: Tensor, positions_SN: Tensor, valid_SN: Tensor) -> Tensor:
        """Returns the patches' features [S, N, E]; those of patches that are not valid mean nothing, but are finite.

        pixels: uint8. positions: int32, in the learnt table. valid: at least one patch of every slice.
        """
        x = self.embeddings(pixels_SNP, positions_SN)
        keys = Keys.of(valid_SN, x)
        update: Tensor | None = None
        for layer in self.encoder.layers:
            x, update = layer(x, update, keys)
        _, features = add_norm(x, update, self.post_layernorm)
        return features
