"""PaddleOCR-VL's vision encoder and projector on precomputed inputs of fixed shapes.

Shapes: P patches, N tokens of 2 x 2 patches; W hidden.
Source: PaddlePaddle/PaddleOCR-VL, transformers' modeling_paddleocr_vl.py. Numbers differ in rounding alone; patches of
a token lie together, where the published order is row by row.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from encoders.graphs.path import Tensors
from encoders.navit.blocks import images_of, siglip_block
from encoders.patches.grid_plans import PatchGeometry
from encoders.patches.patch_vision import PatchVision, turns_of


class PaddleVision(PatchVision):
    """The encoder of a PaddleOCRVLModel, whose weights it shares. mean, std: as in preprocessor_config.json."""

    def __init__(self, model: Any, *, mean: Sequence[float], std: Sequence[float]) -> None:
        vision = model.visual.vision_model
        config, embeddings = vision.config, vision.embeddings
        self._vision, self._projector = vision, model.projector
        super().__init__(
            nn.ModuleDict({"vision": vision, "projector": model.projector}),
            embeddings.patch_embedding,
            PatchGeometry(
                patch_px=config.patch_size,
                merge=config.spatial_merge_size,
                temporal=1,
                position_side=config.image_size // config.patch_size,
                corners_aligned=False,
            ),
            mean=mean,
            std=std,
            width=model.config.text_config.hidden_size,
        )

    def encode(self, inputs: Tensors) -> Tensor:
        hidden = self.embedded(inputs, self._vision.embeddings.position_embedding.weight)
        frequencies = self._vision.encoder.rotary_pos_emb.inv_freq.float()
        turns, images = turns_of(inputs["positions"], frequencies, frequencies), images_of(inputs)
        for block in self._vision.encoder.layers:
            hidden = siglip_block(block, hidden, turns, images, block.self_attn.out_proj)
        return self._projected(self._vision.post_layernorm(hidden))

    def _projected(self, hidden: Tensor) -> Tensor:
        """Returns tokens of four patches each: [P, W] -> [N, width]."""
        projector = self._projector
        squares = projector.pre_norm(hidden).view(-1, projector.linear_1.in_features)
        tokens: Tensor = projector.linear_2(projector.act(projector.linear_1(squares)))
        return tokens
