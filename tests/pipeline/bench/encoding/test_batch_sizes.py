"""The batches that requests make, and the sizes fitted to them."""

import itertools
from collections import Counter
from collections.abc import Hashable

import numpy as np

from encoders.graphs.settings import GraphSettings
from encoders.minicpm.slices_encoder import SlicesEncoder
from encoders.square_views import SquareViewsEncoder
from pipeline.bench.encoding.batch_sizes import batch_sizes, fitted_budgets
from tests.encoders.deepseek.test_deep_encoder import random_page
from tests.encoders.minicpm.tiny_vision import tiny_parts
from tests.ocr.tiny import tiny_model


def slices() -> SlicesEncoder:
    return tiny_parts("2.6")[0]


def test_tiles_of_all_pages_go_together_in_full_batches() -> None:
    encoder = SquareViewsEncoder(tiny_model().encoder)
    pages = [random_page(seed, grid=(3, 1)) for seed in range(3)]
    seen = batch_sizes(encoder, [pages[:2], pages[2:]], GraphSettings(max_items=4))
    side = pages[0].global_view.shape[-1]
    assert seen["local", 640] == {400: 1, 200: 1, 300: 1}
    assert seen["global", side] == {2 * (side // 64) ** 2: 1, (side // 64) ** 2: 1}


def test_fitted_sizes_pad_least_of_all_choices() -> None:
    encoder = slices()
    least = encoder.paths[0].least_tokens
    counts = np.random.default_rng(0).integers(1, 9, 8).tolist()
    histogram = Counter({least * size: count for size, count in zip(range(1, 16, 2), counts, strict=True)})
    seen: dict[tuple[str, Hashable], dict[int, int]] = {
        ("slices", "a"): dict(histogram),
        ("other", "b"): {7: 3},
    }
    (chosen,) = fitted_budgets(encoder, seen, max_graphs=3).values()

    def padding(sizes: tuple[int, ...]) -> float:
        if max(sizes) < max(histogram):
            return float("inf")
        return sum((min(s for s in sizes if s >= n) - n) * count for n, count in histogram.items())

    best = min(padding(choice) for choice in itertools.combinations(sorted(histogram), 3))
    assert padding(tuple(chosen)) == best
    assert fitted_budgets(encoder, {}, 3) == {}
