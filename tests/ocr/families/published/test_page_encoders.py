"""Published models whose encoder is ours: pages of any size through graphs, equal to their own class's features."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from encoders.graphs.capturing.capture import Capture
from encoders.graphs.settings import GraphSettings
from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder
from ocr.families.published.page_encoders import OwnEncoderPages, ProcessedPages, own_encoder
from ocr.families.published.processors import joined
from ocr.families.published.published_reader import PublishedReader
from ocr.families.view_makers import WholePage
from tests.encoders.graphs.eager_capture import Winning
from tests.ocr.families.opening import encoded_by, opened
from tests.ocr.families.published.tiny_published import save

TYPES = ("paddleocr_vl", "glm_ocr", "hunyuan_vl", "lighton_ocr")
SIZES = ((280, 200), (150, 260), (90, 90), (61, 333))


@pytest.fixture(scope="module", params=TYPES)
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PublishedReader:
    return load(save(request.param, tmp_path_factory.mktemp(request.param)))


def load(folder: Path) -> PublishedReader:
    loaded: Any = opened(folder)
    return loaded


def pages() -> list[PageViews]:
    random = np.random.default_rng(0)
    maker = WholePage(most_px=10**6)
    return [maker(random.integers(0, 256, (height, width, 3), np.uint8)) for height, width in SIZES]


def encoded(
    encoder: PageEncoder, views: Sequence[PageViews], capture: Capture | None = None, max_items: int = 8
) -> tuple[list[VisionTokens], set[str]]:
    budgets = {path.name: [256] for path in encoder.paths if path.name == "image"}
    settings = GraphSettings(budgets=budgets, max_items=max_items, repeats=1)
    return encoded_by(encoder, views, capture, settings)


def assert_same(found: Sequence[VisionTokens], expected: Sequence[VisionTokens]) -> None:
    for mine, its in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.tokens_TD, its.tokens_TD, atol=1e-4, rtol=1e-4)
        assert mine.note.inputs.keys() == its.note.inputs.keys()  # type: ignore[attr-defined]
        for key, value in its.note.inputs.items():  # type: ignore[attr-defined]
            assert torch.equal(mine.note.inputs[key], value)  # type: ignore[attr-defined]


@pytest.mark.parametrize("capture", [None, Winning], ids=["eager", "replayed"])
def test_tokens_are_those_of_its_own_class(
    reader: PublishedReader, capture: Callable[[], Capture] | None
) -> None:
    views = pages()
    expected, _ = encoded(ProcessedPages(reader.model, reader.prompting), views)
    encoder = reader.vision_encoder("gundam")
    assert isinstance(encoder, OwnEncoderPages)
    found, uses = encoded(encoder, views, capture and capture())
    assert uses == ({"eager"} if capture is None else {"hit"})
    assert len({len(tokens.tokens_TD) for tokens in found}) > 1
    assert_same(found, expected)
    together, own = (
        joined([page.note.features for page in its])["pooler_output"]  # type: ignore[attr-defined]
        for its in (found, expected)
    )
    assert [len(page) for page in together] == [len(page) for page in own]


def test_weights_are_the_encoders_alone(reader: PublishedReader) -> None:
    encoder = reader.vision_encoder("gundam")
    total = sum(weight.nbytes for weight in reader.model.parameters())
    assert 0 < encoder.num_bytes < total
    assert encoder.path_names == tuple(path.name for path in encoder.paths) == tuple(encoder.usual_axes)


@pytest.mark.parametrize(
    "setting", [{"do_normalize": False}, {"do_rescale": False}, {"rescale_factor": 1 / 127.5}]
)
def test_pixels_that_are_prepared_otherwise_go_to_its_own_class(
    reader: PublishedReader, setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ((name, value),) = setting.items()
    monkeypatch.setattr(reader.processor.image_processor, name, value)
    assert own_encoder(reader.model, reader.processor) is None
    assert type(reader.vision_encoder("gundam")) is ProcessedPages


def test_positions_that_are_mixed_otherwise_go_to_its_own_class(tmp_path: Path) -> None:
    reader = load(save("hunyuan_vl", tmp_path))
    assert own_encoder(reader.model, reader.processor) is not None
    reader.model.config.vision_config.interpolate_mode = "bicubic"
    assert own_encoder(reader.model, reader.processor) is None


@pytest.fixture(scope="module")
def tiled(tmp_path_factory: pytest.TempPathFactory) -> PublishedReader:
    return load(save("deepseek_ocr2", tmp_path_factory.mktemp("ocr2")))


@pytest.mark.slow
def test_tokens_of_tiles_are_those_of_its_own_class(tiled: PublishedReader) -> None:
    """One page without tiles, and two with."""
    random = np.random.default_rng(0)
    maker = WholePage(most_px=10**6)
    sizes = ((300, 200), (900, 500), (500, 1100))
    views = [maker(random.integers(0, 256, (*size, 3), np.uint8)) for size in sizes]
    expected, _ = encoded(ProcessedPages(tiled.model, tiled.prompting), views, max_items=2)
    encoder = tiled.vision_encoder("gundam")
    assert isinstance(encoder, OwnEncoderPages)
    for capture, use in ((None, "eager"), (Winning(), "hit")):
        found, uses = encoded(encoder, views, capture, max_items=2)
        assert uses == {use}
        assert_same(found, expected)


def test_levels_that_it_would_take_otherwise_are_left_to_its_own_class(
    tiled: PublishedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own_encoder(tiled.model, tiled.processor) is not None
    for key, value in (("do_normalize", False), ("rescale_factor", 1.0), ("image_mean", [0.4, 0.5, 0.5])):
        with monkeypatch.context() as patch:
            patch.setattr(tiled.processor.image_processor, key, value)
            assert own_encoder(tiled.model, tiled.processor) is None


def test_other_types_are_not_its_own(tmp_path: Path) -> None:
    folder = save("got_ocr2", tmp_path)
    loaded: Any = opened(folder)
    assert type(loaded.vision_encoder("gundam")) is ProcessedPages
