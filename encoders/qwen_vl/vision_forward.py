"""The vision encoders of Qwen3-VL and Qwen2.5-VL on precomputed inputs of fixed shapes.

transformers' modules hold the weights and compute what concerns each patch by itself; pixels, positions and attention
are computed here, so that the host never waits for a value and a CUDA graph can hold the whole forward.

Shapes: P patches, N tokens; W hidden, H heads of D. D_out: width of the language model.
Source: transformers, modeling_qwen3_vl.py and modeling_qwen2_5_vl.py. Numbers differ in rounding alone.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from encoders.graphs.path import Tensors
from encoders.qwen_vl.grid_plans import PatchGeometry
from encoders.qwen_vl.sequence_attention import Sequences, sequence_attention

_CHANNELS = 3


class QwenVision:
    """A vision encoder over transformers' module: Qwen3VLVisionModel or Qwen2_5_VisionTransformerPretrainedModel.

    mean, std: of each channel, as in preprocessor_config.json, for pixels from 0 to 1. width: of a token, with
    Qwen3-VL the language model's once for the token and once for each deepstack feature.
    """

    def __init__(self, module: Any, *, mean: Sequence[float], std: Sequence[float]) -> None:
        self.module = module
        config = module.config
        windowed, learned = hasattr(config, "window_size"), hasattr(module, "pos_embed")
        self.geometry = PatchGeometry(
            patch_px=config.patch_size,
            merge=config.spatial_merge_size,
            temporal=config.temporal_patch_size,
            position_side=int(config.num_position_embeddings**0.5) if learned else None,
            window=config.window_size // config.spatial_merge_size // config.patch_size if windowed else None,
        )
        self._mean, self._std = tuple(mean), tuple(std)
        self._whole = set(config.fullatt_block_indexes if windowed else range(config.depth))
        levels = getattr(config, "deepstack_visual_indexes", ())
        self._deepstack = dict(zip(levels, getattr(module, "deepstack_merger_list", ()), strict=True))
        self.width: int = config.out_hidden_size * (1 + len(self._deepstack))

    @property
    def device(self) -> torch.device:
        device: torch.device = self._patch_weight.device
        return device

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = self._patch_weight.dtype
        return dtype

    def encode(self, inputs: Tensors) -> Tensor:
        """Returns the tokens, [N, D_out * (1 + deepstack features)]: the last layer's, then those of the levels.

        inputs: as a GridPlan states them, with the pixels (runs) and where sequences begin (cu_seqlens, cu_windows);
        some at the end may be padding, whose tokens mean nothing.
        """
        hidden = self._embed(inputs)
        turns = self._turns(inputs["positions"])
        frames = Sequences(inputs["cu_seqlens"], inputs["longest"].shape[0])
        windows = frames
        if self.geometry.window is not None:
            patches = (self.geometry.window * self.geometry.merge) ** 2
            windows = Sequences(inputs["cu_windows"], patches)
        levels = []
        for layer, block in enumerate(self.module.blocks):
            hidden = _block(block, hidden, turns, frames if layer in self._whole else windows)
            if layer in self._deepstack:
                levels.append(self._deepstack[layer](hidden))
        tokens = torch.cat([self.module.merger(hidden), *levels], dim=-1)
        return tokens.index_select(0, inputs["order"]) if "order" in inputs else tokens

    @property
    def _patch_weight(self) -> Any:
        return self.module.patch_embed.proj.weight

    def _embed(self, inputs: Tensors) -> Tensor:
        """Returns the embedded patches, with learned positions where the model has them, [P, W]."""
        pixels = self._pixels(inputs["runs"], inputs["sources"])
        weight, bias = self._patch_weight, self.module.patch_embed.proj.bias
        hidden = functional.linear(pixels, weight.view(len(weight), -1), bias)
        if "taps" not in inputs:
            return hidden
        table, taps, weights = self.module.pos_embed.weight, inputs["taps"], inputs["tap_weights"]
        # One tap after the other: all four at once would take 18 kB a patch.
        mixed = table.index_select(0, taps[:, 0]) * weights[:, 0, None]
        for tap in range(1, taps.shape[1]):
            mixed = mixed + table.index_select(0, taps[:, tap]) * weights[:, tap, None]
        positioned: Tensor = hidden + mixed.to(hidden.dtype)
        return positioned

    def _pixels(self, runs: Tensor, sources: Tensor) -> Tensor:
        """Returns the normalised patches [P, 3 * frames * patch_px ** 2], in the weights' dtype.

        An image is sent once and stands for all frames of its patches. runs: uint8 [R, patch_px].
        """
        side, frames = self.geometry.patch_px, self.geometry.temporal
        rows = torch.arange(side, device=runs.device, dtype=sources.dtype) * sources[:, :1]
        channels = torch.arange(_CHANNELS, device=runs.device, dtype=sources.dtype) * sources[:, 1:2]
        within = channels[:, :, None, None] + rows[:, None, None]
        index = within + sources[:, None, 2:, None]  # [P, 3, frames or 1, side]
        pixels = runs.index_select(0, index.flatten()).view(*index.shape, side)
        normal = _normalised(pixels, self._mean, self._std).to(self.dtype)
        return normal.expand(-1, -1, frames, -1, -1).reshape(len(sources), -1)

    def _turns(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the cosines and sines of rotary positions, float32 [P, 1, 1, D]: rows, columns, and both again."""
        frequencies = self.module.rotary_pos_emb.inv_freq.float()
        angles = (positions[..., None].float() * frequencies).flatten(1)
        angles = torch.cat([angles, angles], dim=-1)[:, None, None]
        return angles.cos(), angles.sin()


def _normalised(pixels: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Returns uint8 pixels [P, 3, ...] as float32, bit for bit as transformers' processor without torchvision does."""
    normal = pixels.float().div_(255)
    for channel, (its_mean, its_std) in enumerate(zip(mean, std, strict=True)):
        normal[:, channel].sub_(its_mean).div_(its_std)
    return normal


def _block(block: Any, hidden: Tensor, turns: tuple[Tensor, Tensor], sequences: Sequences) -> Tensor:
    """Returns the hidden states [P, W] after one layer."""
    attention = block.attn
    num_heads = attention.num_heads
    qkv = attention.qkv(block.norm1(hidden)).view(len(hidden), 3, num_heads, -1)
    query, key = _turned(qkv[:, :2], *turns).unbind(1)
    attended = sequence_attention(query, key, qkv[:, 2], sequences)
    hidden = hidden + attention.proj(attended.reshape(len(hidden), -1))
    after: Tensor = hidden + block.mlp(block.norm2(hidden))
    return after


def _turned(queries_keys: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Returns queries and keys [P, 2, H, D] turned by their positions, computed in float32."""
    exact = queries_keys.float()
    first, second = exact.chunk(2, dim=-1)
    turned = exact * cosines + torch.cat([-second, first], dim=-1) * sines
    return turned.to(queries_keys.dtype)
