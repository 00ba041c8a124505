"""Makes DeepSeek-OCR-2's encoder at its published sizes with random weights, and what makes its views."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from encoders.deepseek2.deep_encoder_v2 import EncoderV2Config
from encoders.deepseek2.transformers_weights import encoder_of
from encoders.deepseek2.view_paths import TILE_PX, DeepSeek2VisionEncoder
from encoders.views import PageViews, UInt8Array
from ocr.imaging import tiling
from ocr.imaging.planes import planes_of
from ocr.imaging.resizing import resized
from pipeline.bench.encoding.encoder_subject import EncoderSubject
from pipeline.bench.random_model import draw

_STUB = {
    "vocab_size": 16, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 10,
    "n_routed_experts": 2, "n_shared_experts": 1, "num_experts_per_tok": 1, "moe_intermediate_size": 64,
    "mlp_layer_types": ["dense"], "pad_token_id": 0,
}  # fmt: skip


def deepseek2(
    device: torch.device, dtype: torch.dtype, size: EncoderV2Config | None = None
) -> EncoderSubject:
    """Returns the encoder; a stub stands for the language model. size: the published one by default."""
    model = _model(size or EncoderV2Config())
    draw(model, device, dtype)
    return EncoderSubject(
        encoder=DeepSeek2VisionEncoder(encoder_of(model)),
        view_maker=LargerTiles(),
        open_reference=lambda: DeepSeek2Reference(model),
    )


def _model(size: EncoderV2Config) -> Any:
    """Returns transformers' model on the meta device."""
    from transformers import DeepseekOcr2Config
    from transformers.models.deepseek_ocr2.modeling_deepseek_ocr2 import DeepseekOcr2Model

    sam, queries = size.sam, size.queries
    vision = {
        "sam_config": {
            "hidden_size": sam.width, "num_hidden_layers": sam.num_layers, "num_attention_heads": sam.num_heads,
            "mlp_dim": sam.mlp_dim, "global_attn_indexes": list(sam.global_layers),
            "output_channels": sam.neck_channels, "downsample_channels": list(sam.downsample_channels),
        },
        "encoder_config": {
            "hidden_size": queries.width, "intermediate_size": queries.mlp_dim,
            "num_hidden_layers": queries.num_layers, "num_attention_heads": queries.num_heads,
            "num_key_value_heads": queries.num_key_heads, "rms_norm_eps": queries.rms_norm_eps,
            "rope_parameters": {"rope_type": "default", "rope_theta": queries.rope_theta},
        },
    }  # fmt: skip
    text = {**_STUB, "hidden_size": size.embed_dim}
    with torch.device("meta"):
        return DeepseekOcr2Model(DeepseekOcr2Config(vision_config=vision, text_config=text, image_token_id=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class LargerTiles:
    """Makes a global view of 1024 px and tiles of 768 px, as DeepSeek-OCR does of 640 px. max_tiles: of a page."""

    max_tiles: int = 6

    @property
    def most_px(self) -> int:
        """The pixels of a page beyond which its views show no more of it."""
        return self.max_tiles * TILE_PX**2

    def __call__(self, pixels: UInt8Array, /) -> PageViews:
        """Returns the views of a page, [H, W, 3] uint8 RGB."""
        height, width, _ = pixels.shape
        columns, rows = tiling.choose_grid(width, height, self.max_tiles, TILE_PX)
        whole = tiling.views(pixels, "gundam", self.max_tiles, grid=(1, 1))
        if (columns, rows) == (1, 1):
            return whole
        canvas = resized(planes_of(pixels), TILE_PX * columns, TILE_PX * rows)
        tiles = canvas.reshape(3, rows, TILE_PX, columns, TILE_PX).transpose(1, 3, 0, 2, 4)
        local = np.ascontiguousarray(tiles).reshape(-1, 3, TILE_PX, TILE_PX)
        return PageViews(global_view=whole.global_view, local_views=local, grid=(columns, rows))


class DeepSeek2Reference:
    """Implements pipeline.bench.encoding.encoder_subject.Reference with transformers' model, whose weights ours are."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        tiles = [page.local_views for page in pages if page.num_tiles]
        found = self._model.get_image_features(
            self._normalised([page.global_view[None] for page in pages]),
            self._normalised(tiles) if tiles else None,
            num_local_patches=[page.num_tiles for page in pages],
        )
        return list(found.pooler_output)

    def num_forwards(self, pages: Sequence[PageViews]) -> int:
        return 1 + any(page.num_tiles for page in pages)

    def _normalised(self, views: Sequence[UInt8Array]) -> Tensor:
        like = self._model.view_separator
        pixels = torch.cat([torch.from_numpy(each) for each in views])
        return (pixels.to(like.device) / 127.5 - 1).to(like.dtype)
