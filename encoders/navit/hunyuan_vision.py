"""HunyuanOCR's vision encoder on precomputed inputs of fixed shapes, and the tokens that stand between its rows.

Shapes: P patches, N merged tokens of 2 x 2 patches in h rows of w; D language model width.
Source: tencent/HunyuanOCR, transformers' modeling_hunyuan_vl.py. Numbers differ in rounding alone. A page's begin, end
and newlines are the same for every page, so they are put in outside of the graph.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from encoders.graphs.path import Tensors
from encoders.navit.blocks import images_of, siglip_block, square_product
from encoders.patches.grid_plans import PatchGeometry
from encoders.patches.patch_vision import PatchVision
from encoders.patches.vision_grid import VisionGrid


class HunyuanVision(PatchVision):
    """The encoder of a HunYuanVLModel, whose weights it shares. mean, std: as in preprocessor_config.json."""

    def __init__(self, model: Any, *, mean: Sequence[float], std: Sequence[float]) -> None:
        vision = model.vision_tower
        config = vision.config
        if config.interpolate_mode != "bilinear":
            raise ValueError(f"interpolate_mode is {config.interpolate_mode!r}; only 'bilinear' is known")
        super().__init__(
            vision,
            vision.embeddings.patch_embedding,
            PatchGeometry(
                patch_px=config.patch_size,
                merge=config.spatial_merge_size,
                temporal=1,
                position_side=vision.embeddings.position_edge,
                corners_aligned=False,
                first_position=1,  # a class token's, which is unused
            ),
            mean=mean,
            std=std,
            width=config.text_hidden_size,
        )

    def encode(self, inputs: Tensors) -> Tensor:
        """Returns the merged tokens, [N, D], without those between rows."""
        vision = self.module
        hidden = self.embedded(inputs, vision.embeddings.position_embedding.weight)
        images = images_of(inputs)
        for block in vision.layers:
            hidden = siglip_block(block, hidden, None, images, block.self_attn.o_proj)
        merger = vision.patch_merger
        squares = merger.proj_act(square_product(merger.before_rms(hidden), merger.proj_conv))
        merged = functional.linear(squares, merger.proj_out.weight.flatten(1), merger.proj_out.bias)
        tokens: Tensor = merger.after_rms(merger.mlp(merged))
        return tokens

    def finished(self, tokens_ND: Tensor, grid: VisionGrid) -> Tensor:
        """Returns a page's tokens in prompt order, [h * (w + 1) + 2, D]: begin, rows with a newline each, end."""
        merger = self.module.patch_merger
        newline = merger.after_rms(merger.mlp(merger.image_newline))
        begin, end = (merger.after_rms(edge)[None] for edge in (merger.image_begin, merger.image_end))
        rows = tokens_ND.view(grid.rows // grid.merge, -1, tokens_ND.shape[-1])
        ended = torch.cat([rows, newline.expand(len(rows), 1, -1)], dim=1)
        return torch.cat([begin, ended.flatten(0, 1), end])
