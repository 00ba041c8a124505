from collections.abc import Sequence

import numpy as np
import pytest
import torch

from encoders.deepseek.clip import ClipConfig
from encoders.deepseek.deep_encoder import DeepEncoder, EncoderConfig
from encoders.deepseek.position_tables import TableCache
from encoders.deepseek.sam import SamConfig
from encoders.graphs.capturing.capture import Capture, CudaGraphCapture
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.square_views import SquareViewPath, SquareViewsEncoder
from encoders.types import VisionTokens
from encoders.views import PageViews
from ocr.model.random_weights import redraw
from tests.encoders.deepseek.test_deep_encoder import random_page
from tests.encoders.graphs.eager_capture import Winning, poisoned
from tests.ocr.tiny import TINY, relative_error, tiny_model

CPU = torch.device("cpu")
# Two float32 forwards that only sum in different orders are so far apart at most: eps times the square roots of the
# lengths of all sums that lie one behind the other. A rounding to bfloat16 is 4e-3.
ROUNDING = 6.7e-5
GRIDS = [(1, 1), (2, 1), (1, 1), (2, 3), (1, 3)]


class Through:
    """Whole pages: both paths, and their tokens put together."""

    def __init__(self, encoder: SquareViewsEncoder, manager: EncoderGraphManager) -> None:
        self.encoder, self.manager = encoder, manager

    def encode(self, pages: Sequence[PageViews]) -> list[VisionTokens]:
        names = self.encoder.path_names
        return self.encoder.assemble(
            pages, {name: self.encoder.encode(self.manager, name, pages)[0] for name in names}
        )


def pages_encoder(
    encoder: DeepEncoder, capture: Capture | None, device: torch.device = CPU, **settings: object
) -> tuple[Through, EncoderGraphManager]:
    vision = SquareViewsEncoder(encoder, global_px=512)
    assert vision.usual_axes == {"global": [512], "local": [640]}
    manager = EncoderGraphManager(vision.paths, GraphSettings(**settings), device, capture)  # type: ignore[arg-type]
    manager.warm_up(vision.usual_axes)
    return Through(vision, manager), manager


def assert_same(ours: list[VisionTokens], expected: list[VisionTokens]) -> None:
    for mine, other in zip(ours, expected, strict=True):
        assert relative_error(mine.tokens_TD, other.tokens_TD) < 1e-5


@pytest.fixture(scope="module")
def pages() -> list[PageViews]:
    return [random_page(seed, grid=grid) for seed, grid in enumerate(GRIDS)]


@pytest.fixture(scope="module")
def drawn_encoder() -> DeepEncoder:
    encoder = DeepEncoder(TINY.encoder).eval()
    redraw(encoder, seed=3)
    return encoder.requires_grad_(False)


@pytest.mark.slow
def test_pages_through_graphs_equal_the_encoder(pages: list[PageViews]) -> None:
    encoder = tiny_model().encoder
    expected = encoder.encode(pages)
    through, manager = pages_encoder(encoder, Winning(), max_items=4, repeats=1)
    assert_same(through.encode(pages), expected)
    stats = manager.stats()
    assert stats["global"].budgets == {"512": [64, 128, 256]}
    assert stats["local"].budgets == {"640": [100, 200, 400]}
    assert (stats["global"].hits, stats["local"].hits) == (5, 11)
    assert stats["local"].replays >= 3
    assert_same(through.encode(pages[:1]), expected[:1])
    assert stats["local"].hits == 11, "a page without tiles has no work on that path"
    assert through.encode([]) == []


@pytest.mark.slow
def test_without_graphs_the_same_bits_as_the_encoder(
    drawn_encoder: DeepEncoder, pages: list[PageViews]
) -> None:
    """Both without gradients: then both take one view after the other, in the same kernels on the same shapes."""
    through, manager = pages_encoder(drawn_encoder, None, max_items=32)
    with torch.inference_mode():
        encoded = drawn_encoder.encode(pages)
    for ours, expected in zip(through.encode(pages), encoded, strict=True):
        assert torch.equal(ours.tokens_TD, expected.tokens_TD)
    assert manager.stats()["local"].eager_batches == 1


@pytest.mark.slow
def test_views_that_share_a_batch_differ_by_rounding_alone(
    drawn_encoder: DeepEncoder, pages: list[PageViews]
) -> None:
    """With gradients all views of a path share one forward; kernels then sum in other orders, as the CPU has them."""
    alone, _ = pages_encoder(drawn_encoder, None, max_items=32)
    with torch.enable_grad():
        together = drawn_encoder.encode(pages)
    for ours, other in zip(alone.encode(pages), together, strict=True):
        assert relative_error(ours.tokens_TD, other.tokens_TD) < ROUNDING


def test_each_path_says_how_its_views_ran(drawn_encoder: DeepEncoder) -> None:
    through, _ = pages_encoder(drawn_encoder, Winning(), max_items=2, repeats=1)
    mixed = [random_page(0, grid=(2, 1)), random_page(1, size=640), random_page(2)]
    global_views, global_uses = through.encoder.encode(through.manager, "global", mixed)
    local_views, local_uses = through.encoder.encode(through.manager, "local", mixed)
    assert global_uses == [["hit"], ["miss"], ["hit"]], "views of 640 px were not warmed up"
    assert local_uses == [["hit", "hit"], [], []]
    assert [len(page) for page in global_views] == [1, 1, 1]
    assert [len(page) for page in local_views] == [2, 0, 0]


def test_changed_weights_are_noticed() -> None:
    encoder = tiny_model(seed=5).encoder
    page = random_page(0)
    through, manager = pages_encoder(encoder, Winning(), max_items=1, repeats=1)
    through.encode([page])
    encoder.sam_model._tables = TableCache()  # the tables are made anew, and are the same
    assert_same(through.encode([page]), encoder.encode([page]))
    assert manager.stats()["global"].stale_graphs == 0
    redraw(encoder, seed=6)
    assert_same(through.encode([page]), encoder.encode([page]))
    stats = manager.stats()["global"]
    assert (stats.stale_graphs, stats.recaptures, stats.hits) == (1, 1, 3)


def test_example_views_are_windows_of_one_noise(drawn_encoder: DeepEncoder) -> None:
    path = SquareViewPath("global", drawn_encoder, 1024)
    units = path.examples(1024, 32 * 256 + 100)
    views = [unit.inputs["pixels"] for unit in units]
    assert [view.shape for view in views] == [(1, 3, 1024, 1024)] * 32
    assert len({view.untyped_storage().data_ptr() for view in views}) == 1, "one draw, no copies"
    assert all(view.is_contiguous() for view in views)
    for view in views[1:]:
        assert torch.ne(view, views[0]).float().mean() > 0.99
    path.check(units[0])


def test_units_share_the_pages_memory(drawn_encoder: DeepEncoder, pages: list[PageViews]) -> None:
    path = SquareViewPath("global", drawn_encoder, 1024)
    tiles = pages[3].local_views
    units = path.units(tiles) + path.units(pages[1].local_views)
    assert units[2].inputs["pixels"].data_ptr() == tiles[2].ctypes.data
    assert np.array_equal(units[5].inputs["pixels"][0].numpy(), tiles[5])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_graphs_on_a_gpu_equal_the_encoder() -> None:
    """bfloat16 and heads of 64, as the kernels want them; pages of all kinds, over and over."""
    device = torch.device("cuda")
    config = EncoderConfig(
        sam=SamConfig(
            width=128, num_layers=3, num_heads=2, mlp_dim=256, global_layers=(1,), neck_channels=64,
            downsample_channels=(64, 128),
        ),
        clip=ClipConfig(width=128, num_layers=2, num_heads=2, mlp_dim=256),
        embed_dim=256,
    )  # fmt: skip
    encoder = DeepEncoder(config).eval()
    redraw(encoder, seed=3)
    encoder = encoder.to(device, torch.bfloat16).requires_grad_(False)
    capture = poisoned(CudaGraphCapture(device))
    through, manager = pages_encoder(encoder, capture, device, graphs="on", max_items=8, parity_every=5)
    rounds = [
        [random_page(10 * turn + seed, grid=grid) for seed, grid in enumerate(GRIDS)] for turn in range(3)
    ]
    ours = [through.encode(round_) for round_ in rounds]  # compared only when all are under way
    for mine, round_ in zip(ours, rounds, strict=True):
        with torch.no_grad():
            expected = encoder.encode(round_)
        for page, other in zip(mine, expected, strict=True):
            assert relative_error(page.tokens_TD.float(), other.tokens_TD.float()) < 2e-2
        apart = relative_error(mine[0].tokens_TD.float(), mine[2].tokens_TD.float())
        assert apart > 0.1, "two pages must not look alike to this model, or equality shows nothing"
    for stats in manager.stats().values():
        assert stats.hits > 0
        assert (stats.nan_traps, stats.parity_failures, stats.stale_graphs, stats.misses) == (0, 0, 0, 0)
    manager.close()
