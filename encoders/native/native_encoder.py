"""The vision encoder of models that take images at their own size: pages and videos in, tokens out."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from encoders.graphs.path import Unit
from encoders.native.grid_plans import PatchGeometry
from encoders.native.patch_path import AXIS, PatchPath
from encoders.native.patch_vision import PatchVision
from encoders.native.vision_grid import Kind
from encoders.types import VisionTokens
from encoders.video_timing import TimedViews
from encoders.views import PageViews, UInt8Array
from encoders.vision_encoder import PageOutputs, VisionEncoder


class NativeEncoder(VisionEncoder):
    """The path "image", and "video" of a model that reads videos: any sizes end to end, each seeing itself alone.

    An image is a page's global view, of a size that its family's resizing gives; a video its local views: its frames,
    with an empty global view. The tokens' note is the VisionGrid; without views there are none, and no note.
    least_tokens: as PatchPath has it.
    """

    def __init__(
        self,
        vision: PatchVision,
        *,
        videos: bool = False,
        least_tokens: int = 64,
    ) -> None:
        kinds: tuple[Kind, ...] = ("image", "video") if videos else ("image",)
        self._vision = vision
        self._by_kind = {kind: PatchPath(kind, vision, least_tokens=least_tokens) for kind in kinds}
        self.paths = tuple(self._by_kind.values())

    @property
    def device(self) -> torch.device:
        return self._vision.device

    @property
    def geometry(self) -> PatchGeometry:
        return self._vision.geometry

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        return {path.name: [AXIS] for path in self.paths}

    @property
    def weights(self) -> Sequence[torch.Tensor]:
        return self.paths[0].watched(AXIS)

    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        return [
            [self._by_kind[kind].unit(torch.from_numpy(np.ascontiguousarray(_frames(page))))]
            if (kind := _kind(page)) == path
            else []
            for page in pages
        ]

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        found = []
        for index, page in enumerate(pages):
            kind = _kind(page)
            if kind is None:
                nothing = torch.empty(0, self._vision.width, device=self.device, dtype=self._vision.dtype)
                found.append(VisionTokens(tokens_TD=nothing))
                continue
            (output,) = outputs[kind][index]
            timing = page.timing if isinstance(page, TimedViews) else None
            grid = replace(self._by_kind[kind].grid(_frames(page).shape), timing=timing)
            tokens_TD = self._vision.finished(output["tokens"], grid)
            found.append(VisionTokens(tokens_TD=tokens_TD, note=grid))
        return found


def _kind(page: PageViews) -> Kind | None:
    if page.global_view.size:
        return "image"
    return "video" if page.local_views.size else None


def _frames(page: PageViews) -> UInt8Array:
    """Returns a page's pixels [F, 3, H, W]: its image as one frame, or its video's frames."""
    return page.global_view[None] if page.global_view.size else page.local_views
