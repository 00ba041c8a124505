from collections import Counter

import torch

from ocr.training.sampling_pages.loader import Batch, echoed


def batch(number: int) -> Batch:
    whole = torch.full((4,), number)
    return Batch(
        view="tile", grids=[(1, 1)], global_px=[(640, 640)], canvas=whole, ids=whole[None], token_index=whole[None],
        cells=whole,
    )  # fmt: skip


def drawn(times: int, seed: int = 1) -> list[int]:
    return [int(b.canvas[0]) for b in echoed((batch(n) for n in range(60)), times, seed, held=5)]


def test_every_batch_comes_once_where_nothing_is_repeated() -> None:
    assert drawn(1) == list(range(60))


def test_repeats_come_from_the_last_batches_and_are_the_same_on_every_rank() -> None:
    numbers = drawn(3)
    assert numbers == drawn(3) != drawn(3, seed=2)
    assert numbers[::3] == list(range(60))
    assert all(0 <= numbers[i - i % 3] - numbers[i] < 5 for i in range(len(numbers)))
    assert max(Counter(numbers).values()) < 14
