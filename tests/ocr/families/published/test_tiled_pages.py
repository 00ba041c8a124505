"""DeepSeek-OCR-2 with our encoder: global views and tiles through graphs, equal to its own class's features."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from encoders.graphs.capturing.capture import Capture
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder
from ocr.families.published.page_inputs import Prompting
from ocr.families.published.processed_pages import ProcessedPages
from ocr.families.published.published_family import PublishedFamily
from ocr.families.published.published_reader import PublishedReader
from ocr.families.published.tiled_pages import TiledPages, tiled_encoder
from ocr.families.whole_page import WholePage
from tests.encoders.deepseek.test_graph_paths import Winning
from tests.ocr.families.published.tiny_published import save


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> PublishedReader:
    folder = save("deepseek_ocr2", tmp_path_factory.mktemp("ocr2"))
    loaded: Any = PublishedFamily().load(
        folder, name=str(folder), device="cpu", dtype="float32", encoder_dtype="float32", prompt=None
    )
    return loaded


@torch.inference_mode()
def encoded(
    encoder: PageEncoder, views: Sequence[PageViews], capture: Capture | None = None
) -> tuple[list[VisionTokens], set[str]]:
    settings = GraphSettings(max_items=2, repeats=1)
    manager = EncoderGraphManager(encoder.paths, settings, encoder.device, capture)
    if capture is not None:
        manager.warm_up(dict(encoder.usual_axes))
    outputs, uses = encoder.encode(manager, "image", views)
    return encoder.assemble(views, {"image": outputs}), {use for page in uses for use in page}


@pytest.mark.slow
@pytest.mark.parametrize("capture", [None, Winning], ids=["eager", "replayed"])
def test_tokens_are_those_of_its_own_class(
    reader: PublishedReader, capture: Callable[[], Capture] | None
) -> None:
    """One page without tiles, and two with."""
    random = np.random.default_rng(0)
    maker = WholePage(most_px=10**6)
    sizes = ((300, 200), (900, 700), (500, 1100))
    views = [maker(random.integers(0, 256, (*size, 3), np.uint8)) for size in sizes]
    plain = ProcessedPages(reader.model, Prompting(reader.processor, reader.known, None))
    expected, _ = encoded(plain, views)
    encoder = reader.vision_encoder("gundam")
    assert isinstance(encoder, TiledPages)
    found, uses = encoded(encoder, views, capture and capture())
    assert uses == ({"eager"} if capture is None else {"hit"})
    assert [tokens.num_local > 0 for tokens in found] == [False, True, True]
    for mine, its in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.tokens_TD, its.tokens_TD, atol=1e-4, rtol=1e-4)
        assert mine.note.inputs.keys() == its.note.inputs.keys()  # type: ignore[attr-defined]


def test_pixels_that_it_would_take_otherwise_are_left_to_its_own_class(
    reader: PublishedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tiled_encoder(reader.model, reader.processor) is not None
    for key, value in (("do_normalize", False), ("rescale_factor", 1.0), ("image_mean", [0.4, 0.5, 0.5])):
        with monkeypatch.context() as patch:
            patch.setattr(reader.processor.image_processor, key, value)
            assert tiled_encoder(reader.model, reader.processor) is None


def test_other_types_are_not_its_own(tmp_path: Path) -> None:
    folder = save("got_ocr2", tmp_path)
    loaded: Any = PublishedFamily().load(
        folder, name="m", device="cpu", dtype="float32", encoder_dtype="float32", prompt=None
    )
    assert type(loaded.vision_encoder("gundam")) is ProcessedPages
