"""The encode stage: which use of the graphs each page's timings name."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import torch

from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageOutputs
from pipeline.stages.encode import encode
from pipeline.types import Page, RenderedPage

USES = [["eager", "hit", "miss"], [], ["hit", "hit"], ["miss", "hit"]]


class Encoder:
    """Says what was replayed as USES has it for the tiles, and "hit" for every global view but the first."""

    def __init__(self) -> None:
        self.waits = 0

    path_names = ("global", "local")

    def encode_path(self, path: str, pages: Sequence[PageViews]) -> tuple[PageOutputs, list[list[str]]]:
        uses = [["miss"], *[["hit"]] * (len(pages) - 1)] if path == "global" else USES
        return [[{"path": torch.tensor(len(path))}] for _ in pages], uses

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        assert [int(its[0][0]["path"]) for its in outputs.values()] == [6, 5]
        return [VisionTokens(tokens_TD=torch.full((3, 4), index)) for index, page in enumerate(pages)]

    def synchronize(self) -> None:
        self.waits += 1


def rendered(index: int, num_tiles: int) -> RenderedPage:
    views = PageViews(
        global_view=np.zeros((3, 8, 8), np.uint8),
        local_views=np.zeros((num_tiles, 3, 640, 640), np.uint8),
        grid=(num_tiles or 1, 1),
    )
    page = Page(path="a.pdf", sha256="0" * 64, kind="pdf", page_index=index)
    return RenderedPage(
        page=page, views=views, width_px=8, height_px=8, dpi=None, blank=False, seconds={"render": 0.5}
    )


def test_each_page_names_the_least_favourable_use_of_its_views() -> None:
    encoder = Encoder()
    pages = [rendered(index, len(uses)) for index, uses in enumerate(USES)]
    encoded = encode(encoder, pages)
    assert [int(tokens.tokens_TD[0, 0]) for tokens, _ in encoded] == [0, 1, 2, 3]
    timings = [{timing.stage: timing for timing in timings} for _, timings in encoded]
    assert [page["encode_global"].path_use for page in timings] == ["miss", "hit", "hit", "hit"]
    assert [page["encode_local"].path_use for page in timings] == ["eager", None, "hit", "miss"]
    assert [page["encode_local"].batch_size for page in timings] == [3, 0, 3, 3]
    assert encoder.waits == 2
    wall_s = timings[0]["encode_local"].wall_s
    assert sum(page["encode_local"].share_s for page in timings) == pytest.approx(wall_s)
    assert timings[0]["encode_local"].share_s == pytest.approx(wall_s * 3 / 7)
