"""Memory shared with workers: values come back as they were, and their place is used again."""

import gc
import os
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from encoders.views import PageViews
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.ingest.workers import shared_memory as module
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.ingest.workers.shared_memory import Arena, Packed, pack
from pipeline.run.budget import heaviest_page_bytes
from pipeline.types import Page, RenderedPage
from storage.types import PageError

SAMPLES = Path(__file__).parents[3] / "samples"
pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="Linux only")


def views(seed: int) -> PageViews:
    rng = np.random.default_rng(seed)
    return PageViews(
        global_view=rng.integers(0, 255, (3, 64, 64), np.uint8),
        local_views=rng.integers(0, 255, (2, 3, 32, 32), np.uint8),
        grid=(2, 1),
    )


def used_bytes(arena: Arena) -> int:
    return os.fstat(arena._file).st_blocks * 512


@pytest.mark.slow
def test_a_value_comes_back_as_it_was_and_its_slot_is_used_again() -> None:
    arena = Arena(1 << 16)
    slot = arena.lend()
    packed = pack(views(0), slot)
    assert isinstance(packed, Packed)
    assert len(packed.data) < 1000, "the arrays are not in it"
    found = arena.unpack(slot, packed)
    expected = views(0)
    np.testing.assert_array_equal(found.global_view, expected.global_view)
    np.testing.assert_array_equal(found.local_views, expected.local_views)
    assert found.grid == (2, 1)
    assert used_bytes(arena) > 0

    kept = found.local_views
    del found
    gc.collect()
    assert arena.lend().offset != slot.offset, "an array of it is still in use"
    np.testing.assert_array_equal(kept, expected.local_views)
    del kept
    gc.collect()
    assert used_bytes(arena) == 0
    assert arena.lend() == slot


def test_values_that_do_not_fit_or_have_no_arrays_go_as_they_are() -> None:
    arena = Arena(1)
    slot = arena.lend()
    large = np.zeros(slot.num_bytes + 1, np.uint8)
    assert pack(large, slot) is large
    assert pack("text", slot) == "text"
    assert pack(large, None) is large
    assert arena.unpack(slot, large) is large
    assert arena.lend() == slot


def test_a_slot_that_cannot_be_opened_is_no_fault() -> None:
    value = views(1)
    assert pack(value, module.Slot("/proc/0/fd/0", 0, 1 << 16)) is value


def test_many_values_at_once_keep_apart() -> None:
    arena = Arena(1 << 16)
    slots = [arena.lend() for _ in range(8)]
    packed = [pack(views(seed), slot) for seed, slot in enumerate(slots)]
    for seed, (slot, value) in enumerate(zip(slots, packed, strict=True)):
        np.testing.assert_array_equal(arena.unpack(slot, value).global_view, views(seed).global_view)


def test_arrays_outlive_the_arena_and_do_no_harm_when_they_go(tmp_path: Path) -> None:
    arena = Arena(1 << 16)
    slot = arena.lend()
    found = arena.unpack(slot, pack(views(2), slot))
    number = arena._file
    arena.close()
    arena.close()
    other = tmp_path / "other"
    other.write_bytes(b"x" * (1 << 17))
    with other.open("r+b", buffering=0) as file:
        assert file.fileno() == number, "the number of the arena's file stands for another by now"
        np.testing.assert_array_equal(found.local_views, views(2).local_views)
        del found
        gc.collect()
    assert other.read_bytes() == b"x" * (1 << 17)


def test_slots_run_out_without_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_SLOTS", 2)
    arena = Arena(1 << 16)
    assert [arena.lend() is None for _ in range(4)] == [False, False, True, True]


def test_without_such_memory_there_is_no_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    assert Arena.where_possible(1 << 16) is None


@pytest.fixture(scope="module")
def pools():
    layout = TileSettings(mode="gundam")
    settings = {"ingest": IngestSettings(), "render": RenderSettings(), "tile": layout}
    with (
        WorkerPool(max_workers=1, **settings) as piped,
        WorkerPool(max_workers=1, **settings, page_bytes=heaviest_page_bytes(layout)) as shared,
    ):
        yield piped, shared


def rendered(future: "Future[object]") -> RenderedPage:
    page = future.result(timeout=120)
    assert isinstance(page, RenderedPage)
    return page


@pytest.mark.slow
def test_workers_give_the_same_pages_through_it(pools: tuple[WorkerPool, WorkerPool]) -> None:
    piped, shared = pools
    page = Page(path=str(SAMPLES / "report.pdf"), sha256="0" * 64, kind="pdf", page_index=1)
    expected, found = rendered(piped.render(page)), rendered(shared.render(page))
    np.testing.assert_array_equal(found.views.global_view, expected.views.global_view)
    np.testing.assert_array_equal(found.views.local_views, expected.views.local_views)
    assert found.text_layer == expected.text_layer
    assert not found.views.local_views.flags.owndata
    arena = shared.arena
    assert arena is not None
    gc.disable()
    try:
        del found
        for _ in range(3):
            rendered(shared.render(page))
        # The pool's own loop holds on to the task that came last.
        assert len(arena._free) + 1 >= next(arena._fresh) == 2, "no cycle keeps a page's views"
    finally:
        gc.enable()
    missing = Page(path="nothing.pdf", sha256="0" * 64, kind="pdf", page_index=0)
    assert isinstance(shared.render(missing).result(timeout=60), PageError)
