"""DeepSeek-OCR-2's encoder: SAM, queries that read its features, and a projector turn page views into tokens.

A view's patches all see each other; a query sees all patches and the queries before it. What the queries come to are
the view's tokens, in the order in which the encoder reads ("visual causal flow").

Shapes: B views of S px, P = (S / 64)^2 patches after SAM, Q queries (144 up to 768 px, 256 beyond), T = P + Q,
D language width.
Source: deepseek-ai/DeepSeek-OCR-2 (deepencoderv2), Wei et al. 2026; transformers' `deepseek_ocr2`, which holds the
weights. Differs in that positions and mask are computed once a view size, so that the forward looks at no value and can
be captured, and global views and tiles of many pages are encoded in two independent batches.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from encoders.deepseek.from_transformers import sam_of
from encoders.deepseek.position_tables import TableCache
from encoders.native.layers import feed_forward
from encoders.pointwise import add_norm
from encoders.square_views import ViewsModel

if TYPE_CHECKING:
    from transformers.models.deepseek_ocr2.modeling_deepseek_ocr2 import DeepseekOcr2Model

# Queries for views of up to 144 patches, 768 px a side, and for larger ones.
NUM_QUERIES = (144, 256)
# Cosines and sines of rotary positions, and what is added to the scores: 0, or -inf where a token is not seen.
Tables = tuple[Tensor, Tensor, Tensor]


def num_queries(num_patches: int) -> int:
    """Returns the number of tokens of a view."""
    few, many = NUM_QUERIES
    return few if num_patches <= few else many


class DeepEncoderV2(ViewsModel):
    """The encoder of transformers' model, with the model's own tensors: no weight is held twice.

    In evaluation mode and without gradients.
    """

    tile_px = 768

    def __init__(self, model: "DeepseekOcr2Model") -> None:
        super().__init__()
        tower = model.vision_tower
        self.sam_model = sam_of(model)
        self.query_encoder = tower.vision_encoder
        self.query_768, self.query_1024 = tower.query_768_resolution, tower.query_1024_resolution
        self.projector = model.multi_modal_projector
        self.view_separator: Tensor = model.view_separator
        self._tables: TableCache[Tables] = TableCache()
        self.eval().requires_grad_(False)

    @property
    def separator(self) -> Tensor:
        return self.view_separator

    def num_tokens(self, size_px: int) -> int:
        return num_queries((size_px // 64) ** 2)

    def prepare(self, size_px: int) -> list[Tensor]:
        side = size_px // self.sam_model.config.patch_px
        return [*self.sam_model.prepare(side), *self.tables((side // 4) ** 2)]

    def tables(self, num_patches: int) -> Tables:
        """Returns the tables for views of this many patches."""
        like = (
            self.query_1024.weight
        )  # they are made of no weight, but lie on its device and are of its dtype
        return self._tables.get(num_patches, [like], lambda: self._compute_tables(num_patches, like))

    def _compute_tables(self, num_patches: int, like: Tensor) -> Tables:
        position = torch.arange(num_patches + num_queries(num_patches), device=like.device)
        seen = (position[None] < num_patches) | (position[None] <= position[:, None])
        mask = torch.zeros(seen.shape, device=like.device, dtype=like.dtype).masked_fill(~seen, -torch.inf)
        cos, sin = self.query_encoder.rotary_emb(like, position[None])
        return cos, sin, mask[None, None]

    def tokens_of(self, pixels: Tensor) -> Tensor:
        patches = self.sam_model(pixels).flatten(2).transpose(1, 2)
        B, P, _ = patches.shape
        queries = self.query_768 if num_queries(P) == NUM_QUERIES[0] else self.query_1024
        x = torch.cat([patches, queries.weight.expand(B, -1, -1)], dim=1)
        cos, sin, mask = self.tables(P)
        update: Tensor | None = None
        for layer in self.query_encoder.layers:  # with our norms and products: fewer passes over memory
            x, normed = add_norm(x, update, layer.input_layernorm)
            attended, _ = layer.self_attn(normed, attention_mask=mask, position_embeddings=(cos, sin))
            x, normed = add_norm(x, attended, layer.post_attention_layernorm)
            update = feed_forward(layer.mlp, normed)
        _, normed = add_norm(x, update, self.query_encoder.norm)
        tokens: Tensor = self.projector(normed[:, P:])
        return tokens

    def raster(self, views_NQD: Tensor, grid: tuple[int, int]) -> Tensor:
        """Returns the tokens of views one view after the other, without newlines."""
        return views_NQD.flatten(0, 1)
