"""The vision encoder of a document model that takes pages at their own size: pages in, tokens out, on one path."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import torch

from encoders.graphs.path import Unit
from encoders.patches.grid_plans import PatchGeometry
from encoders.patches.patch_path import AXIS, PatchPath
from encoders.patches.patch_vision import PatchVision
from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageOutputs, VisionEncoder


class NavitEncoder(VisionEncoder):
    """The path "image": pages of any size end to end, each seeing itself alone.

    A page is its global view, of a size that its family's resizing gives; its tokens' note is the VisionGrid.
    max_images: that a graph has room for, at least max_items of the manager's settings. max_tokens, least_tokens: as
    PatchPath has them.
    """

    def __init__(
        self,
        vision: PatchVision,
        *,
        max_images: int = 64,
        max_tokens: int | None = None,
        least_tokens: int = 64,
    ) -> None:
        self._vision = vision
        self._path = PatchPath(
            "image", vision, max_frames=max_images, max_tokens=max_tokens, least_tokens=least_tokens
        )
        self.paths = (self._path,)

    @property
    def device(self) -> torch.device:
        return self._vision.device

    @property
    def geometry(self) -> PatchGeometry:
        return self._vision.geometry

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        return {"image": [AXIS]}

    @property
    def num_bytes(self) -> int:
        return sum(weight.nbytes for weight in self._path.watched(AXIS))

    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        return [
            [self._path.unit(torch.from_numpy(np.ascontiguousarray(page.global_view))[None])]
            for page in pages
        ]

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        found = []
        for page, (output,) in zip(pages, outputs["image"], strict=True):
            grid = self._path.grid((1, *page.global_view.shape))
            tokens_TD = self._vision.finished(output["tokens"], grid)
            found.append(VisionTokens(tokens_TD=tokens_TD, num_local=0, grid=(1, 1), note=grid))
        return found
