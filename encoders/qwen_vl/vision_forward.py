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

from encoders.graphs.path import Tensors
from encoders.patches.grid_plans import PatchGeometry
from encoders.patches.layers import align, feed_forward
from encoders.patches.patch_vision import PatchVision, turns_of
from encoders.patches.sequence_attention import Sequences, sequence_attention
from encoders.pointwise import add_norm, rotated


class QwenVision(PatchVision):
    """A vision encoder over transformers' module: Qwen3VLVisionModel or Qwen2_5_VisionTransformerPretrainedModel.

    mean, std: of each channel, as in preprocessor_config.json, for pixels from 0 to 1. width: of a token, with
    Qwen3-VL the language model's once for the token and once for each deepstack feature.
    """

    def __init__(self, module: Any, *, mean: Sequence[float], std: Sequence[float]) -> None:
        config = module.config
        windowed, learned = hasattr(config, "window_size"), hasattr(module, "pos_embed")
        geometry = PatchGeometry(
            patch_px=config.patch_size,
            merge=config.spatial_merge_size,
            temporal=config.temporal_patch_size,
            position_side=int(config.num_position_embeddings**0.5) if learned else None,
            window=config.window_size // config.spatial_merge_size // config.patch_size if windowed else None,
        )
        self._whole = set(config.fullatt_block_indexes if windowed else range(config.depth))
        levels = getattr(config, "deepstack_visual_indexes", ())
        self._deepstack = dict(zip(levels, getattr(module, "deepstack_merger_list", ()), strict=True))
        self._table = module.pos_embed if learned else None
        for block in module.blocks:
            align(block.mlp)
        width = config.out_hidden_size * (1 + len(self._deepstack))
        super().__init__(module, module.patch_embed.proj, geometry, mean=mean, std=std, width=width)

    def encode(self, inputs: Tensors) -> Tensor:
        """Returns the tokens, [N, D_out * (1 + deepstack features)]: the last layer's, then those of the levels."""
        hidden = self.embedded(inputs, None if self._table is None else self._table.weight)
        frequencies = self.module.rotary_pos_emb.inv_freq.float()
        turns = turns_of(inputs["positions"], frequencies, frequencies)
        frames = Sequences(inputs["cu_seqlens"], inputs["longest"].shape[0])
        windows = frames
        if self.geometry.window is not None:
            patches = (self.geometry.window * self.geometry.merge) ** 2
            windows = Sequences(inputs["cu_windows"], patches)
        levels = []
        update: Tensor | None = None
        for layer, block in enumerate(self.module.blocks):
            hidden, update = _block(block, hidden, update, turns, frames if layer in self._whole else windows)
            if layer in self._deepstack:
                hidden, update = hidden + update, None
                levels.append(self._deepstack[layer](hidden))
        if update is not None:
            hidden = hidden + update
        tokens = torch.cat([self.module.merger(hidden), *levels], dim=-1)
        return tokens.index_select(0, inputs["order"]) if "order" in inputs else tokens


def _block(
    block: Any, hidden: Tensor, update: Tensor | None, turns: tuple[Tensor, Tensor], sequences: Sequences
) -> tuple[Tensor, Tensor]:
    """Returns the hidden states [P, W] and what this layer adds to them last. update: what the layer before does."""
    attention = block.attn
    hidden, normed = add_norm(hidden, update, block.norm1)
    qkv = attention.qkv(normed).view(len(hidden), 3, attention.num_heads, -1)
    query, key = rotated(qkv[:, 0], qkv[:, 1], *turns)
    attended = sequence_attention(query, key, qkv[:, 2], sequences)
    hidden, normed = add_norm(hidden, attention.proj(attended.reshape(len(hidden), -1)), block.norm2)
    return hidden, feed_forward(block.mlp, normed)
