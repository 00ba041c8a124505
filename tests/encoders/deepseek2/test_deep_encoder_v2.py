"""DeepSeek-OCR-2's encoder against transformers' class, with the same random weights."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from transformers import DeepseekOcr2Config
from transformers.models.deepseek_ocr2.modeling_deepseek_ocr2 import DeepseekOcr2Model

from encoders.deepseek.position_tables import TableCache
from encoders.deepseek2.deep_encoder_v2 import DeepEncoderV2, num_queries
from encoders.graphs.capturing.capture import Capture
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.square_views import SquareViewsEncoder
from encoders.types import VisionTokens
from encoders.views import PageViews
from ocr.model.random_weights import redraw
from tests.encoders.deepseek.test_deep_encoder import Recorder
from tests.encoders.graphs.eager_capture import Winning
from tests.ocr.tiny import relative_error

CPU = torch.device("cpu")
# 256 queries from 832 px on, 144 below. Real views have 1024 and 768 px.
GLOBAL_PX, TILE_PX = 832, 512


def tiny_config() -> DeepseekOcr2Config:
    """Windowed and global blocks with relative positions; grouped key heads."""
    return DeepseekOcr2Config(
        vision_config={
            "sam_config": {
                "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "mlp_dim": 48,
                "global_attn_indexes": [1], "output_channels": 16, "downsample_channels": [24, 32],
            },
            "encoder_config": {
                "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
                "num_key_value_heads": 2, "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0},
            },
        },
        text_config={
            "vocab_size": 16, "hidden_size": 40, "intermediate_size": 24, "num_hidden_layers": 1,
            "num_attention_heads": 2, "n_routed_experts": 2, "n_shared_experts": 1, "num_experts_per_tok": 1,
            "moe_intermediate_size": 8, "mlp_layer_types": ["dense"], "pad_token_id": 0,
        },
        image_token_id=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def theirs() -> DeepseekOcr2Model:
    model = DeepseekOcr2Model(tiny_config()).eval()
    redraw(model, seed=4)
    return model.requires_grad_(False)


@pytest.fixture(scope="module")
def ours(theirs: DeepseekOcr2Model) -> DeepEncoderV2:
    return DeepEncoderV2(theirs)


def random_page(seed: int, num_tiles: int = 0, size: int = GLOBAL_PX, tile: int = TILE_PX) -> PageViews:
    generator = np.random.default_rng(seed)
    return PageViews(
        global_view=generator.integers(0, 256, (3, size, size), dtype=np.uint8),
        local_views=generator.integers(0, 256, (num_tiles, 3, tile, tile), dtype=np.uint8),
        grid=(max(num_tiles, 1), 1),
    )


@torch.no_grad()
def expected_tokens(theirs: DeepseekOcr2Model, pages: Sequence[PageViews]) -> list[torch.Tensor]:
    tiles = [torch.from_numpy(page.local_views) for page in pages if page.num_tiles]
    features: list[torch.Tensor] = theirs.get_image_features(
        torch.stack([torch.from_numpy(page.global_view) for page in pages]) / 127.5 - 1,
        torch.cat(tiles) / 127.5 - 1 if tiles else None,
        num_local_patches=[page.num_tiles for page in pages],
    ).pooler_output
    return features


def read_pages(
    ours: DeepEncoderV2, pages: Sequence[PageViews], capture: Capture | None
) -> tuple[list[VisionTokens], dict[str, list[str]]]:
    encoder = SquareViewsEncoder(ours, global_px=GLOBAL_PX, tile_px=TILE_PX)
    manager = EncoderGraphManager(encoder.paths, GraphSettings(max_items=2, repeats=1), CPU, capture)
    manager.warm_up(dict(encoder.usual_axes))
    outputs, uses = {}, {}
    for path in encoder.paths:
        outputs[path.name], found = encoder.encode(manager, path.name, pages)
        uses[path.name] = [use for page in found for use in page]
    return encoder.assemble(pages, outputs), uses


@pytest.fixture(scope="module")
def pages() -> list[PageViews]:
    return [random_page(0, 2), random_page(1), random_page(2, 3)]


@pytest.fixture(scope="module")
def pages_tokens(theirs: DeepseekOcr2Model, pages: list[PageViews]) -> list[torch.Tensor]:
    return expected_tokens(theirs, pages)


@pytest.mark.parametrize("captured", [False, True])
def test_pages_equal_transformers(
    ours: DeepEncoderV2, pages: list[PageViews], pages_tokens: list[torch.Tensor], captured: bool
) -> None:
    found, uses = read_pages(ours, pages, Winning() if captured else None)
    for page, tokens, expected in zip(pages, found, pages_tokens, strict=True):
        assert tokens.tokens_TD.shape == expected.shape == (144 * page.num_tiles + 256 + 1, 40)
        assert relative_error(tokens.tokens_TD, expected) < 1e-5
        assert 0.3 < expected[:-1].std() < 5
    assert set(uses["global"]) == set(uses["local"]) == {"hit" if captured else "eager"}
    assert (len(uses["global"]), len(uses["local"])) == (3, 5)
    assert relative_error(found[0].tokens_TD[-257:], found[1].tokens_TD[-257:]) > 0.1, (
        "pages must not look alike"
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [512, 640, 768, 1024, 1280])
def test_views_of_every_size_equal_transformers(
    ours: DeepEncoderV2, theirs: DeepseekOcr2Model, size: int
) -> None:
    page = random_page(size, size=size)
    pixels = torch.from_numpy(page.global_view)[None]
    with torch.no_grad():
        tokens = ours.encode_views(pixels)[0]
    (expected,) = expected_tokens(theirs, [page])
    assert len(tokens) == num_queries((size // 64) ** 2) == len(expected) - 1
    assert relative_error(tokens, expected[:-1]) < 1e-5


def test_views_together_equal_views_alone(ours: DeepEncoderV2) -> None:
    """With gradients wanted all views share a forward, as on a GPU."""
    pixels = torch.from_numpy(random_page(5, 3).local_views)
    with torch.enable_grad():
        together = ours.encode_views(pixels)
    with torch.inference_mode():
        alone = ours.encode_views(pixels)
    assert relative_error(together, alone) < 1e-5


def test_weights_are_shared(ours: DeepEncoderV2, theirs: DeepseekOcr2Model) -> None:
    names = dict(ours.named_parameters())
    pairs = {
        "sam_model.blocks.2.norm1.weight": theirs.vision_tower.sam_encoder.layers[2].layer_norm1.weight,
        "sam_model.net_3.weight": theirs.vision_tower.sam_encoder.proj.conv2.weight,
    }
    for name, theirs_own in pairs.items():
        assert names[name].data_ptr() == theirs_own.data_ptr(), name
    assert ours.sam_model.config.global_layers == (1,)
    others = sum(weight.numel() for weight in theirs.language_model.parameters())
    assert sum(weight.numel() for weight in names.values()) == theirs.num_parameters() - others
    encoder = SquareViewsEncoder(ours)
    tensors = [*names.values(), *ours.buffers()]
    assert encoder.num_bytes == sum(tensor.nbytes for tensor in tensors)
    assert encoder.device == CPU


def test_a_prepared_forward_looks_at_no_value(ours: DeepEncoderV2) -> None:
    pixels = torch.zeros(1, 3, TILE_PX, TILE_PX, dtype=torch.uint8)
    forbidden = {
        "arange", "index", "nonzero", "_local_scalar_dense", "masked_fill", "upsample_linear1d", "cos",
    }  # fmt: skip
    ours._tables, ours.sam_model._tables = TableCache(), TableCache()
    with torch.no_grad(), Recorder() as unprepared:
        ours.encode_views(pixels)
    assert unprepared.ops & forbidden, "the recorder must see what is computed on the fly"
    tables = ours.prepare(TILE_PX)
    with torch.no_grad(), Recorder() as prepared:
        ours.encode_views(pixels)
    assert not prepared.ops & forbidden
    assert len(tables) == 1 + 3 + 3 * 2 + 1, "of the blocks only the global one has key axes"
