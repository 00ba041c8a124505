from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import UnlimitedOcrForConditionalGeneration

from encoders.deepseek.deep_encoder import DeepEncoder
from encoders.views import PageViews
from ocr.model.random_weights import redraw
from tests.ocr.saving import save
from tests.ocr.tiny import TINY, reference_model, relative_error, tiny_model


@pytest.fixture(scope="module")
def encoder() -> DeepEncoder:
    return tiny_model().encoder


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> UnlimitedOcrForConditionalGeneration:
    directory: Path = tmp_path_factory.mktemp("tiny")
    save(tiny_model(), directory)
    return reference_model(directory, TINY)


def random_page(seed: int, *, size: int = 512, grid: tuple[int, int] = (1, 1)) -> PageViews:
    generator = np.random.default_rng(seed)
    num_tiles = 0 if grid == (1, 1) else grid[0] * grid[1]
    return PageViews(
        global_view=generator.integers(0, 256, (3, size, size), dtype=np.uint8),
        local_views=generator.integers(0, 256, (num_tiles, 3, 640, 640), dtype=np.uint8),
        grid=grid,
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [512, 640, 1024, 1280])
def test_vision_tower_equals_transformers(
    encoder: DeepEncoder, reference: UnlimitedOcrForConditionalGeneration, size: int
) -> None:
    generator = torch.Generator().manual_seed(size)
    pixels = torch.randint(0, 256, (2, 3, size, size), dtype=torch.uint8, generator=generator)
    with torch.no_grad():
        ours = encoder.encode_views(pixels)
        tower = reference.model.vision_tower(pixels[:1] / 127.5 - 1).last_hidden_state
        theirs = reference.model.multi_modal_projector(tower)
    error, apart = relative_error(ours[:1], theirs), relative_error(ours[:1], ours[1:])
    assert error < 1e-4, f"{size} px differ by {error:.2e}"
    assert 0.3 < theirs.std() < 5
    assert apart > 0.1, "two images must not look alike to this model, or equality shows nothing"


@pytest.mark.slow
def test_assembled_pages_equal_transformers(
    encoder: DeepEncoder, reference: UnlimitedOcrForConditionalGeneration
) -> None:
    pages = [random_page(0, grid=(2, 1)), random_page(1), random_page(2, grid=(1, 3))]
    with torch.no_grad():
        ours = encoder.encode(pages)
        theirs = reference.model.get_image_features(
            torch.stack([torch.from_numpy(page.global_view) for page in pages]) / 127.5 - 1,
            torch.cat([torch.from_numpy(page.local_views) for page in pages]) / 127.5 - 1,
            num_local_patches=[2, 0, 3],
            patches_grid=[[2, 1], [1, 1], [1, 3]],
        ).pooler_output
    for vision, page, expected in zip(ours, pages, theirs, strict=True):
        error = relative_error(vision.tokens_TD, expected)
        assert error < 1e-4, f"grid {page.grid} differs by {error:.2e}"
        columns, rows = page.grid
        num_local = 10 * rows * (10 * columns + 1) if page.num_tiles else 0
        assert len(vision.tokens_TD) == num_local + 8 * 9 + 1


def test_rasters_run_across_the_page(encoder: DeepEncoder) -> None:
    """Every token of a tile carries its place on the page; read back in order, places must run row by row."""
    columns, rows, D = 3, 2, encoder.image_newline.numel()
    y, x = torch.meshgrid(torch.arange(rows * 10), torch.arange(columns * 10), indexing="ij")
    place = (y * columns * 10 + x).float()
    tiles = place.view(rows, 10, columns, 10).transpose(1, 2).reshape(rows * columns, 100, 1)
    tokens = encoder.assemble(torch.full((64, D), -1.0), tiles.expand(-1, -1, D), (columns, rows)).tokens_TD
    raster = tokens[: rows * 10 * (columns * 10 + 1)].view(rows * 10, columns * 10 + 1, D)
    assert torch.equal(raster[:, :-1, 0], place)
    assert (raster[:, -1] == encoder.image_newline).all()
    assert torch.equal(tokens[-1], encoder.view_seperator)


class Recorder(TorchDispatchMode):
    """ops: the operators that ran."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ops.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_a_prepared_forward_does_no_index_work() -> None:
    encoder = tiny_model().encoder
    pixels = torch.zeros(1, 3, 640, 640, dtype=torch.uint8)
    forbidden = {
        "arange", "index", "nonzero", "_local_scalar_dense", "_upsample_bicubic2d_aa", "upsample_linear1d",
    }  # fmt: skip
    with torch.no_grad(), Recorder() as unprepared:
        encoder.encode_views(pixels)
    assert unprepared.ops & forbidden, "the recorder must see what is computed on the fly"
    encoder = tiny_model().encoder
    encoder.prepare(640)
    with torch.no_grad(), Recorder() as prepared:
        encoder.encode_views(pixels)
    assert not prepared.ops & forbidden


def test_tables_follow_the_weights() -> None:
    encoder = tiny_model(seed=1).encoder
    pixels = random_page(0).global_view
    with torch.no_grad():
        before = encoder.encode_views(torch.from_numpy(pixels)[None])
        redraw(encoder, seed=2)
        after = encoder.encode_views(torch.from_numpy(pixels)[None])
    fresh = DeepEncoder(TINY.encoder).eval()
    fresh.load_state_dict(encoder.state_dict())
    with torch.no_grad():
        expected = fresh.encode_views(torch.from_numpy(pixels)[None])
    assert torch.equal(after, expected)
    assert relative_error(after, before) > 0.1


@torch.no_grad()
def test_convolutions_alone_are_laid_out_for_tensor_cores() -> None:
    encoder = tiny_model().encoder
    pixels = torch.randint(0, 256, (2, 3, 512, 512), dtype=torch.uint8)
    before = encoder.encode_views(pixels)
    patches = encoder.sam_model.patch_embed.proj
    encoder.store_channels_last()
    convolutions = [module for module in encoder.modules() if isinstance(module, torch.nn.Conv2d)]
    weights = [module.weight for module in convolutions if module is not patches]
    assert len(weights) == 4
    assert all(weight.is_contiguous(memory_format=torch.channels_last) for weight in weights)
    others = [p for p in encoder.parameters() if not any(p is weight for weight in weights)]
    assert all(parameter.is_contiguous() for parameter in others)
    assert patches.weight.flatten(1).data_ptr() == patches.weight.data_ptr(), (
        "used as a matrix, without a copy"
    )
    assert relative_error(encoder.encode_views(pixels), before) < 1e-5


@torch.inference_mode()
def test_on_a_cpu_a_view_is_encoded_alone_whatever_its_batch(encoder: DeepEncoder) -> None:
    pixels = torch.randint(0, 256, (3, 3, 512, 512), dtype=torch.uint8)
    for view, its_tokens in zip(pixels, encoder.encode_views(pixels), strict=True):
        assert torch.equal(encoder.encode_views(view[None])[0], its_tokens)
