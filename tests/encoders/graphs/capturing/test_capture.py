import pytest
import torch

from encoders.graphs.capturing import checks
from encoders.graphs.capturing.buffers import StaticBuffers
from encoders.graphs.capturing.capture import Graph
from encoders.graphs.capturing.checks import all_finite, checksum, difference
from encoders.graphs.errors import GraphStaleError
from tests.encoders.graphs.eager_capture import EagerCapture, poisoned
from tests.encoders.graphs.toys import CPU, Clock, ToyCapture, ViewPath


def captured(path: ViewPath) -> tuple[EagerCapture, StaticBuffers, Graph]:
    capture = poisoned(EagerCapture(CPU))
    buffers = StaticBuffers(path, 8, 64, CPU)
    return capture, buffers, capture.capture(path, 8, 64, buffers)


def test_a_replay_computes_what_its_inputs_hold() -> None:
    path = ViewPath()
    capture, buffers, graph = captured(path)
    units = [path.unit(8, 0), path.unit(8, 1)]
    with torch.inference_mode():
        buffers.write(units)
        capture.replay(graph)
    expected = path.forward(path.collate(units, CPU))
    assert torch.equal(graph.outputs["tokens"][:2], expected["tokens"])
    assert torch.equal(graph.outputs["brightest"][:2], expected["brightest"])
    graph.check(buffers, path.watched(8))


def move_input(path: ViewPath, buffers: StaticBuffers) -> None:
    buffers.inputs["pixels"] = buffers.inputs["pixels"].clone()


def move_output(path: ViewPath, buffers: StaticBuffers) -> None:
    buffers.outputs["tokens"] = buffers.outputs["tokens"].clone()


def move_weight(path: ViewPath, buffers: StaticBuffers) -> None:
    path.layer.weight.data = path.layer.weight.data.clone()


def replace_weight(path: ViewPath, buffers: StaticBuffers) -> None:
    path.layer.weight = torch.nn.Parameter(path.layer.weight.detach().clone())


def cast_weight(path: ViewPath, buffers: StaticBuffers) -> None:
    path.layer.to(torch.bfloat16)


def change_weight(path: ViewPath, buffers: StaticBuffers) -> None:
    with torch.no_grad():
        path.layer.weight.add_(1)


@pytest.mark.parametrize(
    "change", [move_input, move_output, move_weight, replace_weight, cast_weight, change_weight]
)
def test_a_moved_or_changed_tensor_is_noticed(change: object) -> None:
    path = ViewPath()
    _, buffers, graph = captured(path)
    assert callable(change)
    change(path, buffers)
    with pytest.raises(GraphStaleError, match="capture it again"):
        graph.check(buffers, path.watched(8))


def test_what_was_captured_is_kept_alive() -> None:
    path = ViewPath()
    _, _, graph = captured(path)
    before = path.layer.weight
    path.layer.weight = torch.nn.Parameter(before.detach().clone())
    assert any(tensor is before for tensor in graph.watched)


def test_a_median_of_timed_runs() -> None:
    clock = Clock()
    seconds = iter([100.0, 1.0, 9.0, 2.0])
    runs = []

    def run() -> None:
        clock.now += next(seconds)
        runs.append(clock.now)

    assert ToyCapture(clock).measure(run, repeats=3) == 2.0
    assert len(runs) == 4, "the first does not count"


def test_differences() -> None:
    ours = {"x": torch.tensor([3.0, 4.0]), "n": torch.tensor([1, 2, 3, 4])}
    assert difference(ours, ours) == 0
    assert difference(ours, ours | {"x": torch.tensor([3.0, 4.5])}) == pytest.approx(0.5 / 29.25**0.5)
    assert difference(ours, ours | {"n": torch.tensor([1, 2, 3, 5])}) == 0.25
    broken = {"x": torch.tensor([3.0, float("nan")]), "n": ours["n"]}
    assert not difference(broken, ours) <= 1


def test_differences_in_slices_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = torch.randn(2, 7, 5, 3, dtype=torch.float64)
    numbers = {"x": mine, "n": (10 * mine).int()}, {"x": other, "n": (10 * other).int()}
    whole = [
        float((mine - other).norm() / other.norm()),
        float((numbers[0]["n"] != numbers[1]["n"]).double().mean()),
    ]
    doubled: list[int] = []
    double = torch.Tensor.double
    monkeypatch.setattr(
        torch.Tensor, "double", lambda tensor: doubled.append(tensor.numel()) or double(tensor)
    )
    for size in (1, 40, 1 << 22):
        monkeypatch.setattr(checks, "_SLICE", size)
        for name, expected in zip(("x", "n"), whole, strict=True):
            ours, theirs = ({name: its[name]} for its in numbers)
            assert difference(ours, theirs) == pytest.approx(expected)
    assert max(doubled[: 3 * 7]) == 15, "never all at once"
    empty = {"x": mine[:0], "n": numbers[0]["n"][:0]}
    assert difference(empty, empty) == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_checksum_is_finite_just_if_all_is(dtype: torch.dtype) -> None:
    large = torch.full((300, 300), torch.finfo(torch.float16).max / 2, dtype=dtype)
    assert checksum({"x": large}).isfinite(), "no sum in half precision"
    assert checksum({"x": large, "y": -large}).shape == ()
    for wrong in (torch.nan, torch.inf, -torch.inf):
        broken = large.clone()
        broken[1, 2] = wrong
        assert not checksum({"x": broken}).isfinite()
        assert not all_finite({"x": large, "y": broken})
    both = torch.tensor([torch.inf, -torch.inf], dtype=dtype)
    assert not all_finite({"x": both})
    assert all_finite({"x": large})
    assert all_finite({"n": torch.tensor([1, 2])})
    assert all_finite({})
