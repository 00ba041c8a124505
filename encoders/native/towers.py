"""The vision towers of Qwen-VL, GLM-OCR, PaddleOCR-VL, HunyuanOCR and LightOnOCR on precomputed inputs of fixed shapes.

transformers' modules hold the weights and compute what concerns each patch by itself; pixels, positions and attention
are computed here, so that the host never waits for a value and a CUDA graph can hold the whole forward. Numbers differ
in rounding alone. levels: mean and std, as PatchVision has them. Patches of a token lie together, where PaddleOCR-VL
and LightOnOCR publish them row by row.

Shapes: P patches, N tokens of m patches each; W hidden, H heads of D. D_out: width of the language model.
Source: transformers, modeling_qwen3_vl.py, modeling_qwen2_5_vl.py, modeling_glm_ocr.py, modeling_paddleocr_vl.py,
modeling_hunyuan_vl.py, modeling_lighton_ocr.py and modeling_pixtral.py.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.graphs.path import Tensors
from encoders.native.grid_plans import PatchGeometry
from encoders.native.layers import align, feed_forward
from encoders.native.patch_vision import PatchVision, turns_of
from encoders.native.sequence_attention import Sequences, sequence_attention
from encoders.native.vision_grid import VisionGrid
from encoders.pointwise import add_norm, rotated

Turns = tuple[Tensor, Tensor]


class QwenVision(PatchVision):
    """Over transformers' Qwen3VLVisionModel or Qwen2_5_VisionTransformerPretrainedModel.

    width: with Qwen3-VL the language model's once for the token and once for each deepstack feature.
    """

    def __init__(self, module: Any, **levels: Sequence[float]) -> None:
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
        depths = getattr(config, "deepstack_visual_indexes", ())
        self._deepstack = dict(zip(depths, getattr(module, "deepstack_merger_list", ()), strict=True))
        self._table = module.pos_embed if learned else None
        for block in module.blocks:
            align(block.mlp)
        width = config.out_hidden_size * (1 + len(self._deepstack))
        super().__init__(module, module.patch_embed.proj, geometry, width=width, **levels)

    def encode(self, inputs: Tensors) -> Tensor:
        """Returns the tokens, [N, D_out * (1 + deepstack features)]: the last layer's, then those of the levels."""
        hidden = self.embedded(inputs, None if self._table is None else self._table.weight)
        turns, frames = turns_of(inputs["positions"], self.module.rotary_pos_emb.inv_freq), _images(inputs)
        windows = frames
        if self.geometry.window is not None:
            patches = (self.geometry.window * self.geometry.merge) ** 2
            windows = Sequences(inputs["cu_windows"], patches)
        features = []
        update: Tensor | None = None
        for layer, block in enumerate(self.module.blocks):
            hidden, update = _block(block, hidden, update, turns, frames if layer in self._whole else windows)
            if layer in self._deepstack:
                hidden, update = hidden + update, None
                features.append(self._deepstack[layer](hidden))
        if update is not None:
            hidden = hidden + update
        tokens = torch.cat([self.module.merger(hidden), *features], dim=-1)
        return tokens.index_select(0, inputs["order"]) if "order" in inputs else tokens


class GlmVision(PatchVision):
    """The encoder of a GlmOcrModel, whose weights it shares."""

    def __init__(self, model: Any, **levels: Sequence[float]) -> None:
        vision = model.visual
        config = vision.config
        geometry = PatchGeometry(
            patch_px=config.patch_size, merge=config.spatial_merge_size, temporal=config.temporal_patch_size
        )
        super().__init__(vision, vision.patch_embed.proj, geometry, width=config.out_hidden_size, **levels)

    def encode(self, inputs: Tensors) -> Tensor:
        vision = self.module
        turns = turns_of(inputs["positions"], vision.rotary_pos_emb.inv_freq)
        hidden = _through(vision.blocks, self.embedded(inputs), turns, inputs)
        tokens: Tensor = vision.merger(_square_product(vision.post_layernorm(hidden), vision.downsample))
        return tokens


class PaddleVision(PatchVision):
    """The encoder and projector of a PaddleOCRVLModel, whose weights it shares."""

    def __init__(self, model: Any, **levels: Sequence[float]) -> None:
        self._vision, self._projector = model.visual.vision_model, model.projector
        config = self._vision.config
        super().__init__(
            nn.ModuleDict({"vision": self._vision, "projector": self._projector}),
            self._vision.embeddings.patch_embedding,
            PatchGeometry(
                patch_px=config.patch_size,
                merge=config.spatial_merge_size,
                temporal=1,
                position_side=config.image_size // config.patch_size,
                corners_aligned=False,
            ),
            width=model.config.text_config.hidden_size,
            **levels,
        )

    def encode(self, inputs: Tensors) -> Tensor:
        vision, projector = self._vision, self._projector
        hidden = self.embedded(inputs, vision.embeddings.position_embedding.weight)
        turns = turns_of(inputs["positions"], vision.encoder.rotary_pos_emb.inv_freq)
        hidden = _through(vision.encoder.layers, hidden, turns, inputs)
        squares = projector.pre_norm(vision.post_layernorm(hidden)).view(-1, projector.linear_1.in_features)
        tokens: Tensor = projector.linear_2(projector.act(projector.linear_1(squares)))
        return tokens


class HunyuanVision(PatchVision):
    """The encoder of a HunYuanVLModel, whose weights it shares.

    A page's begin, end and newlines are the same for every page, so they are put in outside of the graph.
    """

    def __init__(self, model: Any, **levels: Sequence[float]) -> None:
        vision = model.vision_tower
        config = vision.config
        if config.interpolate_mode != "bilinear":
            raise ValueError(f"interpolate_mode is {config.interpolate_mode!r}; only 'bilinear' is known")
        geometry = PatchGeometry(
            patch_px=config.patch_size,
            merge=config.spatial_merge_size,
            temporal=1,
            position_side=vision.embeddings.position_edge,
            corners_aligned=False,
            first_position=1,  # a class token's, which is unused
        )
        patches = vision.embeddings.patch_embedding
        super().__init__(vision, patches, geometry, width=config.text_hidden_size, **levels)

    def encode(self, inputs: Tensors) -> Tensor:
        """Returns the merged tokens, [N, D_out], without those between rows."""
        vision, merger = self.module, self.module.patch_merger
        hidden = self.embedded(inputs, vision.embeddings.position_embedding.weight)
        hidden = _through(vision.layers, hidden, None, inputs)
        squares = merger.proj_act(_square_product(merger.before_rms(hidden), merger.proj_conv))
        merged = functional.linear(squares, merger.proj_out.weight.flatten(1), merger.proj_out.bias)
        tokens: Tensor = merger.after_rms(merger.mlp(merged))
        return tokens

    def finished(self, tokens_ND: Tensor, grid: VisionGrid) -> Tensor:
        """Returns a page's tokens in prompt order, h rows of w: begin, rows with a newline each, end."""
        merger = self.module.patch_merger
        newline = merger.after_rms(merger.mlp(merger.image_newline))
        begin, end = (merger.after_rms(edge)[None] for edge in (merger.image_begin, merger.image_end))
        rows = tokens_ND.view(grid.rows // grid.merge, -1, tokens_ND.shape[-1])
        ended = torch.cat([rows, newline.expand(len(rows), 1, -1)], dim=1)
        return torch.cat([begin, ended.flatten(0, 1), end])


class LightOnVision(PatchVision):
    """The encoder of a LightOnOcrModel, Pixtral's, and its projector, whose weights it shares."""

    def __init__(self, model: Any, **levels: Sequence[float]) -> None:
        self._vision, self._projector = model.vision_encoder, model.vision_projection
        super().__init__(
            nn.ModuleDict({"vision": self._vision, "projector": self._projector}),
            self._vision.patch_conv,
            PatchGeometry(
                patch_px=self._vision.config.patch_size, merge=model.config.spatial_merge_size, temporal=1
            ),
            width=model.config.text_config.hidden_size,
            **levels,
        )

    def encode(self, inputs: Tensors) -> Tensor:
        vision, projector = self._vision, self._projector
        # Rows have every other frequency, columns those between.
        turns = turns_of(inputs["positions"], *vision.patch_positional_embedding.inv_freq.chunk(2))
        hidden = vision.ln_pre(self.embedded(inputs))
        hidden = _through(vision.transformer.layers, hidden, turns, inputs)
        # A token's channels lie together, not its patches.
        squares = projector.norm(hidden).view(-1, self.geometry.merge**2, hidden.shape[-1])
        merged = projector.patch_merger.merging_layer(squares.transpose(1, 2).flatten(1))
        tokens: Tensor = projector.linear_2(projector.act(projector.linear_1(merged)))
        return tokens


def _through(blocks: Iterable[Any], hidden: Tensor, turns: Turns | None, inputs: Tensors) -> Tensor:
    """Returns the hidden states [P, W] after all layers, each patch seeing its own image."""
    images = _images(inputs)
    update: Tensor | None = None
    for block in blocks:
        hidden, update = _block(block, hidden, update, turns, images)
    return hidden if update is None else hidden + update


def _block(
    block: Any, hidden: Tensor, update: Tensor | None, turns: Turns | None, sequences: Sequences
) -> tuple[Tensor, Tensor]:
    """Returns the hidden states [P, W] and what this layer adds to them last. update: what the layer before does.

    turns: of positions, None for a model without rotary ones.
    """
    attention = _part(block, "attn", "self_attn", "attention")
    hidden, normed = add_norm(hidden, update, _part(block, "norm1", "layer_norm1", "attention_norm"))
    shape = len(hidden), attention.num_heads, -1
    if hasattr(attention, "qkv"):
        query, key, value = attention.qkv(normed).view(len(hidden), 3, attention.num_heads, -1).unbind(1)
    else:
        projections = attention.q_proj, attention.k_proj, attention.v_proj
        query, key, value = (projection(normed).view(shape) for projection in projections)
    if hasattr(attention, "q_norm"):  # before they are turned
        (_, query), (_, key) = add_norm(query, None, attention.q_norm), add_norm(key, None, attention.k_norm)
    if turns is not None:
        query, key = rotated(query, key, *turns)
    gathered = sequence_attention(query, key, value, sequences).reshape(len(hidden), -1)
    output = _part(attention, "proj", "o_proj", "out_proj")(gathered)
    hidden, normed = add_norm(hidden, output, _part(block, "norm2", "layer_norm2", "ffn_norm"))
    return hidden, feed_forward(_part(block, "mlp", "feed_forward"), normed)


def _part(module: Any, *names: str) -> Any:
    """Returns a submodule under the first of these names that it has."""
    return next(getattr(module, name) for name in names if hasattr(module, name))


def _images(inputs: Tensors) -> Sequences:
    """Returns the batch's images, or frames of videos, as sequences of patches.

    A graph has room for two sequences at least, each as long as all its rows, so none of its batches is filled.
    """
    offsets, longest = inputs["cu_seqlens"], inputs["longest"].shape[0]
    return Sequences(offsets, longest, filled=(len(offsets) - 1) * longest == len(inputs["positions"]))


def _square_product(hidden: Tensor, convolution: Any) -> Tensor:
    """Returns a convolution whose stride is its kernel over each token's square of patches: [P, W] -> [N, out].

    One matrix product: patches of a token lie together, row by row.
    """
    weight = convolution.weight
    squares = hidden.view(-1, hidden.shape[-1] * weight.shape[2] * weight.shape[3])
    return functional.linear(squares, weight.permute(0, 2, 3, 1).flatten(1), convolution.bias)
