"""MiniCPM-V's vision parts once more, plainly: slice by slice, with loops, lists and PyTorch's own attention.

Written from the published description, to compare with; it shares no code with encoders.minicpm but the dataclasses
of sizes. Nothing is padded: each slice goes through alone.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from encoders.minicpm.slices_encoder import VisionConfig


class PlainAttention(nn.Module):
    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        heads = []
        size = x.shape[-1] // self.num_heads
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        for head in range(self.num_heads):
            part = slice(head * size, (head + 1) * size)
            scores = q[:, part] @ k[:, part].T / math.sqrt(size)
            heads.append(scores.softmax(-1) @ v[:, part])
        return self.out_proj(torch.cat(heads, dim=-1))


class PlainLayer(nn.Module):
    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        vit = config.vit
        self.layer_norm1 = nn.LayerNorm(vit.hidden_size, eps=vit.layer_norm_eps)
        self.self_attn = PlainAttention(vit.hidden_size, vit.num_attention_heads)
        self.layer_norm2 = nn.LayerNorm(vit.hidden_size, eps=vit.layer_norm_eps)
        self.mlp = nn.Module()
        wide = vit.intermediate_size
        self.mlp.fc1, self.mlp.fc2 = nn.Linear(vit.hidden_size, wide), nn.Linear(wide, vit.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.self_attn(self.layer_norm1(x))
        hidden = self.mlp.fc1(self.layer_norm2(x))
        gelu = 0.5 * hidden * (1 + torch.tanh(math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)))
        return x + self.mlp.fc2(gelu)


class PlainVit(nn.Module):
    """One slice at a time: [3, h, w] uint8 -> [patches, E]."""

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        self.config, vit = config, config.vit
        self.embeddings = nn.Module()
        self.embeddings.patch_embedding = nn.Conv2d(3, vit.hidden_size, vit.patch_size, stride=vit.patch_size)
        self.embeddings.position_embedding = nn.Embedding(
            (vit.image_size // vit.patch_size) ** 2, vit.hidden_size
        )
        self.encoder = nn.Module()
        self.encoder.layers = nn.ModuleList(PlainLayer(config) for _ in range(vit.num_hidden_layers))
        self.post_layernorm = nn.LayerNorm(vit.hidden_size, eps=vit.layer_norm_eps)

    def forward(self, pixels: Tensor) -> Tensor:
        image = (pixels.float() / 255 - 0.5) / 0.5
        patches = self.embeddings.patch_embedding(image[None])[0]  # [E, rows, columns]
        ids = self.position_ids(*patches.shape[1:])
        x = patches.flatten(1).T + self.embeddings.position_embedding(ids)
        for layer in self.encoder.layers:
            x = layer(x)
        return self.post_layernorm(x)

    def position_ids(self, rows: int, columns: int) -> Tensor:
        """Fractions of height and width fall into buckets. 2.5 knows a slice as one row of patches only."""
        side = self.config.vit.image_size // self.config.vit.patch_size
        if self.config.flat_positions:
            rows, columns = 1, rows * columns
        edges = torch.arange(1 / side, 1.0, 1 / side)
        down = torch.bucketize(torch.arange(0, 1 - 1e-6, 1 / torch.tensor(rows)), edges, right=True)
        across = torch.bucketize(torch.arange(0, 1 - 1e-6, 1 / torch.tensor(columns)), edges, right=True)
        return torch.tensor([int(y) * side + int(x) for y in down for x in across])


class PlainResampler(nn.Module):
    """Slices or groups of frames, one after the other."""

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        sizes = config.resampler
        self.config, D = config, sizes.width
        self.query = nn.Parameter(torch.zeros(sizes.num_queries, D))
        if sizes.feature_width != D:
            self.kv_proj = nn.Linear(sizes.feature_width, D, bias=False)
        self.attn = nn.MultiheadAttention(D, D // 128)
        self.ln_q, self.ln_kv, self.ln_post = (nn.LayerNorm(D, eps=1e-6) for _ in range(3))
        self.proj = nn.Parameter(torch.zeros(D, D))

    def forward(
        self, features: Sequence[Tensor], grids: Sequence[tuple[int, int]], groups: Sequence[Sequence[int]]
    ) -> Tensor:
        """features: [patches, E] of each slice. grids: (rows, columns). groups: temporal ids, of slices in order."""
        D = self.query.shape[1]
        slices = iter(zip(features, grids, strict=True))
        tokens = []
        for times in groups:
            keys, values = [], []
            for time in times:
                feature, (rows, columns) = next(slices)
                value = self.ln_kv(self.kv_proj(feature) if hasattr(self, "kv_proj") else feature)
                key = value + torch.from_numpy(places(rows, columns, D)).reshape(-1, D)
                if time >= 0:
                    key = key + torch.from_numpy(sinusoids(np.array([time], np.float32), D))
                keys.append(key)
                values.append(value)
            read = self.attn(self.ln_q(self.query), torch.cat(keys), torch.cat(values), need_weights=False)[0]
            tokens.append(self.ln_post(read) @ self.proj)
        assert next(slices, None) is None, "a slice in no group"
        return torch.stack(tokens)


def places(rows: int, columns: int, width: int) -> np.ndarray:
    """Half of the channels for the column, then half for the row."""
    x, y = np.meshgrid(np.arange(columns, dtype=np.float32), np.arange(rows, dtype=np.float32))
    return np.concatenate([sinusoids(x, width // 2), sinusoids(y, width // 2)], axis=-1)


def sinusoids(positions: np.ndarray, width: int) -> np.ndarray:
    rates = np.arange(width // 2, dtype=np.float32)
    rates /= width / 2.0
    rates = 1.0 / 10000**rates
    angles = np.einsum("...,d->...d", positions, rates)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


class PlainVision(nn.Module):
    """Vision transformer and resampler of one version."""

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        self.patch_px = config.vit.patch_size
        self.vpm, self.resampler = PlainVit(config), PlainResampler(config)

    @torch.no_grad()
    def forward(self, slices: Sequence[Tensor], groups: Sequence[Sequence[int]] | None = None) -> Tensor:
        """Returns the tokens of slices [3, h, w] uint8 of any sizes: [slices or groups, Q, D]."""
        grids = [(pixels.shape[1] // self.patch_px, pixels.shape[2] // self.patch_px) for pixels in slices]
        features = [self.vpm(pixels) for pixels in slices]
        return self.resampler(features, grids, groups or [[-1]] * len(slices))
