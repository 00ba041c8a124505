"""GLM-OCR's vision encoder on precomputed inputs of fixed shapes.

Shapes: P patches, N tokens of 2 x 2 patches; W hidden, H heads of D.
Source: zai-org/GLM-OCR, transformers' modeling_glm_ocr.py. Numbers differ in rounding alone.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from encoders.graphs.path import Tensors
from encoders.navit.blocks import Turns, images_of, square_product
from encoders.patches.grid_plans import PatchGeometry
from encoders.patches.layers import feed_forward
from encoders.patches.patch_vision import PatchVision, turns_of
from encoders.patches.sequence_attention import Sequences, sequence_attention
from encoders.pointwise import add_norm, rotated


class GlmVision(PatchVision):
    """The encoder of a GlmOcrModel, whose weights it shares. mean, std: as in preprocessor_config.json."""

    def __init__(self, model: Any, *, mean: Sequence[float], std: Sequence[float]) -> None:
        vision = model.visual
        config = vision.config
        super().__init__(
            vision,
            vision.patch_embed.proj,
            PatchGeometry(
                patch_px=config.patch_size,
                merge=config.spatial_merge_size,
                temporal=config.temporal_patch_size,
            ),
            mean=mean,
            std=std,
            width=config.out_hidden_size,
        )

    def encode(self, inputs: Tensors) -> Tensor:
        vision = self.module
        hidden = self.embedded(inputs)
        frequencies = vision.rotary_pos_emb.inv_freq.float()
        turns, images = turns_of(inputs["positions"], frequencies, frequencies), images_of(inputs)
        for block in vision.blocks:
            hidden = _block(block, hidden, turns, images)
        tokens: Tensor = vision.merger(square_product(vision.post_layernorm(hidden), vision.downsample))
        return tokens


def _block(block: Any, hidden: Tensor, turns: Turns, images: Sequences) -> Tensor:
    """Returns the hidden states [P, W] after one layer. Queries and keys are normed before they are turned."""
    attention = block.attn
    _, normed = add_norm(hidden, None, block.norm1)
    query, key, value = attention.qkv(normed).view(len(hidden), 3, attention.num_heads, -1).unbind(1)
    (_, query), (_, key) = add_norm(query, None, attention.q_norm), add_norm(key, None, attention.k_norm)
    query, key = rotated(query, key, *turns)
    gathered = sequence_attention(query, key, value, images).reshape(len(hidden), -1)
    hidden, normed = add_norm(hidden, attention.proj(gathered), block.norm2)
    return hidden + feed_forward(block.mlp, normed)
