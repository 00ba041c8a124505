"""The protocol carries views, slices under a cap, and sequences of frames; buffers keep their padding."""

from collections.abc import Sequence

import pytest
import torch

from encoders.graphs.capturing.buffers import META, StaticBuffers, check_units, have_room, input_rows
from encoders.graphs.errors import UnitError
from encoders.graphs.path import GraphPath, Unit, Watch
from tests.encoders.graphs.toys import CPU, SequencePath, SlicePath, ViewPath

VIEWS, SLICES, SEQUENCES = ViewPath(), SlicePath(), SequencePath()
UNITS: list[tuple[GraphPath, list[Unit]]] = [
    (VIEWS, [VIEWS.unit(8, seed) for seed in range(3)]),
    (SLICES, [SLICES.unit(12, grid, seed) for seed, grid in enumerate([(3, 4), (1, 5), (2, 2)])]),
    (SEQUENCES, [SEQUENCES.unit([4, 2], 0), SEQUENCES.unit([6], 1), SEQUENCES.unit([2, 2, 2], 2)]),
]


@pytest.mark.parametrize(("path", "units"), UNITS, ids=lambda value: getattr(value, "name", ""))
def test_a_padded_forward_equals_the_units_alone(path: GraphPath, units: Sequence[Unit]) -> None:
    buffers = StaticBuffers(path, units[0].axis, 64, CPU)
    for chosen in (units, units[1:], units[:1]):  # each write leaves the buffers to the next
        buffers.write(chosen)
        together = path.split(path.forward(buffers.inputs), chosen)
        for unit, part in zip(chosen, together, strict=True):
            alone = path.forward(path.collate([unit], CPU))
            for name, value in part.items():
                assert torch.isfinite(value).all()
                assert torch.allclose(value, alone[name], atol=1e-6), name


@pytest.mark.parametrize(("path", "units"), UNITS, ids=lambda value: getattr(value, "name", ""))
def test_inputs_as_large_as_the_buffers_are_copied_all_the_same(
    path: GraphPath, units: Sequence[Unit]
) -> None:
    budget = sum(unit.tokens for unit in units)
    buffers, fresh = (StaticBuffers(path, units[0].axis, budget, CPU) for _ in range(2))
    kept = [{name: value.clone() for name, value in unit.inputs.items()} for unit in units]
    buffers.write(units)
    places = {value.data_ptr() for value in buffers.inputs.values()}
    for turned in (units[::-1], units[:1]):
        buffers.write(turned)
    fresh.write(units[:1])
    for unit, before in zip(units, kept, strict=True):
        for name, value in unit.inputs.items():
            assert torch.equal(value, before[name])
            assert value.data_ptr() not in places
    for name, value in fresh.inputs.items():
        assert torch.equal(buffers.inputs[name], value), name
        assert buffers.inputs[name].data_ptr() in places


def test_smaller_graphs_read_prefixes() -> None:
    buffers = StaticBuffers(VIEWS, 8, 64, CPU)
    small = buffers.prefix(32)["pixels"]
    assert small.shape == (2, 8, 8)
    assert small.data_ptr() == buffers.inputs["pixels"].data_ptr()
    outputs = buffers.own({"tokens": torch.zeros(4, 16, 5)})
    fewer = buffers.own({"tokens": torch.zeros(2, 16, 5)})
    assert fewer["tokens"].data_ptr() == outputs["tokens"].data_ptr()
    assert buffers.num_bytes == 4 * 64 + 4 * 16 * 5 * 4
    for other in (torch.zeros(5, 16, 5), torch.zeros(2, 16, 6), torch.zeros(2, 16, 5).double()):
        with pytest.raises(UnitError, match="no prefix"):
            buffers.own({"tokens": other})


def test_a_unit_must_be_made_for_its_path() -> None:
    good = VIEWS.unit(8, 0)
    pixels = good.inputs["pixels"]
    check_units(VIEWS, [good], {})
    for unit, complaint in (
        (Unit(tokens=15, axis=8, inputs=good.inputs), "one item of 16"),
        (Unit(tokens=16, axis=8, inputs={"pixels": pixels.float()}), "float32"),
        (Unit(tokens=16, axis=8, inputs={"pixels": pixels[:, :4]}), r"expected torch.uint8, \[n, 8, 8\]"),
        (Unit(tokens=16, axis=8, inputs={"image": pixels}), r"wants the inputs \['pixels'\]"),
    ):
        with pytest.raises(UnitError, match=complaint):
            check_units(VIEWS, [unit], {})
    with pytest.raises(UnitError, match="multiple of 2"):
        check_units(SEQUENCES, [SEQUENCES.unit([3], 0)], {})
    for path, empty in (
        (VIEWS, Unit(tokens=0, axis=8, inputs=good.inputs)),
        (SEQUENCES, SEQUENCES.unit([], 0)),
    ):
        with pytest.raises(UnitError, match=f"path {path.name}, axis {empty.axis}: 0 tokens"):
            check_units(path, [empty], {})


def test_room_is_counted_for_every_input() -> None:
    many_frames = SEQUENCES.unit([2] * 9, 0)
    inputs = SEQUENCES.buffers("any", 64, META)
    assert have_room(inputs, input_rows(SEQUENCES, [SEQUENCES.unit([2] * 8, 0)]))
    assert not have_room(inputs, input_rows(SEQUENCES, [many_frames]))


def test_rows_that_an_output_does_not_have_are_noticed() -> None:
    units = [VIEWS.unit(8, 0), VIEWS.unit(8, 1)]
    with pytest.raises(UnitError, match="1 rows, not 2"):
        VIEWS.split({"tokens": torch.zeros(1, 16, 5)}, units)


def test_watched_parameters_are_seen_when_replaced() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    listed = Watch(module)
    assert {id(tensor) for tensor in listed()} == {
        id(tensor) for tensor in (*module.parameters(), *module.buffers())
    }
    fresh = torch.nn.Parameter(torch.zeros(2, 2))
    module[0].weight = fresh
    assert any(tensor is fresh for tensor in listed())
