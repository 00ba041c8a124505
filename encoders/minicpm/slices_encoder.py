"""MiniCPM-V's vision encoder: a page's source image and slices, or a video's frames, to tokens in prompt order."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor
from transformers.models.idefics2.configuration_idefics2 import Idefics2VisionConfig

from encoders.graphs.errors import UnitError
from encoders.graphs.path import Unit
from encoders.minicpm.resampler import Resampler, ResamplerConfig
from encoders.minicpm.siglip import SiglipVit
from encoders.minicpm.slice_paths import SlicePath
from encoders.types import VisionTokens
from encoders.video_timing import FrameViews
from encoders.views import PageViews
from encoders.vision_encoder import PageOutputs, VisionEncoder


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionConfig:
    """What the vision parts of the versions differ in.

    slice_px: side of the square whose area a slice has, nearly. flat_positions: learnt positions run along one row of
    all patches (2.5). has_times: frames have temporal ids and groups (4.5).
    """

    vit: Idefics2VisionConfig
    resampler: ResamplerConfig
    slice_px: int = 448
    flat_positions: bool = False
    has_times: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholders:
    """What a prompt needs to know of a page's tokens, as the note of VisionTokens.

    num_queries: tokens of each placeholder. grid: (columns, rows) of an image's slices, None for an image without.
    num_frames: of a video, how many frames or groups have tokens; 0 for an image.
    """

    num_queries: int
    grid: tuple[int, int] | None = None
    num_frames: int = 0


class SlicesEncoder(VisionEncoder):
    """The encoder of all versions, with its one path."""

    paths: tuple[SlicePath]

    def __init__(self, vit: SiglipVit, resampler: Resampler, config: VisionConfig) -> None:
        self._vit, self._resampler, self._config = vit, resampler, config
        self._path = SlicePath(
            vit,
            resampler,
            patches=(config.slice_px // config.vit.patch_size) ** 2,
            flat_positions=config.flat_positions,
            has_times=config.has_times,
        )
        self.paths = (self._path,)

    @property
    def device(self) -> torch.device:
        return self._resampler.proj.device

    @property
    def weights(self) -> Sequence[Tensor]:
        return self._path.watched(self._path.usual_tiers[0])

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        return {self._path.name: self._path.usual_tiers}

    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        """Returns each page's units: the source image, then its slices; of a video its frames, or groups of them."""
        assert path == self._path.name, f"there is no path {path}"
        return [self._units(page) for page in pages]

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        """Returns each page's tokens, those of one unit after the other. The note: Placeholders."""
        encoded = outputs[self._path.name]
        return [self._joined(page, units) for page, units in zip(pages, encoded, strict=True)]

    def _units(self, page: PageViews) -> list[Unit]:
        slices, whole = (
            torch.from_numpy(np.ascontiguousarray(views)) for views in (page.local_views, page.global_view)
        )
        if isinstance(page, FrameViews) and page.groups and self._config.has_times:
            return self._groups(slices, page.groups)
        first = [whole] if page.global_view.size else []
        return [self._path.slice_unit(pixels) for pixels in (*first, *slices)]

    def _groups(self, frames: Tensor, groups: Sequence[Sequence[int]]) -> list[Unit]:
        ends = list(accumulate(map(len, groups)))
        if ends[-1] != len(frames):
            raise UnitError(f"a video of {len(frames)} frames has temporal ids for {ends[-1]}")
        most = max(map(len, groups))
        return [
            self._path.group_unit(frames[end - len(times) : end], times, most)
            for times, end in zip(groups, ends, strict=True)
        ]

    def _joined(self, page: PageViews, units: Sequence[Mapping[str, Tensor]]) -> VisionTokens:
        Q, D = self._resampler.config.num_queries, self._resampler.config.width
        tokens = [unit["tokens"].view(Q, D) for unit in units]
        is_video = not page.global_view.size
        grid = page.grid if page.num_tiles and not is_video else None
        return VisionTokens(
            tokens_TD=torch.cat(tokens) if tokens else self._resampler.proj.new_empty(0, D),
            note=Placeholders(num_queries=Q, grid=grid, num_frames=len(units) if is_video else 0),
        )
