"""Qwen-VL's vision encoder: pages and videos in, tokens for the language model out."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from encoders.graphs.path import Unit
from encoders.patches.patch_path import AXIS, PatchPath
from encoders.patches.vision_grid import Kind
from encoders.qwen_vl.timed_views import TimedViews
from encoders.qwen_vl.vision_forward import QwenVision
from encoders.types import VisionTokens
from encoders.views import PageViews, UInt8Array
from encoders.vision_encoder import PageOutputs, VisionEncoder


class QwenEncoder(VisionEncoder):
    """The paths "image" and "video" over one model's weights.

    An image is a page's global view, a video its local views: its frames, with an empty global view. A page's tokens
    are [N, D_out * (1 + deepstack features)], their note the VisionGrid; without views there are none, and no note.
    max_frames, max_tokens, least_tokens: as PatchPath has them.
    """

    def __init__(
        self,
        vision: QwenVision,
        *,
        max_frames: int = 64,
        max_tokens: int | None = None,
        least_tokens: int = 64,
    ) -> None:
        def path(name: Kind) -> PatchPath:
            return PatchPath(
                name, vision, max_frames=max_frames, max_tokens=max_tokens, least_tokens=least_tokens
            )

        self._vision = vision
        self._image_path, self._video_path = path("image"), path("video")
        self.paths = (self._image_path, self._video_path)

    @property
    def device(self) -> torch.device:
        return self._vision.device

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        return {"image": [AXIS]}

    @property
    def num_bytes(self) -> int:
        return sum(weight.nbytes for weight in self._image_path.watched(AXIS))

    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        wanted = [self._path_of(page) for page in pages]
        return [
            [its_path.unit(torch.from_numpy(np.ascontiguousarray(_frames(page))))]
            if its_path is not None and its_path.name == path
            else []
            for its_path, page in zip(wanted, pages, strict=True)
        ]

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        return [
            self._tokens(page, [*image, *video])
            for page, image, video in zip(pages, outputs["image"], outputs["video"], strict=True)
        ]

    def _path_of(self, page: PageViews) -> PatchPath | None:
        if page.global_view.size:
            return self._image_path
        return self._video_path if page.local_views.size else None

    def _tokens(self, page: PageViews, outputs: Sequence[Mapping[str, Tensor]]) -> VisionTokens:
        path = self._path_of(page)
        if path is None:
            nothing = torch.empty(0, self._vision.width, device=self.device, dtype=self._vision.dtype)
            return VisionTokens(tokens_TD=nothing, num_local=0, grid=(1, 1))
        (output,) = outputs
        timing = page.timing if isinstance(page, TimedViews) else None
        grid = replace(path.grid(_frames(page).shape), timing=timing)
        return VisionTokens(tokens_TD=output["tokens"], num_local=0, grid=(1, 1), note=grid)


def _frames(page: PageViews) -> UInt8Array:
    """Returns a page's pixels [F, 3, H, W]: its image as one frame, or its video's frames."""
    return page.global_view[None] if page.global_view.size else page.local_views
