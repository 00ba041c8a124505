"""The resampler: a fixed number of learnt queries reads the patches of a slice, or of a group of frames.

It is made of operations on tensors alone, so it can be captured: where published code loops over slices, pads lists and
grows tables, positions are computed from indices and frames are gathered by a table of indices.

Shapes: S slices or frames, N patches (the cap), E width of the features, D width of the language model, U groups of at
most F frames, Q queries.
Source: openbmb/MiniCPM-Llama3-V-2_5, MiniCPM-V-2_6, MiniCPM-V-4 and MiniCPM-V-4_5 (resampler.py). Different: in 4.5
the frames of a group are masked by their own sizes; published code mixes the frames' masks where their sizes differ.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.minicpm.packed_patches import valid_patches

HEAD_WIDTH = 128
_EPS = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class ResamplerConfig:
    """num_queries: tokens of a slice or group. width: of the language model. feature_width: of the patches."""

    num_queries: int
    width: int
    feature_width: int


class CrossAttention(nn.Module):
    """Attention of the queries over the patches. Parameter names are those of PyTorch's MultiheadAttention."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.num_heads = width // HEAD_WIDTH
        self.in_proj_weight = nn.Parameter(nn.init.normal_(torch.empty(3 * width, width), std=width**-0.5))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_proj = nn.Linear(width, width)

    def forward(
        self,
        queries_QD: Tensor,
        keys_SND: Tensor,
        values_SND: Tensor,
        valid_SN: Tensor,
        members_UF: Tensor | None,
    ) -> Tensor:
        """Returns what the queries read of each slice [S, Q, D], or of each group [U, Q, D].

        members: the slices of each group, -1 for none.
        """
        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = (
            functional.linear(x, weight, bias)
            for x, weight, bias in zip((queries_QD, keys_SND, values_SND), weights, biases, strict=True)
        )
        if members_UF is not None:
            k, v, valid_SN = (_gathered(x, members_UF) for x in (k, v, valid_SN))
            valid_SN = valid_SN & (members_UF >= 0).repeat_interleave(keys_SND.shape[1], dim=1)
            valid_SN = valid_SN | (torch.arange(valid_SN.shape[1], device=k.device) == 0)
        q, k, v = (
            x.view(len(x), x.shape[1], self.num_heads, HEAD_WIDTH).transpose(1, 2)
            for x in (q.expand(len(k), *q.shape), k, v)
        )
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=valid_SN[:, None, None])
        read: Tensor = self.out_proj(out.transpose(1, 2).flatten(2))
        return read


class Resampler(nn.Module):
    """The resampler of all versions. Parameter names are the published `resampler.*`."""

    side_rates: Tensor
    time_rates: Tensor

    def __init__(self, config: ResamplerConfig) -> None:
        super().__init__()
        D = config.width
        self.config = config
        self.query = nn.Parameter(nn.init.normal_(torch.empty(config.num_queries, D), std=0.02))
        self.kv_proj: nn.Module = nn.Identity()
        if config.feature_width != D:
            self.kv_proj = nn.Linear(config.feature_width, D, bias=False)
        self.attn = CrossAttention(D)
        self.ln_q = nn.LayerNorm(D, eps=_EPS)
        self.ln_kv = nn.LayerNorm(D, eps=_EPS)
        self.ln_post = nn.LayerNorm(D, eps=_EPS)
        self.proj = nn.Parameter(nn.init.normal_(torch.empty(D, D), std=D**-0.5))
        self.register_buffer("side_rates", _rates(D // 2), persistent=False)
        self.register_buffer("time_rates", _rates(D), persistent=False)

    def forward(
        self,
        features_SNE: Tensor,
        sizes_S2: Tensor,
        times_S: Tensor | None = None,
        members_UF: Tensor | None = None,
    ) -> Tensor:
        """Returns the tokens of each slice [S, Q, D], or of each group of frames [U, Q, D].

        sizes: (rows, columns) of patches; what lies behind a slice's patches is not read, whatever it is. times:
        temporal ids, -1 for none; None for all of them. members: the slices of each group, -1 for none; None where
        each slice stands for itself.
        """
        valid_SN = valid_patches(sizes_S2, features_SNE.shape[1])
        features = features_SNE.masked_fill(~valid_SN[..., None], 0)
        values = self.ln_kv(self.kv_proj(features))
        keys = values + self._places(sizes_S2, features.shape[1]).to(values.dtype)
        if times_S is not None:
            keys = keys + self._times(times_S)[:, None].to(values.dtype)
        read = self.attn(self.ln_q(self.query), keys, values, valid_SN, members_UF)
        tokens: Tensor = self.ln_post(read) @ self.proj
        return tokens

    def _places(self, sizes_S2: Tensor, cap: int) -> Tensor:
        """Returns the sinusoids of each patch's column and row, [S, N, D] float32."""
        index = torch.arange(cap, device=sizes_S2.device)
        table = _sinusoids(index, self.side_rates)
        columns = sizes_S2[:, 1:].clamp(min=1)
        return torch.cat([table[index % columns], table[index // columns]], dim=-1)

    def _times(self, times_S: Tensor) -> Tensor:
        """Returns the sinusoids of each frame's time, [S, D] float32; zeros for none.

        Computed for the frames at hand: the published table, of 72,000 times, takes 1.2 GB at a width of 4,096.
        """
        return _sinusoids(times_S, self.time_rates).masked_fill((times_S < 0)[:, None], 0)


def _gathered(slices_SN: Tensor, members_UF: Tensor) -> Tensor:
    """Returns each group's slices end to end: [S, N, ...] -> [U, F * N, ...]; slice 0 where there is none."""
    U, F = members_UF.shape
    chosen = slices_SN.index_select(0, members_UF.clamp(min=0).flatten())
    return chosen.view(U, F * slices_SN.shape[1], *slices_SN.shape[2:])


def _rates(width: int) -> Tensor:
    """Returns the frequencies of `width` sinusoids, [width / 2], as the bits of float32.

    As published code has them, from numpy, where the last bit of a power matters to times of some hours. An integer
    type keeps them as they are when a model is converted to another number format.
    """
    exponents = np.arange(width // 2, dtype=np.float32) / np.float32(width / 2.0)
    rates = (np.float32(1.0) / np.float32(10000) ** exponents).astype(np.float32)
    return torch.from_numpy(rates.view(np.int32).copy())


def _sinusoids(positions: Tensor, rates: Tensor) -> Tensor:
    """Returns sines, then cosines, of integer positions [...] -> [..., width] float32."""
    angles = positions[..., None].float() * rates.view(torch.float32)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)
