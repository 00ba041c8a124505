import dataclasses

import pytest
import torch

from encoders.deepseek import CharacterHeadConfig, DeepEncoder
from encoders.deepseek_paths import PagesEncoder, deepseek_paths
from encoders.graphs.capture import Capture, EagerCapture
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.types import VisionTokens
from encoders.views import PageViews
from ocr.random_weights import redraw
from tests.encoders.test_deepseek import random_page
from tests.ocr.tiny import TINY, relative_error, tiny_model

CPU = torch.device("cpu")
GRIDS = [(1, 1), (2, 1), (1, 1), (2, 3), (1, 3)]


class Winning(EagerCapture):
    """Every replay seems faster than eager."""

    def __init__(self) -> None:
        super().__init__(CPU, poison=True)
        self._timed = 0

    def measure(self, run: object, repeats: int) -> float:
        """Sizes are timed eagerly first, then replayed."""
        self._timed += 1
        return 1.0 / self._timed


def pages_encoder(
    encoder: DeepEncoder, capture: Capture | None, **settings: object
) -> tuple[PagesEncoder, EncoderGraphManager]:
    paths = deepseek_paths(encoder, global_px=512)
    manager = EncoderGraphManager(paths, GraphSettings(**settings), CPU, capture)  # type: ignore[arg-type]
    manager.warm_up({"global": [512], "local": [640]})
    return PagesEncoder(encoder, paths, manager), manager


def assert_same(ours: list[VisionTokens], expected: list[VisionTokens]) -> None:
    for mine, other in zip(ours, expected, strict=True):
        assert relative_error(mine.tokens_TD, other.tokens_TD) < 1e-5
        assert (mine.num_local, mine.grid) == (other.num_local, other.grid)
        if other.cells_HW is None:
            assert mine.cells_HW is None
        else:
            assert mine.cells_HW is not None
            assert mine.cells_HW.shape == other.cells_HW.shape
            assert (mine.cells_HW == other.cells_HW).float().mean() > 0.999


@pytest.fixture(scope="module")
def pages() -> list[PageViews]:
    return [random_page(seed, grid=grid) for seed, grid in enumerate(GRIDS)]


@pytest.fixture(scope="module")
def reading_encoder() -> DeepEncoder:
    head = CharacterHeadConfig(num_characters=9, hidden=6)
    encoder = DeepEncoder(dataclasses.replace(TINY.encoder, character_head=head)).eval()
    redraw(encoder, seed=3)
    return encoder.requires_grad_(False)


@pytest.mark.parametrize("with_head", [True, False])
def test_pages_through_graphs_equal_the_encoder(
    reading_encoder: DeepEncoder, pages: list[PageViews], with_head: bool
) -> None:
    encoder = reading_encoder if with_head else tiny_model().encoder
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


def test_without_graphs_the_same_bits_as_the_encoder(
    reading_encoder: DeepEncoder, pages: list[PageViews]
) -> None:
    through, manager = pages_encoder(reading_encoder, None, max_items=32)
    for ours, expected in zip(through.encode(pages), reading_encoder.encode(pages), strict=True):
        assert torch.equal(ours.tokens_TD, expected.tokens_TD)
        assert ours.cells_HW is not None
        assert expected.cells_HW is not None
        assert torch.equal(ours.cells_HW, expected.cells_HW)
    assert manager.stats()["local"].eager_batches == 1


def test_each_path_says_how_its_views_ran(reading_encoder: DeepEncoder) -> None:
    through, _ = pages_encoder(reading_encoder, Winning(), max_items=2, repeats=1)
    mixed = [random_page(0, grid=(2, 1)), random_page(1, size=640), random_page(2)]
    global_views, global_uses = through.encode_global(mixed)
    local_views, local_uses = through.encode_local(mixed)
    assert global_uses == [["hit"], ["miss"], ["hit"]], "views of 640 px were not warmed up"
    assert local_uses == [["hit", "hit"], [], []]
    assert [views.cells is None for views in global_views] == [True, False, False]
    assert [len(views.tokens_NTD) for views in local_views] == [2, 0, 0]


def test_changed_weights_are_noticed() -> None:
    encoder = tiny_model(seed=5).encoder
    page = random_page(0)
    through, manager = pages_encoder(encoder, Winning(), max_items=1, repeats=1)
    through.encode([page])
    encoder.train(False)  # the tables are made anew, and are the same
    assert_same(through.encode([page]), encoder.encode([page]))
    assert manager.stats()["global"].stale_graphs == 0
    redraw(encoder, seed=6)
    assert_same(through.encode([page]), encoder.encode([page]))
    stats = manager.stats()["global"]
    assert (stats.stale_graphs, stats.recaptures, stats.hits) == (1, 1, 3)
