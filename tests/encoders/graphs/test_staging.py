import logging

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from encoders.graphs.capturing.buffers import StaticBuffers
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import GraphPath
from encoders.graphs.settings import GraphSettings
from encoders.graphs.staging import ALIGNMENT_BYTES, Staging
from tests.encoders.graphs.streams import LazyTransfers
from tests.encoders.graphs.test_manager import assert_as_alone
from tests.encoders.graphs.toys import CPU, SequencePath, SlicePath, ToyCapture, ViewPath

Pieces = dict[str, list[Tensor]]


def pieces_of(seed: int, rows: list[int]) -> Pieces:
    """Inputs of different types and lengths, one of them a byte wide, so that the next must be aligned."""
    generator = torch.Generator().manual_seed(seed)
    return {
        "mask": [torch.rand(count, 3, generator=generator) < 0.5 for count in rows],
        "pixels": [
            torch.randint(0, 256, (count, 2, 5), dtype=torch.uint8, generator=generator) for count in rows
        ],
        "offsets": [torch.tensor([0]), torch.tensor(rows).cumsum(0)],
        "patches": [torch.randn(2 * count, 7, generator=generator) for count in rows],
        "positions": [torch.randn(count, generator=generator).bfloat16() for count in rows],
    }


def empty_targets(pieces: Pieces, extra: int = 2) -> dict[str, Tensor]:
    joined = {name: torch.cat(parts) for name, parts in pieces.items()}
    return {
        name: torch.full((len(value) + extra, *value.shape[1:]), 9, dtype=value.dtype)
        for name, value in joined.items()
    }


def assert_laid(pieces: Pieces, targets: dict[str, Tensor]) -> None:
    for name, parts in pieces.items():
        whole = torch.cat(parts)
        assert torch.equal(targets[name][: len(whole)], whole), name
        assert (targets[name][len(whole) :] == torch.tensor(9).to(whole.dtype)).all(), "rows behind stay"


@pytest.mark.slow
@pytest.mark.parametrize("eager_copies", [False, True])
@given(
    batches=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), max_size=9),
    num_slots=st.integers(1, 3),
)
def test_no_batch_under_way_is_overwritten(
    eager_copies: bool, batches: list[list[int]], num_slots: int
) -> None:
    """The host is as far ahead as it may be, the streams as late; then the copies as early as they may be."""
    transfers = LazyTransfers(eager_copies=eager_copies)
    staging = Staging(transfers, num_slots)
    written = []
    for seed, rows in enumerate(batches):
        pieces = pieces_of(seed, rows)
        kept = {name: [part.clone() for part in parts] for name, parts in pieces.items()}
        targets = empty_targets(pieces)
        staging.write(pieces, targets)
        for part in pieces["pixels"]:
            part.zero_()  # the caller may do so at once
        written.append((kept, targets))
    transfers.finish()
    for kept, targets in written:
        assert_laid(kept, targets)
    assert len(transfers.sent) == len(batches), "one copy a batch, whatever its inputs are"


def test_the_host_waits_for_nothing_but_a_free_slot() -> None:
    transfers = LazyTransfers()
    staging = Staging(transfers, num_slots=2)
    pieces = pieces_of(0, [3])
    for _ in range(2):
        staging.write(pieces, empty_targets(pieces))
    assert (transfers.copies.done, transfers.compute.done) == (0, 0), "two batches, and nothing has run yet"
    staging.write(pieces, empty_targets(pieces))
    assert transfers.copies.done == 2, "the first slot's wait for its memory, and its copy"
    assert transfers.compute.done == 0
    staging.close()
    assert transfers.copies.done == len(transfers.copies.work), "memory is not freed under a copy"


def test_slots_grow_together_to_the_largest_batch() -> None:
    transfers = LazyTransfers()
    staging = Staging(transfers, num_slots=2)
    written = []
    for seed, count in enumerate((1, 4, 2, 4, 1, 3)):
        pieces = pieces_of(seed, [count])
        targets = empty_targets(pieces)
        staging.write(pieces, targets)
        written.append((pieces, targets))
    transfers.finish()
    for pieces, targets in written:
        assert_laid(pieces, targets)
    assert len(transfers.pinned) == 4, "both slots for the first batch, and for the second"
    assert staging.num_bytes == sum(transfers.pinned[2:])
    assert transfers.pinned[-1] > 4 * ALIGNMENT_BYTES
    staging.close()
    assert staging.num_bytes == 0


def test_inputs_in_device_memory_are_not_staged() -> None:
    transfers = LazyTransfers()
    staging = Staging(transfers)
    meta = torch.empty(2, 3, device="meta")
    staging.write({"there": [meta]}, {"there": torch.empty(4, 3, device="meta")})
    staging.write({"nothing": [torch.empty(0, 3)]}, {"nothing": torch.empty(4, 3)})
    assert transfers.sent == []
    here = {"here": [torch.ones(2, 3)], "there": [meta]}
    targets = {"here": torch.zeros(4, 3), "there": torch.empty(4, 3, device="meta")}
    staging.write(here, targets)
    transfers.finish()
    assert transfers.sent == [24]
    assert targets["here"].sum() == 6


def test_without_pinned_memory_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    transfers = LazyTransfers(no_pinned=True)
    staging = Staging(transfers)
    for count in (1, 2, 3):
        pieces = pieces_of(count, [count])
        targets = empty_targets(pieces)
        with caplog.at_level(logging.WARNING):
            staging.write(pieces, targets)
        transfers.finish()
        assert_laid(pieces, targets)
    assert caplog.text.count("no pinned memory") == 1


def test_a_batch_too_large_for_the_device_leaves_staging_usable() -> None:
    transfers = LazyTransfers(no_room=2000)
    staging = Staging(transfers)
    large, small = pieces_of(0, [40]), pieces_of(1, [2])
    staging.write(small, empty_targets(small))
    with pytest.raises(torch.OutOfMemoryError):
        staging.write(large, empty_targets(large))
    targets = empty_targets(small)
    staging.write(small, targets)
    transfers.finish()
    assert_laid(small, targets)


class Prompt(LazyTransfers):
    """Streams that are done with everything at once, for a manager whose forwards run on the host."""

    def lay(self, target: Tensor, source: Tensor) -> None:
        super().lay(target, source)
        self.finish()


@pytest.mark.parametrize("path", [ViewPath("v"), SlicePath(), SequencePath()], ids=lambda path: path.name)
def test_padding_is_restored_behind_staged_inputs(path: GraphPath) -> None:
    axis = {"v": 8, "slices": 12, "sequences": "any"}[path.name]
    used = StaticBuffers(path, axis, 64, CPU)
    fresh = StaticBuffers(path, axis, 64, CPU)
    staging = Staging(Prompt())
    many, few = path.examples(axis, 48), path.examples(axis, 16)
    used.write(many, staging)
    used.write(few, staging)
    fresh.write(few)
    for name, tensor in fresh.inputs.items():
        assert torch.equal(used.inputs[name], tensor), name


def test_a_manager_stages_replays_and_eager_batches_alike() -> None:
    views, sequences = ViewPath(), SequencePath()
    sequences.clock = views.clock
    transfers = Prompt()
    staging = Staging(transfers)
    settings = GraphSettings(max_items=4, budgets={"global": [64], "sequences": [32]}, repeats=1)
    manager = EncoderGraphManager([views, sequences], settings, CPU, ToyCapture(views.clock), staging)
    manager.warm_up({"global": [8], "sequences": ["any"]})
    before = len(transfers.sent)
    # Timed alike, once and once uncounted: 4 sizes eagerly and 1 replayed, 8 and 1; then both arms compared.
    assert before == 2 * (4 + 1) + 2 + 2 * (8 + 1) + 2
    units = {
        "global": [views.unit(8, seed) for seed in range(6)] + [views.unit(12, 0)],
        "sequences": [sequences.unit([6, 2], 0), sequences.unit([4], 1), sequences.unit([60], 2)],
    }
    encoded = manager.encode(units)
    assert_as_alone(views, units["global"], encoded["global"])
    assert_as_alone(sequences, units["sequences"], encoded["sequences"])
    stats = manager.stats().values()
    assert len(transfers.sent) - before == sum(its.replays + its.eager_batches for its in stats)
    assert {unit.use for unit in encoded["global"]} == {"hit", "miss"}
    manager.close()
    assert staging.num_bytes == 0
