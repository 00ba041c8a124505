"""The line reader's networks as paths of the graph manager: results are those of each page and line by itself."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from encoders.graphs.capturing.capture import Capture
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from ocr.line_networks.graph_networks import GraphNetworks, LinePaths
from ocr.line_reader.found_lines import Floats, Shades
from ocr.line_reader.line_images import HEIGHT_PX
from ocr.line_reader.networks import OnnxNetworks
from ocr.line_reader.reading import LineReader
from ocr.line_reader.stacks import FIND, LINE, MOST_IMAGES, WHITE, axis_of, stacked
from ocr.model_files.locate import LINES, find_directory
from tests.encoders.graphs.eager_capture import EagerCapture, poisoned
from tests.ocr.line_reader.printed import printed, shipped

FOLDER = find_directory("small") / LINES
CPU = torch.device("cpu")
GPU = pytest.param(
    "cuda",
    marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")],
)
TEXT = ["Terms of delivery, 12 March 1987", "The Board met at 9:15 and rose at noon.", "£ 1,204.50", "a b"]


class WinningCapture(EagerCapture):
    """Every graph wins its trial."""

    def measure(self, run: Any, repeats: int) -> float:
        run()
        return 0.5 if run.func.__name__ == "replay" else 1.0


def pages() -> list[Shades]:
    def drawn(size: float, lines: Sequence[str], dpi: int) -> Shades:
        def draw(page: Any) -> None:
            for number, line in enumerate(lines):
                page.insert_text((30, 50 + 2 * size * number), line, fontsize=size)

        return printed(draw, dpi)[: 130 * dpi // 72]  # what is below is white

    return [drawn(10, TEXT, 150), drawn(14, TEXT[:2], 100), drawn(10, TEXT[1:], 150)]


def networks(
    device: str = "cpu", dtype: torch.dtype | None = None, capture: Capture | None = None, **settings: Any
) -> tuple[GraphNetworks, EncoderGraphManager]:
    lines = LinePaths(FOLDER, torch.device(device), dtype)
    given = GraphSettings(**{"max_items": 16, "parity_every": 2, **settings})
    manager = EncoderGraphManager(lines.paths, given, lines.device, capture)
    return GraphNetworks(lines, manager.encode), manager


def line_images(numbers: Sequence[int]) -> list[Floats]:
    random = np.random.default_rng(5)
    smooth = [random.random((HEIGHT_PX, number), np.float32) > 0.9 for number in numbers]
    return [image.astype(np.float32) for image in smooth]


def test_stacks_hold_every_image_once_in_bytes() -> None:
    images = line_images([30, 128, 129, 2000, *[300] * (MOST_IMAGES[LINE] + 1)])
    stacks = list(stacked(LINE, [image.astype(np.uint8) for image in images]))
    assert sorted(member for stack in stacks for member in stack.members) == list(range(len(images)))
    assert {stack.axis for stack in stacks} == {(HEIGHT_PX, width) for width in (128, 256, 2048, 512)}
    assert max(len(stack.pixels) for stack in stacks) == MOST_IMAGES[LINE]
    first = stacks[0]
    assert first.sizes.tolist() == [[HEIGHT_PX, 30], [HEIGHT_PX, 128]]
    assert (first.pixels[0, :, 30:] == WHITE[LINE]).all()
    assert [axis_of(FIND, *size) for size in ((1174, 830), (587, 415), (36, 26), (2049, 1537))] == [
        (1280, 1024),
        (1024, 512),
        (128, 128),
        (2560, 1792),
    ]


@pytest.mark.parametrize("device", ["cpu", GPU])
def test_texts_are_those_of_onnx_runtime_wherever_networks_run(device: str) -> None:
    reader = LineReader(networks(device)[0])
    for page in pages():
        read, expected = (its.read(page, its.find(page)) for its in (reader, shipped()))
        assert {line.text for line in read} == {line.text for line in expected}
        apart = [
            abs(line.confidence - other.confidence)
            for line, other in itertools.product(read, expected)
            if line.text == other.text
        ]
        assert max(apart) < 0.02


@pytest.mark.parametrize("device", ["cpu", GPU])
def test_what_blank_is_likelier_than_is_told_alike_wherever_networks_run(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blank and 3 other classes. In the last frame but one two are as likely, in the last one all."""
    shares = [[0.54, 0.06, 0.4, 0], [0.9, 0, 0, 0.1], [0.1, 0.2, 0.3, 0.4], [0.4, 0.2, 0, 0.4], [0.25] * 4]
    logits = np.log(np.array(shares, np.float32) + np.float32(1e-30))
    alone, line = OnnxNetworks(FOLDER), LinePaths(FOLDER, torch.device(device)).paths[1]
    monkeypatch.setattr(alone, "_shown", lambda _: np.array(shares, np.float32))
    monkeypatch.setattr(line._net, "forward", lambda *_: (torch.from_numpy(logits[None]).to(device), None))
    (classes, chances), [[others], [likely]] = (
        alone._frames(logits),
        line._outputs(*[torch.ones(1, 2)] * 2).values(),
    )
    assert classes.tolist() == others.tolist() == [-2, 0, 3, -3, -1]
    np.testing.assert_allclose(chances, [0.4, 0.1, 0.4, 0.4, 0.25], rtol=1e-5)
    np.testing.assert_allclose(likely.cpu(), chances, rtol=1e-5)


def test_networks_see_few_numbers_of_images_and_give_back_those_asked_for() -> None:
    find, _ = LinePaths(FOLDER, CPU).paths
    seen: list[int] = []
    find._net.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    for number in range(1, 18):
        found = find.forward(find.collate(find.examples((128, 128), number * 1024), CPU))
        assert [len(output) for output in found.values()] == [number]
    assert seen == [1, *[4] * 3, *[16] * 12, 64]


def test_images_are_read_as_each_by_itself() -> None:
    ours, alone = networks()[0], OnnxNetworks(FOLDER)
    images = line_images([50, 200, 256, 700])
    together = ours.frames(images)
    for image, (classes, chances) in zip(images, together, strict=True):
        [(own_classes, own_chances)] = ours.frames([image])
        assert classes.tolist() == own_classes.tolist()
        np.testing.assert_allclose(chances, own_chances, atol=1e-4)
        [(others, _)] = alone.frames([image])
        assert len(others) == len(classes)
    cells = ours.cells(pages())
    for page, found in zip(pages(), cells, strict=True):
        np.testing.assert_allclose(found, ours.cells([page])[0], atol=2e-2)
        assert found.shape == alone.cells([page])[0].shape


def test_graphs_of_padded_batches_compute_what_eager_does() -> None:
    budgets = {"line": [64, 256, 1024], "find": [16640]}
    capture = poisoned(WinningCapture(CPU))
    ours, manager = networks(capture=capture, budgets=budgets)
    manager.warm_up({LINE: [(HEIGHT_PX, 256)], FIND: [axis_of(FIND, 625, 625)]})
    images = line_images([200] * 3 + [140] * 2)
    expected = networks()[0].frames(images)
    for (classes, chances), (own_classes, own_chances) in zip(ours.frames(images), expected, strict=True):
        assert classes.tolist() == own_classes.tolist()
        np.testing.assert_allclose(chances, own_chances, atol=1e-4)
    stats = manager.stats()
    assert (stats["line"].hits, stats["line"].misses) == (1, 0)
    assert stats["line"].parity_failures == 0
    manager.close()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_graphs_are_captured_when_due_and_read_the_same_texts() -> None:
    ours, manager = networks("cuda", max_items=64, capture_after=2, due_tokens=1 << 30)
    reader, eager = LineReader(ours), LineReader(networks("cuda", graphs="off")[0])
    for _ in range(4):
        for page in pages():
            read, expected = (its.read(page, its.find(page)) for its in (reader, eager))
            assert [line.text for line in read] == [line.text for line in expected]
        manager.capture_due()
    stats = manager.stats()
    for path in (FIND, LINE):
        assert stats[path].hits > 0
        assert stats[path].parity_failures == stats[path].nan_traps == stats[path].stale_graphs == 0
    manager.close()
