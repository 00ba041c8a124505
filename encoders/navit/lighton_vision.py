"""LightOnOCR's vision encoder, Pixtral's, and its projector on precomputed inputs of fixed shapes.

Shapes: P patches, N tokens of 2 x 2 patches; W hidden, H heads of D.
Source: lightonai/LightOnOCR, transformers' modeling_lighton_ocr.py and modeling_pixtral.py. Numbers differ in rounding
alone; patches of a token lie together, where the published order is row by row.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from encoders.graphs.path import Tensors
from encoders.navit.blocks import Turns, images_of, separate_attention
from encoders.patches.grid_plans import PatchGeometry
from encoders.patches.layers import feed_forward
from encoders.patches.patch_vision import PatchVision, turns_of
from encoders.patches.sequence_attention import Sequences
from encoders.pointwise import add_norm


class LightOnVision(PatchVision):
    """The encoder of a LightOnOcrModel, whose weights it shares. mean, std: as in preprocessor_config.json."""

    def __init__(self, model: Any, *, mean: Sequence[float], std: Sequence[float]) -> None:
        vision, projector = model.vision_encoder, model.vision_projection
        self._vision, self._projector = vision, projector
        super().__init__(
            nn.ModuleDict({"vision": vision, "projector": projector}),
            vision.patch_conv,
            PatchGeometry(
                patch_px=vision.config.patch_size, merge=model.config.spatial_merge_size, temporal=1
            ),
            mean=mean,
            std=std,
            width=model.config.text_config.hidden_size,
        )

    def encode(self, inputs: Tensors) -> Tensor:
        hidden = self._vision.ln_pre(self.embedded(inputs))
        # Rows have every other frequency, columns those between.
        rows, columns = self._vision.patch_positional_embedding.inv_freq.float().chunk(2)
        turns, images = turns_of(inputs["positions"], rows, columns), images_of(inputs)
        for block in self._vision.transformer.layers:
            hidden = _block(block, hidden, turns, images)
        return self._projected(hidden)

    def _projected(self, hidden: Tensor) -> Tensor:
        """Returns tokens of four patches each: [P, W] -> [N, width]. Their channels lie together, not their patches."""
        projector = self._projector
        squares = projector.norm(hidden).view(-1, self.geometry.merge**2, hidden.shape[-1])
        merged = projector.patch_merger.merging_layer(squares.transpose(1, 2).flatten(1))
        tokens: Tensor = projector.linear_2(projector.act(projector.linear_1(merged)))
        return tokens


def _block(block: Any, hidden: Tensor, turns: Turns, images: Sequences) -> Tensor:
    """Returns the hidden states [P, W] after one layer."""
    attention = block.attention
    _, normed = add_norm(hidden, None, block.attention_norm)
    gathered = separate_attention(attention, normed, turns, images)
    hidden, normed = add_norm(hidden, attention.o_proj(gathered), block.ffn_norm)
    return hidden + feed_forward(block.feed_forward, normed)
